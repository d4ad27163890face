/**
 * Probes and whole exchanges: a server sends any datagrams or chunks, and the row of the result goes into every
 * text format and to a terminal.
 *
 * An input is a list of datagrams: the length of each in two bytes, big endian, then its bytes.
 */
import { versionsWith } from "../../../src/classify/game_versions.ts";
import { describe } from "../../../src/cli/term/server_description.ts";
import { Malformed, Truncated } from "../../../src/core/bytes.ts";
import { FIELDS, type ServerRecord } from "../../../src/core/record.ts";
import { Random } from "../../../src/fleet/random.ts";
import type { Responder } from "../../../src/fleet/simulate/responder.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { drawIdentity } from "../../../src/fleet/simulate/server_identity.ts";
import { answerSlp } from "../../../src/fleet/simulate/slp/slp_replies.ts";
import { SLP_STYLES } from "../../../src/fleet/simulate/slp/slp_styles.ts";
import { SOFTWARE } from "../../../src/fleet/simulate/software.ts";
import { mergeReplies } from "../../../src/inspect/merge.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import {
  Closed,
  type Exchange,
  type ExchangeContext,
  NoReply,
  type Protocol,
  type Statement,
} from "../../../src/protocols/protocol.ts";
import { cellsOf } from "../../../src/sinks/csv.ts";
import { parseRow } from "../../../src/sinks/json.ts";
import { jsonFromCells, recordFromJson } from "../../../src/sinks/read_rows.ts";
import { TEXT_FORMATS } from "../../../src/sinks/text_formats.ts";
import { goldenOf } from "../../golden/mod.ts";
import { LONGEST } from "../mutator.ts";
import { BrokenRule, refusal, requireHarmless, requireSame, type Subject } from "../subject.ts";

const US = { address: 0x7f000001, port: 40000 };
const CONTEXT: ExchangeContext = {
  endpoint: { address: 0x7f000001, port: 19132 },
  nonce: 0x0123456789abcdefn,
  exclusive: true,
  lastAttempt: true,
};
const SCAN = "00000000-0000-7000-8000-000000000001";
/** The fingerprint of the certificate of each peer. */
const CERTIFICATE = "0123456789abcdef".repeat(4);
/** An exchange sends far fewer requests, however many datagrams it gets. */
const MAX_REQUESTS = 64;

/** Datagrams as one input. */
function packed(datagrams: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(datagrams.flatMap((one) => [one.length >> 8, one.length & 255, ...one]));
}

/** The datagrams of an input. The last one may be shorter than its length says. */
function unpacked(bytes: Uint8Array): Uint8Array[] {
  const datagrams: Uint8Array[] = [];
  for (let at = 0; at + 2 <= bytes.length;) {
    const end = at + 2 + (bytes[at] << 8 | bytes[at + 1]);
    datagrams.push(bytes.slice(at + 2, end));
    at = end;
  }
  return datagrams;
}

/** Runs an exchange whose peer replies to each request with the bytes that `reply` returns. */
function talk<S>(
  exchange: Exchange<S>,
  reply: (request: Uint8Array | undefined) => Uint8Array | undefined,
  isStream: boolean,
): S {
  let requests = 0;
  let step = exchange.next();
  while (!step.done) {
    if (step.value !== undefined && ++requests > MAX_REQUESTS) {
      throw new BrokenRule(`the exchange sends more than ${MAX_REQUESTS} requests`);
    }
    step.value?.tls?.onCertificate(CERTIFICATE);
    const bytes = reply(step.value?.bytes);
    if (bytes !== undefined) step = exchange.next(bytes);
    else step = exchange.throw(isStream ? new Closed() : new NoReply());
  }
  return step.value;
}

/** The statement of a server after the exchange of its status and, if there is one, its verification. */
function interview(
  { exchange, record, verify, transport }: Protocol,
  reply: (request: Uint8Array | undefined) => Uint8Array | undefined,
): Statement {
  const status = talk(exchange(CONTEXT), reply, transport === "tcp");
  const statement = record(status);
  const verification = verify?.exchange(status, CONTEXT);
  if (verification === undefined) return statement;
  const { columns, flags, facts } = talk(verification, reply, false);
  return {
    columns: { ...statement.columns, ...columns },
    flags: [...statement.flags, ...flags],
    facts: { ...statement.facts, ...facts },
  };
}

