/**
 * Decides which columns of a server's earlier row a scan or a poll keeps: those of protocols in which
 * the server was not queried, and those of parts that the reply lacks, as long as fewer replies in a row
 * than the limit have lacked the part. A protocol is not queried if it was not selected, or if the interview
 * ended before it was sent.
 *
 * @module
 */
import { CUT_SHORT } from "../../core/flags.ts";
import { keepsGuid, replacedProtocols, verifiedColumns } from "../../protocols/declared_facts.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { ServerRecord } from "../../core/record.ts";
import {
  fieldExpression,
  RECORD_COLUMNS,
  RECORD_TABLES,
  recordOf,
  type StoredRecord,
} from "../rows/stored_record.ts";
import type { KnownServer, KnownState } from "../rows/known_servers.ts";
import { type Database, isInList, listValue } from "../database/database.ts";
import {
  countLacking,
  hadElsewhere,
  hasLastingLoss,
  type LackingParts,
  lackingPartsText,
  lostFlags,
  markHad,
  markLacking,
  type WatchReply,
  withCountsOf,
} from "../rows/lacking_parts.ts";
import { COLUMNS_KEPT_AT_LOSS, mergeRecords } from "./merge_records.ts";

/** Which servers a scan finds, and in which protocols it queries them. */
export interface InterviewScope {
  /** Names of the selected protocols. */
  readonly protocols: readonly string[];
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
  /** Whether a server is queried in all selected protocols. `false`: only in those in which it replied. */
  readonly follow: boolean;
  /**
   * The other values of `requested_as` that apply to the endpoint of a record: the reply is also
   * written for the server of each of these names. Default: there are none.
   */
  readonly otherNames?: (record: ServerRecord) => readonly (string | null)[];
  /** Whether the scan verifies that players can join. */
  readonly verify: boolean;
  /**
   * Names of the protocols in which a server that replied is queried, if they are not `protocols`: a
   * known server may be queried in more or fewer. `undefined`: `protocols`. Default: `protocols` for all servers.
   */
  readonly protocolsFor?: (record: ServerRecord) => readonly string[] | undefined;
  /**
   * Number of replies in a row that lack a part of the status after which the part loses its values.
   * Default: 1.
   */
  readonly downAfter?: number;
  /**
   * Whether the scan runs for days, as the discovery of a crawl or on the LAN: each new server has an
   * event, however many there are, and one that returns after an outage is `online`, not `back`.
   * Default: no.
   */
  readonly isContinuous?: boolean;
  /** Tags that the servers get that the scan finds. Default: none. */
  readonly tags?: readonly string[];
  /**
   * Set by a caller that counts replies itself. Returns the names of the parts that lose their values;
   * `undefined`: all parts that the reply lacks. A part that another watch got in the hour before
   * keeps its values. The database then does not count, but resets the counts of parts that the reply
   * has. Default: the database counts.
   */
  readonly dropped?: (record: ServerRecord) => readonly string[] | undefined;
}

/** A record of a server. */
interface Keyed {
  readonly record: ServerRecord;
  readonly identity: { readonly key: string };
  /** `scans.id` of the reply; `null`: unknown. */
  readonly scan?: number | null;
}

/** What is known about the parts of a server's status after its reply. */
interface Parts {
  /** Names of protocols in which the server was not queried. */
  readonly unqueried: readonly string[];
  /** Names of the parts that the reply lacks, and that keep their values. */
  readonly kept: readonly string[];
  /** Columns that stay if the reply lacks them. */
  readonly columns: readonly (keyof ServerRecord)[];
  /** The counts that the database stores. */
  readonly lacking: LackingParts;
}

/** Columns of known servers that {@linkcode withKeptColumns} needs. */
export const PART_COLUMNS = [
  "protocols",
  "flags",
  "guid",
] as const satisfies (keyof ServerRecord)[];

/**
 * Completes records with the columns of earlier rows that were not queried, or that the replies lack.
 *
 * @param records At most one record per server, with the server's key.
 * @param known The known servers by key, with {@linkcode PART_COLUMNS}.
 * @returns The completed records, in the order of `records`, and the values of their column
 * `lacking_parts`.
 */
export async function withKeptColumns<R extends Keyed>(
  database: Database,
  records: readonly R[],
  known: ReadonlyMap<string, KnownServer>,
  scope: InterviewScope,
): Promise<(R & { readonly lacking: string })[]> {
  const parts = records.map((one) => partsOf(database, one, known, scope));
  const isPartial = ({ unqueried, kept, columns }: Parts) =>
    unqueried.length + kept.length + columns.length > 0;
  const keys = records.filter((_, i) => isPartial(parts[i])).map(({ identity }) => identity.key);
  const unverified = records.filter(({ record }) => !scope.verify || isCutShort(record))
    .map(({ identity }) => identity.key);
  const rows = await readEarlierRows(database, keys, unverified, scope);
  return records.map((one, i) => {
    const { unqueried, kept } = parts[i];
    const lacking = lackingPartsText(parts[i].lacking);
    const { record, identity: { key } } = one;
    const earlier = rows.get(key);
    if (earlier === undefined) return { ...one, lacking };
    const { allProtocols } = scope;
    const missing = kept.filter((name) => earlier.protocols.includes(name));
    const isLossy = kept.some((name) => record.flags.includes(name));
    const spoken = new Set([...record.protocols, ...unqueried, ...missing]);
    const verified = scope.verify && !isCutShort(record)
      ? []
      : verifiedColumns(allProtocols.filter(({ name }) => spoken.has(name)));
    const columns = [...parts[i].columns, ...verified];
    const merging = { unqueried, missing, isLossy, columns, allProtocols };
    return { ...one, record: mergeRecords(earlier, record, merging), lacking };
  });
}

