/**
 * Several protocols' statements about one server, made into one row that says who it is.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import { classify } from "../classify/mod.ts";
import { emptyRecord, type Facts, type ServerRecord } from "../core/record.ts";
import { PROTOCOLS, rankedNames } from "../protocols/list.ts";
import type { Protocol, Statement } from "../protocols/protocol.ts";
import { wellFormed } from "../protocols/lone_surrogates.ts";

/** What one protocol said. */
export interface ProtocolReply {
  /** The protocol. */
  readonly protocol: string;
  /** What it said. */
  readonly statement: Statement;
  /** The reply that it is from, as it came. */
  readonly raw?: Uint8Array;
}

/** Columns in which protocols should agree, and the flag for when they do not. */
const DISAGREEMENTS: readonly (readonly [keyof ServerRecord, flag: string])[] = [
  ["edition", "editionDiffers"],
  ["motd_plain", "motdDiffers"],
  ["version", "versionDiffers"],
  ["players_online", "playersDiffer"],
  ["players_max", "playersDiffer"],
];

/** What a merged row needs besides the answers. */
export interface RowContext {
  /** Where the server is. */
  readonly endpoint: Endpoint;
  /** When it answered, Unix milliseconds. */
  readonly seenAt: number;
  /** Round trip, milliseconds. */
  readonly latencyMs: number | null;
  /** The scan. */
  readonly scanId: string;
  /** The name that it was asked for by. */
  readonly requestedAs: string | null;
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
}

/**
 * Merges answers into a row, and classifies it.
 *
 * @param answers At least one, in any order.
 *
 * @example Query knows the players, RakNet the name
 * ```ts
 * import { mergeReplies } from "blocksweep/scan";
 * import { assertEquals } from "@std/assert";
 *
 * const said = (columns: object) => ({ columns, flags: [], facts: {} });
 * const row = mergeReplies([
 *   { protocol: "query", statement: said({ name: "B", players_online: 4 }) },
 *   { protocol: "raknet", statement: said({ name: "A", players_online: 3 }) },
 * ], {
 *   endpoint: { address: 0x7f000001, port: 19132 },
 *   seenAt: 0,
 *   latencyMs: 1,
 *   scanId: "",
 *   requestedAs: null,
 * });
 * assertEquals([row.protocol, row.name, row.players_online], ["raknet", "A", 4]);
 * assertEquals(row.flags, ["playersDiffer"]);
 * ```
 */
export function mergeReplies(answers: readonly ProtocolReply[], context: RowContext): ServerRecord {
  const whole = answers.map((one) => {
    const statement = wellFormed(one.statement);
    return statement === one.statement ? one : { ...one, statement };
  });
  const { allProtocols = PROTOCOLS } = context;
  const ordered = whole.length < 2 ? whole : inOrder(whole, allProtocols);
  const record = emptyRecord(context.endpoint, context.seenAt);
  // One laid over the other, from the last to the first: what is laid last counts.
  for (let i = ordered.length - 1; i >= 0; i--) lay(record, ordered[i].statement.columns);
  for (let i = ordered.length - 1; i >= 0 && ordered.length > 1; i--) {
    const own = allProtocols.find(({ name }) => name === ordered[i].protocol)?.fillsFirst;
    if (own !== undefined) lay(record, ordered[i].statement.columns, own);
  }
  const extras: Record<string, Facts> = {};
  const flags: string[] = [];
  for (const { protocol, statement } of ordered) {
    extras[protocol] = statement.facts;
    flags.push(...statement.flags);
  }
  record.protocol = ordered[0].protocol;
  record.protocols = ordered.map(({ protocol }) => protocol);
  record.flags = ordered.length < 2 ? flags : [...flags, ...disagreements(ordered)];
  record.extras = extras;
  record.latency_ms = inMicroseconds(context.latencyMs);
  record.scan_id = context.scanId;
  record.requested_as = context.requestedAs;
  return Object.assign(record, classify(record));
}

/** Answers in order of rank; those of protocols that nobody ranked come last. */
function inOrder(answers: ProtocolReply[], protocols: readonly Protocol[]): ProtocolReply[] {
  const names = rankedNames(protocols);
  const rank = ({ protocol }: ProtocolReply) =>
    names.includes(protocol) ? names.indexOf(protocol) : names.length;
  return answers.sort((a, b) => rank(a) - rank(b));
}

/** Puts what is known, of all columns or of these, into a record. */
function lay(
  record: ServerRecord,
  columns: Partial<ServerRecord>,
  only?: readonly (keyof ServerRecord)[],
): void {
  for (const name in columns) {
    const value = columns[name as keyof ServerRecord];
    if (value == null || only?.includes(name as keyof ServerRecord) === false) continue;
    (record as unknown as Record<string, unknown>)[name] = value;
  }
}

function disagreements(answers: readonly ProtocolReply[]): string[] {
  return DISAGREEMENTS.filter(([name]) => {
    const values = answers.map(({ statement }) => statement.columns[name]).filter((one) =>
      one != null
    );
    return new Set(values.map(comparable)).size > 1;
  }).map(([, flag]) => flag);
}

/** Some software writes `v1.21.50`, for the same version. */
function comparable(value: unknown): unknown {
  return typeof value === "string" ? value.replace(/^v(?=\d)/, "") : value;
}

/** Milliseconds to three places: no clock tells more, and a sum of floats shows sixteen. */
function inMicroseconds(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 1000) / 1000;
}