/** The replies of simulated servers in a protocol, each as an input. */
function seedsOf(protocol: Protocol): Uint8Array[] {
  const seeds: Uint8Array[] = [];
  const record = (respond: (request: Uint8Array) => readonly Uint8Array[]) => {
    const sent: Uint8Array[] = [];
    const pending: Uint8Array[] = [];
    try {
      interview(protocol, (request) => {
        if (request !== undefined) pending.push(...respond(request).map((one) => one.slice()));
        const next = pending.shift();
        if (next !== undefined) sent.push(next);
        return next;
      });
    } catch (error) {
      if (!(error instanceof NoReply || error instanceof Malformed)) throw error;
    }
    const size = sent.reduce((sum, { length }) => sum + length + 2, 0);
    if (size > 0 && size < LONGEST / 2) seeds.push(packed(sent));
  };
  if (protocol.transport === "tcp") {
    const identity = drawIdentity(new Random(1));
    for (const style of Object.values(SLP_STYLES)) {
      record((request) => {
        const response = answerSlp(style, identity, request);
        return response === undefined ? [] : [response.reply];
      });
    }
    // A first reply may lead to a second request, so every reply also precedes some whole ones.
    const replies = goldenOf(protocol.name).filter(({ from }) => from === "server");
    const whole = replies.filter(({ encodes }) => encodes).slice(0, 4);
    for (const { bytes } of replies) {
      seeds.push(packed([bytes]), ...whole.map((next) => packed([bytes, next.bytes])));
    }
    return seeds;
  }
  for (const responder of servers()) record((request) => responder.respond(request, US, 0));
  return seeds;
}

/** One simulated server of each software that replies over UDP. */
function servers(): Responder[] {
  const range = { start: 0x7f000001, end: 0x7f000002 };
  return SOFTWARE.filter(({ bedrock, query, sqp }) => bedrock ?? query ?? sqp).flatMap(({ name }) =>
    drawFleet({ servers: 1, range, seed: 3, software: [name] }).map(({ responder }) => responder!)
  ).filter((one) => one !== undefined);
}

const FORMATS = Object.values(TEXT_FORMATS).map((make) => make(FIELDS, PROTOCOLS));
const NDJSON = TEXT_FORMATS.ndjson(FIELDS);
const CSV = TEXT_FORMATS.csv(FIELDS);
const HEAD = FIELDS.map(({ name }) => name as string);
// deno-lint-ignore no-control-regex
const STYLES = /\x1b\[[\d;]*m/g;

/** Requires that no format and no terminal gets a control character, and that rows can be read. */
function checkRow(record: ServerRecord): void {
  for (const { name, row } of FORMATS) {
    const line = row(record, true).replace(/\r?\n$/, "").replace(/^\n/, "");
    requireHarmless(name === "grep" ? line.replaceAll("\t", " ") : line, name);
  }
  for (const color of [true, false]) {
    for (const line of describe(record, color, PROTOCOLS, versionsWith)) {
      requireHarmless(color ? line.replace(STYLES, "") : line, "a line of the terminal");
    }
  }
  const line = NDJSON.row(record, true).trimEnd();
  const read = recordFromJson(parseRow(line) ?? {});
  if (read === undefined) throw new BrokenRule(`the row cannot be read: ${line}`);
  requireSame(JSON.parse(JSON.stringify(record)), read, "the row in NDJSON");
  const cells = CSV.row(record, true).trimEnd();
  const fromCsv = recordFromJson(jsonFromCells(HEAD, cellsOf(cells)) ?? {});
  if (fromCsv === undefined) throw new BrokenRule(`the row cannot be read: ${cells}`);
  requireSame(cells, CSV.row(fromCsv, true).trimEnd(), "the row in CSV");
}

function requireRow(protocol: string, statement: Statement): void {
  const context = { endpoint: CONTEXT.endpoint, seenAt: 1, latencyMs: 1, scanId: SCAN };
  checkRow(mergeReplies([{ protocol, statement }], { ...context, requestedAs: null }));
}

function exchangeSubject(protocol: Protocol): Subject {
  return {
    name: `exchange:${protocol.name}`,
    from: "a host",
    seeds: seedsOf(protocol),
    check(bytes) {
      const datagrams = unpacked(bytes);
      let at = 0;
      try {
        const statement = interview(protocol, () => datagrams[at++]);
        requireRow(protocol.name, statement);
        return `+${statement.flags.join()}`;
      } catch (error) {
        return refusal(error, [Truncated, Malformed, NoReply]);
      }
    },
  };
}

/** The part of a protocol that reads the reply to a probe, without any state. */
function probeSubject({ name, probe, record }: Protocol): Subject {
  return {
    name: `probe:${name}`,
    from: "a host",
    seeds: goldenOf(name).map(({ bytes }) => bytes),
    check(bytes) {
      try {
        if (probe!.read(bytes) === undefined) return "-";
      } catch (error) {
        return refusal(error, [Truncated, Malformed]);
      }
      try {
        const { status } = probe!.content?.(bytes) ?? {};
        if (status === undefined) return "+";
        const statement = record(status);
        requireRow(name, statement);
        return `+${statement.flags.join()}`;
      } catch (error) {
        if (probe!.wholeStatus) throw error;
        return refusal(error, [Truncated, Malformed]);
      }
    },
  };
}

/** The exchanges and the probes of all protocols. */
export const EXCHANGE_SUBJECTS: readonly Subject[] = [
  ...PROTOCOLS.map(exchangeSubject),
  ...PROTOCOLS.filter(({ probe }) => probe !== undefined).map(probeSubject),
];
