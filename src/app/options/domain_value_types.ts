/**
 * Types of option values for protocols, ports, addresses, shards, columns and times.
 *
 * @module
 */
import type { EventPosition } from "../../store/mod.ts";
import type { AdaptiveBudget, Marks } from "../../scan/mod.ts";
import { isTag, MAX_TAG } from "../../store/rows/server_tags.ts";
import { type MetricsAddress, parseMetrics } from "../settings/metrics_address.ts";
import {
  type HeaderSource,
  parseHeaderSource,
  parseHttpUrl,
  parseSecretSource,
  type SecretSource,
  type WebhookUrl,
} from "../outputs/webhook_secrets.ts";
import { chosenProtocols } from "../settings/chosen_protocols.ts";
import { type Address, parseAddress } from "../../core/address.ts";
import { closestName } from "../../core/closest_name.ts";
import { InputError } from "../../core/errors.ts";
import type { Field } from "../../core/record.ts";
import { documentedFlags } from "../../protocols/documented_flags.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { ChosenColumn } from "../../sinks/foreign/mod.ts";
import { parseTarget, parseTargets, type Target } from "../../targets/parse.ts";
import { parsePorts, type WrittenPorts, writtenPorts } from "../../targets/ports.ts";
import { type Range, unmapped } from "../../targets/ranges.ts";
import { parseShard, type Shard } from "../../targets/shards.ts";
import {
  parseTime,
  splitList,
  UNITS,
  type ValueContext,
  type ValueType,
  valueType,
  wordOf,
  type Words,
  wrongValue,
} from "./value_types.ts";

/** Protocols, in the order of their passes. */
export const PROTOCOL_LIST: ValueType<readonly Protocol[]> = {
  placeholder: "LIST",
  parse: (text, { allProtocols }) => chosenProtocols(splitList(text), allProtocols),
  completions: { kind: "some", words: (allProtocols) => allProtocols.map(({ name }) => name) },
};

export const TAG: ValueType<string> = {
  placeholder: "TEXT",
  parse: (text, { option }) => {
    if (isTag(text)) return text;
    throw wrongValue(
      option,
      text,
      `1 to ${MAX_TAG} visible characters, with single spaces and none at the ends`,
    );
  },
};

const COLUMN_ROLE_NAMES = ["host", "port", "notes", "tags"] as const;

/** Columns of imported tables, each with its role. */
export const COLUMN_ROLES: ValueType<readonly ChosenColumn[]> = {
  placeholder: "LIST",
  parse: (text, { option }) => {
    const given = splitList(text).map((part) => {
      const [, role, column] = /^([a-z]+)=(.+)$/.exec(part) ?? [];
      const known = COLUMN_ROLE_NAMES.find((name) => name === role);
      if (known !== undefined) return { role: known, column };
      throw wrongValue(
        option,
        part,
        `${COLUMN_ROLE_NAMES.join(", ")} and a column, as in notes=title`,
      );
    });
    if (given.length > 0) return given;
    throw wrongValue(option, text, "one column or more, as in host=server,notes=title");
  },
};

export const FLAG_LIST: ValueType<readonly string[]> = {
  placeholder: "LIST",
  parse: (text, { option, allProtocols }) => {
    const given = splitList(text);
    if (given.length === 0) throw wrongValue(option, text, "one flag or more");
    return given.map((flag) => wordOf(flag, flagNames(allProtocols), option));
  },
  completions: { kind: "some", words: flagNames },
};

function flagNames(allProtocols: readonly Protocol[]): readonly string[] {
  return [...new Set(documentedFlags(allProtocols).map(({ name }) => name))];
}

/** Ports and port ranges, each for UDP, TCP or both. */
export const PORTS: ValueType<WrittenPorts> = {
  placeholder: "PORTS",
  parse: writtenPorts,
};

/** A port, or several. */
export const SOURCE_PORTS: ValueType<readonly number[]> = {
  placeholder: "PORTS",
  parse: (text) => parsePorts(text).udp,
};

/** An address of this machine. */
export const ADDRESS: ValueType<Address> = {
  placeholder: "ADDRESS",
  parse: (text, { option }) => {
    const address = parseAddress(text);
    if (address !== undefined) return address;
    throw new InputError(`Cannot use ${option} "${text}": expected an address`);
  },
};

/** The name of a host, in lower case and without a final dot. */
export const HOST_NAME: ValueType<string> = valueType(
  "NAME",
  "a host name without a port, for example dashboard.example.org",
  (text) => {
    const name = text.toLowerCase().replace(/\.$/, "");
    return URL.parse(`http://${name}/`)?.host === name ? name : undefined;
  },
);

/** A network: an address with a prefix, a range of addresses, or one address. */
export const NETWORK: ValueType<string> = {
  placeholder: "NETWORK",
  parse: (text, { option }) => {
    const target = parseTarget(text);
    if ("range" in target && target.port === undefined) return text;
    throw wrongValue(option, text, "a network, for example 192.0.2.0/24");
  },
};