/** The parts of a known server's status that its reply does not have. */
function partsOf(
  database: Database,
  { record, identity: { key }, scan = null }: Keyed,
  known: ReadonlyMap<string, KnownServer>,
  scope: InterviewScope,
): Parts {
  const server = known.get(key);
  const hasReplied = (server?.state?.repliedAt ?? null) !== null;
  if (server?.state === undefined || !hasReplied) {
    return { unqueried: [], kept: [], columns: [], lacking: {} };
  }
  const { columns, state } = server;
  const { allProtocols, downAfter: limit = 1, dropped } = scope;
  const { protocols } = columns;
  const before = { flags: columns.flags ?? [] };
  const replaced = replacedProtocols(protocols ?? [], record.protocols, allProtocols);
  const results = (protocols ?? []).map((name) => {
    const result = resultOf(name, record, scope);
    return [name, result === "missing" && replaced.includes(name) ? "absent" : result] as const;
  });
  const namesOf = (wanted: Result) => results.flatMap(([name, is]) => is === wanted ? [name] : []);
  const unqueried = namesOf("unqueried");
  const parts = [...namesOf("missing"), ...lostFlags(before, record, allProtocols)]
    .filter((name) => name !== CUT_SHORT);
  const keptGuid: (keyof ServerRecord)[] =
    record.guid === null && columns.guid != null && keepsGuid(record.protocols, allProtocols)
      ? ["guid"]
      : [];
  const atLoss = [
    ...(hasLastingLoss(before, record, allProtocols) ? COLUMNS_KEPT_AT_LOSS : []),
    ...keptGuid,
  ];
  const [repliedAt, now] = [record.seen_at + database.clockOffsetMs, database.now()];
  if (dropped !== undefined) {
    const lost = dropped(record) ?? parts;
    const reply = { by: scan ?? 0, at: repliedAt };
    const marks = lackingBefore(state, parts, reply);
    const isKept = (name: string) => !lost.includes(name) || hadElsewhere(marks[name], reply);
    const kept = parts.filter(isKept);
    const lacking = scan === null
      ? withCountsOf(state.lacking, [...kept, ...unqueried])
      : markLacking(marks, [...new Set([...parts, ...lost])], unqueried, reply);
    return { unqueried, kept, columns: atLoss, lacking };
  }
  const lacking = countLacking(state.lacking, { parts, unqueried, repliedAt, now, limit });
  const kept = parts.filter((name) => Object.hasOwn(lacking, name));
  return { unqueried, kept, columns: atLoss, lacking };
}

/** The marks of parts before a reply to a watch. The last reply may have had parts, for another watch. */
function lackingBefore(
  { lacking, watch, repliedAt: at }: KnownState,
  parts: readonly string[],
  { by }: WatchReply,
): LackingParts {
  const isOther = watch !== null && watch !== by && at !== null;
  return isOther ? markHad(lacking, parts, { by: watch, at }) : lacking;
}

/** Whether a server's interview was cut short, so that protocols may not have been sent. */
function isCutShort({ flags }: ServerRecord): boolean {
  return flags.includes(CUT_SHORT);
}

/**
 * Reads earlier rows of servers.
 *
 * @param keys Servers whose rows are needed.
 * @param unverified Servers whose rows are needed if they have columns of a verification.
 */
async function readEarlierRows(
  database: Database,
  keys: readonly string[],
  unverified: readonly string[],
  { allProtocols }: InterviewScope,
): Promise<Map<string, StoredRecord>> {
  const verified = verifiedColumns(allProtocols).map((name) =>
    `${fieldExpression(name)} is not null`
  );
  const isOne = isInList(database, "s.key", "text");
  const conditions = [
    ...(keys.length === 0 ? [] : [[isOne, keys] as const]),
    ...(unverified.length === 0 || verified.length === 0
      ? []
      : [[`${isOne} and (${verified.join(" or ")})`, unverified] as const]),
  ];
  if (conditions.length === 0) return new Map();
  const rows = await database.rows(
    `select ${RECORD_COLUMNS} from ${RECORD_TABLES} ` +
      `where ${conditions.map(([condition]) => `(${condition})`).join(" or ")}`,
    conditions.map(([, list]) => listValue(database, list)),
  );
  return new Map(rows.map((row) => [String(row.key), recordOf(row)]));
}

/** What a scan has found out about a protocol of a server. */
type Result = "unqueried" | "missing" | "replied" | "absent";

/**
 * What a scan has found out about a protocol that a server spoke. `absent`: the server does not speak
 * it any more, because it speaks a protocol that suppresses it or that it suppresses.
 */
function resultOf(
  name: string,
  current: ServerRecord,
  { protocols, allProtocols, follow, protocolsFor }: InterviewScope,
): Result {
  const replied = current.protocols;
  if (replied.includes(name)) return "replied";
  const protocol = allProtocols.find((candidate) => candidate.name === name);
  const spoken = allProtocols.filter((candidate) => replied.includes(candidate.name));
  const isSuppressed = protocol?.suppressedBy !== undefined &&
    spoken.some(({ transport, suppressedBy }) => transport === "udp" && suppressedBy === undefined);
  const wasSentBefore = spoken.some(({ suppressedBy }) => suppressedBy === name);
  if (protocol === undefined || isSuppressed || wasSentBefore) return "absent";
  const sent = follow && !isCutShort(current) ? protocolsFor?.(current) ?? protocols : replied;
  return sent.includes(name) ? "missing" : "unqueried";
}
