/**
 * Merges the replies of several protocols from one server into one record, and classifies it.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import { classify } from "../classify/mod.ts";
import {
  emptyRecord,
  type Facts,
  FIELDS,
  IS_TYPE,
  type Plugin,
  type ServerRecord,
} from "../core/record.ts";
import { PROTOCOLS, rankedNames } from "../protocols/list.ts";
import type { Protocol, Statement } from "../protocols/protocol.ts";
import { wellFormed } from "../protocols/lone_surrogates.ts";
import type { ProtocolReply } from "./protocol_reply.ts";

/**
 * Difference of two numbers of players that is no disagreement: players come and go between two replies,
 * and servers cache replies to Query for up to 30 s.
 */
const MOST_PLAYERS = 5;
/** The same as a share of the larger number. */
const MOST_SHARE = 0.2;

/** Columns in which the values of all protocols should be equal, and the flag of a difference. */
const DISAGREEMENTS: readonly (readonly [keyof ServerRecord, flag: string])[] = [
  ["edition", "editionDiffers"],
  ["motd_plain", "motdDiffers"],
  ["version", "versionDiffers"],
  ["players_online", "playersDiffer"],
  ["players_max", "playersDiffer"],
];

/** The parts of a record that do not come from replies. */
export interface RowContext {
  readonly endpoint: Endpoint;
  /** When the server replied, Unix milliseconds. */
  readonly seenAt: number;
  /** Round-trip time of the first reply, milliseconds; `null` when it is unknown. */
  readonly latencyMs: number | null;
  /** The id of the scan, a UUIDv7. */
  readonly scanId: string;
  /** The name that the user gave for the server; `null`: an address was given. */
  readonly requestedAs: string | null;
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
}

/**
 * Merges replies into one record, and classifies the server.
 *
 * @param replies At least one reply, in any order.
 *
 * @example The players come from Query, the name from RakNet
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * const statementOf = (columns: object) => ({ columns, flags: [], facts: {} });
 * const row = mergeReplies([
 *   { protocol: "query", statement: statementOf({ name: "B", players_online: 40 }) },
 *   { protocol: "raknet", statement: statementOf({ name: "A", players_online: 3 }) },
 * ], {
 *   endpoint: { address: 0x7f000001, port: 19132 },
 *   seenAt: 0,
 *   latencyMs: 1,
 *   scanId: "",
 *   requestedAs: null,
 * });
 * assertEquals([row.protocol, row.name, row.players_online], ["raknet", "A", 40]);
 * assertEquals(row.flags, ["playersDiffer"]);
 * ```
 */
export function mergeReplies(replies: readonly ProtocolReply[], context: RowContext): ServerRecord {
  const whole = replies.map((one) => {
    const statement = wellFormed(withFittingColumns(one.statement));
    return statement === one.statement ? one : { ...one, statement };
  });
  const { allProtocols = PROTOCOLS } = context;
  const ordered = whole.length < 2 ? whole : inOrder(whole, allProtocols);
  const record = emptyRecord(context.endpoint, context.seenAt);
  // Protocols of higher rank are written later and overwrite the columns of the others.
  for (let i = ordered.length - 1; i >= 0; i--) copyColumns(record, ordered[i].statement.columns);
  for (let i = ordered.length - 1; i >= 0 && ordered.length > 1; i--) {
    const own = allProtocols.find(({ name }) => name === ordered[i].protocol)?.fillsFirst;
    if (own !== undefined) copyColumns(record, ordered[i].statement.columns, own);
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

/** Replies in order of rank; unknown protocols last. */
function inOrder(replies: ProtocolReply[], protocols: readonly Protocol[]): ProtocolReply[] {
  const names = rankedNames(protocols);
  const rank = ({ protocol }: ProtocolReply) =>
    names.includes(protocol) ? names.indexOf(protocol) : names.length;
  return replies.sort((a, b) => rank(a) - rank(b));
}

/** Copies the columns that are not null into a record: all columns, or only the given ones. */
function copyColumns(
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

function disagreements(replies: readonly ProtocolReply[]): string[] {
  return DISAGREEMENTS.filter(([name]) => {
    const values = replies.map(({ statement }) => statement.columns[name]).filter((one) =>
      one != null
    );
    return name === "players_online"
      ? isFarApart(values as number[])
      : new Set(values.map(comparable)).size > 1;
  }).map(([, flag]) => flag);
}

/** Whether numbers of players differ by more than the time between two replies explains. */
function isFarApart(counts: readonly number[]): boolean {
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  return most - least > Math.max(MOST_PLAYERS, MOST_SHARE * most);
}

/** A version without its leading `v`: some software writes `v1.21.50` instead of `1.21.50`. */
function comparable(value: unknown): unknown {
  return typeof value === "string" ? value.replace(/^v(?=\d)/, "") : value;
}

/** Milliseconds rounded to microseconds, the resolution of the clocks. */
function inMicroseconds(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 1000) / 1000;
}

/** The flag of a row whose reply had a value that does not fit its column. */
const BAD_COLUMN = "badColumn";
/** Maximum number of UTF-16 units of the texts in one column: more than a datagram can hold. */
const MAX_UNITS = 65_536;

/**
 * The type tests of the columns that protocols fill. Columns that are never null are missing,
 * because the scan fills them.
 */
const TESTS: ReadonlyMap<string, (value: unknown) => boolean> = new Map(
  FIELDS.filter(({ nullable }) => nullable).map(({ name, type }) => [name, IS_TYPE[type]]),
);

/**
 * A statement without values that have the wrong type for their column or are too long; a flag
 * reports the omission. A statement without such values is returned unchanged.
 */
function withFittingColumns(statement: Statement): Statement {
  const { columns, flags } = statement;
  for (const name in columns) {
    if (fits(name, columns[name as keyof typeof columns])) continue;
    return {
      ...statement,
      columns: Object.fromEntries(Object.entries(columns).filter((pair) => fits(...pair))),
      flags: flags.includes(BAD_COLUMN) ? flags : [...flags, BAD_COLUMN],
    };
  }
  return statement;
}

/**
 * Whether a value has the type and size that its column allows. It runs for every value of a row.
 */
function fits(name: string, value: unknown): boolean {
  return value == null || (TESTS.get(name)?.(value) ?? false) && unitsOf(value) <= MAX_UNITS;
}

/** The size of a column's texts, UTF-16 units. Each item of a list adds one unit. */
function unitsOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (!Array.isArray(value)) return 0;
  let units = value.length;
  for (const item of value as (string | Plugin)[]) {
    units += typeof item === "string"
      ? item.length
      : item.name.length + (item.version ?? "").length;
  }
  return units;
}
