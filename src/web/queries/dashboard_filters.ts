/**
 * The filters of the dashboard: those of databases, and those of country and operator. Each has its parameter in
 * URLs, its test of a row, and its test of the columns of a server index.
 *
 * @module
 */
import { parseAddress } from "../../core/address.ts";
import { formed, oneOf, TRUE_OR_FALSE, wholeNumber } from "../../core/checked_values.ts";
import {
  type ColumnTest as CellTest,
  foldCase,
  isInNetworks,
  isVersion,
  MEMBER_KINDS,
  NONE_LISTED,
  parseNetwork,
  parseServerName,
  type SearchedList,
  SERVER_FILTERS,
  SOME_LISTED,
  storableUuid,
} from "../../store/mod.ts";
import { documentedFlags } from "../../protocols/documented_flags.ts";
import { readTexts } from "../../store/rows/json_cells.ts";
import { isRangeText, parseVersionRange } from "../../classify/version_ranges.ts";
import {
  MAX_TEXT,
  type Parameter,
  parameter,
  PAST_AGE,
  PAST_AGE_OR_TIME,
  several,
  TEXT,
} from "./parameters.ts";
import {
  type DictionaryName,
  SERVER_BITS,
  type ServerIndexReader,
  versionedServer,
} from "../server_index/server_index.ts";
import { canonicalNetwork } from "./networks.ts";
import type { DashboardFilters } from "./dashboard_data.ts";
import { GEOIP_FILTERS, UNKNOWN_NAMES } from "./row_filters.ts";

const MINUTE_MS = 60_000;
/** All flags that a server may have. */
const FLAGS = [...new Set(documentedFlags().map(({ name }) => name))];
/** Maximum number of players in a filter. */
const MAX_PLAYERS = 1e9;
/** Maximum number of an autonomous system (RFC 6793). */
const MAX_ASN = 2 ** 32 - 1;

/**
 * The `servers.id` of servers that the database found, ascending, for filters whose values the server index
 * lacks.
 */
export interface FoundIds {
  /** Servers whose whole texts contain the text, though perhaps not the part that is in the server index. */
  readonly text: readonly number[];
  /** The servers with the tags. The server index has no tags, because a tag changes no server. */
  readonly tag: readonly number[];
  /** The servers with the names. */
  readonly named: readonly number[];
  /** The servers with names of mods and plugins, which the server index does not have. */
  readonly mods: readonly number[];
  readonly plugins: readonly number[];
  /** The servers of the scan. */
  readonly scan: readonly number[];
}

/**
 * Tests the servers of a server index.
 *
 * @param value The value of the filter.
 * @param found The servers that the database found for the filters.
 * @returns A test of the servers by their slots in the columns.
 */
type ColumnTest<Value> = (
  serverIndex: ServerIndexReader,
  value: Value,
  found: FoundIds,
) => (slot: number) => boolean;

interface DashboardFilter<Value> {
  /** The parameter of URLs. Its name is that of the filter in snake case. */
  readonly parameter: Parameter<Value>;
  readonly columns: ColumnTest<Value>;
}