/** Addresses, and networks, without ports. */
export const NETWORK_LIST: ValueType<readonly Range[]> = {
  placeholder: "LIST",
  parse: (text, { option }) => {
    const ranges = splitList(text).flatMap((word) => parseTargets(word)).map((target) => {
      if ("range" in target && target.port === undefined) return unmapped(target.range);
      throw wrongValue(option, text, "addresses and networks, for example 127.0.0.1,192.0.2.0/24");
    });
    if (ranges.length > 0) return ranges;
    throw wrongValue(option, text, "one address or network, or more");
  },
};

/** Maximum length of a contact, characters. */
const MAX_CONTACT = 200;

/** Who answers complaints: an e-mail address, or the URL of a web page. */
export const CONTACT: ValueType<string> = valueType(
  "ADDRESS",
  "an e-mail address such as abuse@example.org, or a URL that starts with http: or https:, of at " +
    `most ${MAX_CONTACT} characters`,
  (text) => {
    if (text.length > MAX_CONTACT || /[^\x21-\x7e]|["'<>\\`]/.test(text)) return undefined;
    if (/^[^@:/,;()]+@[a-z\d]([a-z\d.-]*[a-z\d])?$/i.test(text)) return text;
    const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
    return url !== null && url.username + url.password === "" ? text : undefined;
  },
);

/** The address of a web site: its origin, without a path. */
export const SITE_URL: ValueType<string> = valueType(
  "URL",
  "the address of a web site without a path, for example https://servers.example.org",
  (text) => {
    const url = /^https?:\/\//i.test(text) ? URL.parse(text) : null;
    const isSite = url !== null && url.pathname === "/" &&
      url.username + url.password + url.search + url.hash === "";
    return isSite ? url.origin : undefined;
  },
);

/** The address of a network card. */
export const MAC: ValueType<Uint8Array> = valueType(
  "MAC",
  "six bytes, for example 02:00:5e:10:00:01",
  parseMac,
);

/** A shard: the I-th of N parts of a scan's targets. */
export const SHARD: ValueType<Shard> = {
  ...valueType("I/N", "I/N with I from 1 to N, for example 2/4", parseShard),
  textOf: ({ index, count }: Shard) => `${index}/${count}`,
};

/** The budget of an adaptive scan: a percentage, a number of probes, or a time. */
export const BUDGET: ValueType<AdaptiveBudget> = valueType(
  "BUDGET",
  "a percentage such as 50%, a number of probes such as 500k or 200M, or a time such as 30m or 12h",
  (text) => {
    const [, digits, unit] = /^(\d{1,15}(?:\.\d+)?)(%|[kKMG]|ms|[smh]|)$/.exec(text) ?? [];
    const value = Number(digits);
    if (!(value > 0)) return undefined;
    if (unit === "%") return { share: value / 100 };
    const probes = value * { "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9 }[unit]!;
    if (Number.isSafeInteger(probes)) return { probes };
    const ms = parseTime(text);
    return ms === undefined ? undefined : { ms };
  },
);

/** A number of probes per day. */
export const PER_DAY: ValueType<number> = {
  ...valueType("N/day", "probes per day from 1000/day on, such as 500k/day or 50M/day", (text) => {
    const [, digits, unit] = /^(\d{1,15}(?:\.\d+)?)([kKMG]?)\/day$/.exec(text) ?? [];
    const value = Number(digits) * { "": 1, k: 1e3, K: 1e3, M: 1e6, G: 1e9 }[unit]!;
    return value >= 1000 && Number.isSafeInteger(value) ? value : undefined;
  }),
  textOf: (value: number) => `${value}/day`,
};

/** A number of servers per million probes. */
export const YIELD: ValueType<number> = {
  ...valueType("N/M", "servers per million probes, such as 5/M or 0.5/M", (text) => {
    const [, digits] = /^(\d{1,9}(?:\.\d+)?)\/M$/.exec(text) ?? [];
    return Number(digits) > 0 ? Number(digits) : undefined;
  }),
  textOf: (value: number) => `${value}/M`,
};

/** The position at which a scan starts: `2:1500`, `T:3:0`, `2:1500,T:3:0`. */
export const POSITION: ValueType<Marks> = valueType(
  "PASS:POSITION",
  "PASS:POSITION of UDP, T:PASS:POSITION of TCP, or both with a comma, as printed by a scan",
  (text) => {
    const mark = String.raw`(\d{1,3}):(\d{1,15})`;
    const found = new RegExp(`^(?:${mark})?(?:(?:^|,)T:${mark})?$`).exec(text);
    if (text === "" || found === null) return undefined;
    const [pass = 1, position = 0, tcpPass = 1, tcpPosition = 0] = found.slice(1)
      .map((digits) => digits === undefined ? undefined : Number(digits));
    if (pass < 1 || tcpPass < 1) return undefined;
    return { udp: { pass, position }, tcp: { pass: tcpPass, position: tcpPosition } };
  },
);

/** The position of an event in a database: its transaction and its number, `812-40`. */
export const EVENT_POSITION: ValueType<EventPosition> = valueType(
  "POSITION",
  "a position as printed by history --events --json, for example 812-40",
  (text) => {
    const [, tx, seq] = /^(\d{1,19})-(\d{1,15})$/.exec(text) ?? [];
    return tx === undefined ? undefined : { tx, seq: Number(seq) };
  },
);

/** Names of some of these columns. */
export function columnList(columns: readonly Field[]): ValueType<readonly Field[]> {
  return {
    placeholder: "LIST",
    parse: (text, { option }) => {
      const names = splitList(text);
      if (names.length === 0) throw new InputError(`Cannot use ${option}: it names no column`);
      const twice = names.find((name, i) => names.indexOf(name) < i);
      if (twice !== undefined) throw new InputError(`Cannot write column "${twice}" twice`);
      return names.map((name) => columnOf(name, columns));
    },
    completions: { kind: "some", words: columns.map(({ name }) => name) },
  };
}

function columnOf(name: string, columns: readonly Field[]): Field {
  const field = columns.find((other) => other.name === name);
  if (field !== undefined) return field;
  const meant = closestName(name, columns.map((other) => other.name));
  const hint = meant === undefined ? "the schema command lists them" : `did you mean "${meant}"?`;
  throw new InputError(`Cannot write column "${name}": there is no such column; ${hint}`);
}

/** Names with commas between them, which the command checks. */
export function nameList(words: Words): ValueType<readonly string[]> {
  return { placeholder: "LIST", parse: splitList, completions: { kind: "some", words } };
}

export interface WrittenRange {
  readonly range: Range;
  /** The range as the user wrote it. */
  readonly text: string;
}

export const RANGE: ValueType<WrittenRange> = {
  placeholder: "RANGE",
  parse: (text, { option }) => {
    const target = parseTarget(text);
    if (!("name" in target)) return { range: target.range, text };
    throw wrongValue(option, text, "addresses");
  },
};

/** Returns a time in the past for the current time, both Unix milliseconds. */
export type PastTime = (now: number) => number;

/** `90m`, `24h` or `7d` ago, a date, or Unix milliseconds. */
export const PAST_TIME: ValueType<PastTime> = valueType(
  "TIME",
  "90m, 24h or 7d ago, a date such as 2026-01-31 or 2026-01-31T08:00Z, or Unix milliseconds",
  (text) => {
    const [, ago, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
    if (ago !== undefined) return (now) => now - Number(ago) * UNITS[unit];
    if (/^\d{12,14}$/.test(text)) return () => Number(text);
    const date = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text)
      ? Date.parse(text)
      : NaN;
    return Number.isNaN(date) ? undefined : () => date;
  },
);

/** Addresses, ranges and names, each perhaps with a port. */
export const TARGET_LIST: ValueType<readonly Target[]> = {
  placeholder: "LIST",
  parse: (text, { option }) => {
    const targets = splitList(text).flatMap((word) => parseTargets(word));
    if (targets.length === 0) throw wrongValue(option, text, "addresses, ranges or names");
    return targets;
  },
};

/** The address and the port of the metrics page. */
export const METRICS_ADDRESS: ValueType<MetricsAddress> = {
  placeholder: "PORT",
  parse: (text) => parseMetrics(text),
};

/** A type of values that are or may be secrets, so that errors do not show them. */
function secretType<Value>(
  placeholder: string,
  wanted: string,
  read: (text: string) => Value | undefined,
): ValueType<Value> {
  return {
    placeholder,
    mayHavePath: true,
    parse: (text: string, { option }: ValueContext) => {
      const value = read(text);
      if (value !== undefined) return value;
      throw new InputError(`Cannot use ${option}: expected ${wanted}`);
    },
  };
}

/** The URL of a webhook, or where it is. */
export const WEBHOOK_URL: ValueType<WebhookUrl> = secretType(
  "URL",
  "a URL that starts with http: or https:, or @FILE or env:NAME, which contains the URL",
  (text) => parseSecretSource(text) ?? parseHttpUrl(text),
);

/** Where a secret is. */
export const SECRET: ValueType<SecretSource> = secretType(
  "@FILE",
  "@FILE or env:NAME, because other users can read the arguments of a command",
  parseSecretSource,
);

/** A header of requests, and where its value is. */
export const HTTP_HEADER: ValueType<HeaderSource> = secretType(
  "NAME=@FILE",
  "NAME=@FILE or NAME=env:VARIABLE, with a header that the program does not set itself",
  parseHeaderSource,
);

/** Reads `02:00:00:00:00:01` or `02-00-00-00-00-01`; `undefined` for other text. */
export function parseMac(text: string): Uint8Array | undefined {
  if (!/^[0-9a-f]{2}([:-])[0-9a-f]{2}(\1[0-9a-f]{2}){4}$/i.test(text)) return undefined;
  return Uint8Array.from(text.split(/[:-]/), (byte) => parseInt(byte, 16));
}