/** All filters, in the order of parameters in URLs. */
export const DASHBOARD_FILTERS: {
  readonly [Name in keyof DashboardFilters]-?: DashboardFilter<NonNullable<DashboardFilters[Name]>>;
} = {
  text: {
    parameter: several(
      "Only servers whose name, MOTD, map or software contains this text, in any case; all of several.",
      TEXT,
    ),
    columns: containsText,
  },
  online: {
    parameter: parameter(
      "Only servers that are online, or only servers that are offline.",
      TRUE_OR_FALSE,
    ),
    columns: ({ columns: { bits } }, online) => {
      const wanted = online ? SERVER_BITS.online : 0;
      return (slot) => (bits[slot] & SERVER_BITS.online) === wanted;
    },
  },
  edition: {
    parameter: several("Only servers of this edition.", TEXT),
    columns: inDictionary("edition", SERVER_FILTERS.edition, asText),
  },
  software: {
    parameter: several("Only servers whose software contains this text, in any case.", TEXT),
    columns: inDictionary("software", SERVER_FILTERS.software, asText),
  },
  confidence: {
    parameter: several("Only servers whose software has this confidence.", oneOf(["A", "B", "C"])),
    columns: ({ columns: { bits } }, wanted) => {
      const isWanted = ["A", "B", "C"].map((letter) => wanted.includes(letter));
      return (slot) => isWanted[(bits[slot] >> 5 & 3) - 1] === true;
    },
  },
  version: {
    parameter: several(
      "Only servers of this game version, or in this range; 1.21 includes 1.21.50.",
      formed(
        "a version such as 1.21, or a range such as 1.20..1.21 or >=1.20",
        (text) => isRangeText(text) && parseVersionRange(text) === undefined ? undefined : text,
        { type: "string", minLength: 1, maxLength: MAX_TEXT },
      ),
    ),
    columns: ({ columns: { version }, dictionaries }, wanted) => {
      const isWanted = isVersion(wanted);
      const codes = dictionaries.version.codesWith((entry) => isWanted(versionedServer(entry)));
      return (slot) => codes[version[slot]] === 1;
    },
  },
  protocol: {
    parameter: several("Only servers that replied in this protocol.", TEXT),
    columns: inDictionary("protocols", SERVER_FILTERS.protocol, asList),
  },
  port: {
    parameter: several("Only servers with this port.", wholeNumber(1, 65535)),
    columns: ({ columns: { port } }, ports) => {
      const wanted = new Uint8Array(65_536);
      for (const one of ports) wanted[one] = 1;
      return (slot) => wanted[port[slot]] === 1;
    },
  },
  network: {
    parameter: several(
      "Only servers in this network.",
      formed("an address or a network such as 192.0.2.0/24", canonicalNetwork),
    ),
    columns: ({ columns: { bits, address }, v6 }, networks) => {
      const isWanted = isInNetworks(networks);
      const hasV6 = networks.some((network) => typeof parseNetwork(network).start === "bigint");
      return (slot) => {
        const kind = bits[slot] & (SERVER_BITS.isV6 | SERVER_BITS.noAddress);
        const at = address[slot];
        if (kind === 0) return isWanted(at);
        return kind === SERVER_BITS.isV6 && hasV6 && isWanted(v6[2 * at] << 64n | v6[2 * at + 1]);
      };
    },
  },
  flag: {
    parameter: several("Only servers with this flag.", oneOf(FLAGS)),
    columns: inDictionary("flags", SERVER_FILTERS.flag, asList),
  },
  tag: { parameter: several("Only servers with this tag.", TEXT), columns: foundFor("tag") },
  named: {
    parameter: several(
      "Only servers that were requested by this name, or publish it, such as play.example.org:25565.",
      formed("a name, or a name and a port such as play.example.org:25565", serverName),
    ),
    columns: foundFor("named"),
  },
  country: {
    parameter: several(
      "Only servers in this country; needs --geoip.",
      formed(
        "two letters, such as DE",
        (text) => /^[A-Za-z]{2}$/.test(text) ? text.toUpperCase() : undefined,
        { type: "string", pattern: "^[A-Za-z]{2}$" },
      ),
    ),
    columns: inDictionary("country", GEOIP_FILTERS.country, asText),
  },
  operator: {
    parameter: several(
      "Only servers in this autonomous system; needs --geoip.",
      wholeNumber(0, MAX_ASN),
    ),
    columns: inDictionary(
      "operator",
      GEOIP_FILTERS.operator,
      (text) => Number(text.slice(0, text.indexOf(" "))),
    ),
  },
  minPlayers: {
    parameter: parameter(
      "Only servers with at least this many players.",
      wholeNumber(0, MAX_PLAYERS),
    ),
    columns: ({ columns: { bits, players } }, min) => (slot) =>
      (bits[slot] & SERVER_BITS.players ? players[slot] : -1) >= min,
  },
  maxPlayers: {
    parameter: parameter(
      "Only servers with at most this many players.",
      wholeNumber(0, MAX_PLAYERS),
    ),
    columns: ({ columns: { bits, players } }, max) => (slot) =>
      (bits[slot] & SERVER_BITS.players) !== 0 && players[slot] <= max,
  },
  full: {
    parameter: parameter(
      "Only servers with as many players as slots or more, or only servers with free slots.",
      TRUE_OR_FALSE,
    ),
    columns: ({ columns: { bits } }, full) => (slot) =>
      (bits[slot] & (full ? SERVER_BITS.full : SERVER_BITS.notFull)) !== 0,
  },
  noAliases: {
    parameter: parameter("Only servers that are no alias of another server.", TRUE_OR_FALSE),
    columns: ({ columns: { alias } }) => (slot) => alias[slot] === 0,
  },
  mods: {
    parameter: several(
      "Only servers that list mods (yes), no mods (no), or a mod with this name.",
      TEXT,
    ),
    columns: listing("mods"),
  },
  plugins: {
    parameter: several(
      "Only servers that list plugins (yes), no plugins (no), or a plugin with this name.",
      TEXT,
    ),
    columns: listing("plugins"),
  },
  down: {
    parameter: parameter(
      "Only servers that are offline, and did not reply for this long: 90m, 24h or 7d.",
      PAST_AGE,
    ),
    columns: ({ columns: { bits, repliedMinute } }, time) => (slot) =>
      !(bits[slot] & SERVER_BITS.online) && repliedMinute[slot] < time / MINUTE_MS,
  },
  replied: {
    parameter: parameter(
      "Only servers that replied in this time: 90m, 24h or 7d.",
      PAST_AGE,
    ),
    columns: ({ columns: { repliedMinute } }, time) => (slot) =>
      repliedMinute[slot] >= Math.floor(time / MINUTE_MS),
  },
  stale: {
    parameter: parameter(
      "Only servers that were not probed for this long: 90m, 24h or 7d.",
      PAST_AGE,
    ),
    columns: ({ columns: { probedMinute } }, time) => (slot) =>
      probedMinute[slot] < time / MINUTE_MS,
  },
  unknown: {
    parameter: several(
      "Only servers of which this is unknown; all of several.",
      oneOf(UNKNOWN_NAMES),
    ),
    columns: ({ columns, dictionaries }, wanted) => {
      const tests = wanted.map((name) => {
        const dictionary = name === "protocol" ? "protocols" : name;
        const known = dictionaries[dictionary].codesWith((text) => !isUnknownText(name, text));
        return (slot: number) => known[columns[dictionary][slot]] !== 1;
      });
      return (slot) => tests.every((isUnknown) => isUnknown(slot));
    },
  },
  since: {
    parameter: parameter(
      "Only servers that changed in the last 90m, 24h or 7d, or later than this time, Unix milliseconds.",
      PAST_AGE_OR_TIME,
    ),
    columns: ({ columns: { changedAt } }, time) => (slot) => changedAt[slot] > time,
  },
  scan: {
    parameter: parameter(
      "Only servers that the scan with this identity found, or saw as the parameter saw names.",
      formed("the identity of a scan, a UUID", (text) => storableUuid(text) ?? undefined),
    ),
    columns: foundFor("scan"),
  },
  saw: {
    parameter: parameter(
      "Only servers that a scan found, saw as new, back or changed, missed, or lost (missed, and the scan " +
        "before had a reply). Default of scan: the last one that ended.",
      oneOf(MEMBER_KINDS),
    ),
    columns: foundFor("scan"),
  },
};

/**
 * Tests the texts of a dictionary like the cells of a column.
 *
 * @param cellOf The cell that has a text of the dictionary.
 */
function inDictionary<Value, Cell>(
  name: DictionaryName,
  { testCell }: Pick<CellTest<Value, string, Cell>, "testCell">,
  cellOf: (text: string) => Cell,
): ColumnTest<Value> {
  return ({ columns, dictionaries }, value) => {
    const isWanted = testCell(value);
    const wanted = dictionaries[name].codesWith((text) => isWanted(cellOf(text)));
    const codes = columns[name];
    // A number beyond the list is that of a text which was added meanwhile.
    return (slot) => wanted[codes[slot]] === 1;
  };
}

function asText(text: string): string {
  return text;
}

function isUnknownText(name: string, text: string): boolean {
  if (name === "version") return versionedServer(text).version === "";
  return name === "protocol" && asList(text).length === 0;
}

function asList(json: string): readonly string[] {
  return readTexts(json) ?? [];
}

/** A name as databases have it; `undefined`: no name. Addresses have the filter of networks. */
function serverName(text: string): string | undefined {
  const named = parseServerName(text);
  return named === undefined || parseAddress(named.host) !== undefined ? undefined : named.key;
}

/** Tests for the servers that the database found. */
function foundFor(name: keyof FoundIds): ColumnTest<unknown> {
  return (serverIndex, _, { [name]: ids }) => {
    const found = markedSlots(serverIndex, ids);
    return (slot) => found[slot] === 1;
  };
}

/** Marks the slots of servers: 1. */
function markedSlots(
  { count, columns: { id: slots } }: ServerIndexReader,
  ids: readonly number[],
): Uint8Array {
  const marked = new Uint8Array(count);
  let slot = 0;
  for (const id of ids) {
    while (slot < count && slots[slot] < id) slot++;
    if (slot < count && slots[slot] === id) marked[slot] = 1;
  }
  return marked;
}

/** Tests for texts in name, MOTD, map or software. */
function containsText(
  serverIndex: ServerIndexReader,
  texts: readonly string[],
  { text: foundIds }: FoundIds,
): (slot: number) => boolean {
  const found = markedSlots(serverIndex, foundIds);
  const parts = texts.map((text) => containsPart(serverIndex, foldCase(text)));
  return (slot) => found[slot] === 1 || parts.every((isIn) => isIn(slot));
}

function containsPart(serverIndex: ServerIndexReader, part: string): (slot: number) => boolean {
  const { count, columns: { software } } = serverIndex;
  const found = new Uint8Array(count);
  const mark = (slot: number) => {
    if (slot >= 0 && slot < count) found[slot] = 1;
  };
  if (part === "") found.fill(1);
  else serverIndex.texts.search(part, count, mark, (id) => mark(serverIndex.slotOf(id)));
  const inSoftware = serverIndex.dictionaries.software.codesWith((one) =>
    foldCase(one).includes(part)
  );
  return (slot) => found[slot] === 1 || inSoftware[software[slot]] === 1;
}

/** Tests for mods or plugins. The database finds the servers that list a name. */
function listing(list: SearchedList): ColumnTest<readonly string[]> {
  return (serverIndex, wanted, { [list]: ids }) => {
    const { columns: { bits } } = serverIndex;
    const found = markedSlots(serverIndex, ids);
    const [isSome, isNone] = [wanted.includes(SOME_LISTED), wanted.includes(NONE_LISTED)];
    return (slot) => found[slot] === 1 || (bits[slot] & SERVER_BITS[list] ? isSome : isNone);
  };
}
