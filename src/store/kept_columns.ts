/**
 * Decides which columns of a server's earlier row a scan keeps: those of protocols that the scan did not
 * query. Such protocols were not selected, or the interview ended before they were sent.
 *
 * @module
 */
import { verifiedColumns } from "../protocols/declared_facts.ts";
import { PROTOCOLS } from "../protocols/list.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { FIELDS, type ServerRecord } from "../core/record.ts";
import {
  fieldExpression,
  RECORD_COLUMNS,
  RECORD_TABLES,
  recordOf,
  type StoredRecord,
} from "./rows/stored_record.ts";
import { type Database, isInList, listValue } from "./database/database.ts";

/** In which protocols a scan queries the servers that it finds. */
export interface InterviewScope {
  /** Names of the selected protocols. */
  readonly protocols: readonly string[];
  /** Every protocol of the program, in order of rank. Default: PROTOCOLS. */
  readonly allProtocols?: readonly Protocol[];
  /** Whether a server is queried in all selected protocols. `false`: only in those in which it replied. */
  readonly follow: boolean;
  /** Whether the scan verifies that players can join. */
  readonly verify: boolean;
  /**
   * Names of the protocols in which a server that replied is queried, if they are not `protocols`: a
   * known server may be queried in more or fewer. `undefined`: `protocols`. Default: `protocols` for all servers.
   */
  readonly protocolsFor?: (record: ServerRecord) => readonly string[] | undefined;
}

/** Columns that are valid for one scan only. A row never takes them from an earlier row. */
const SCAN_COLUMNS = new Set<string>(
  ["latency_ms", "alias_of", "requested_as", "scan_id", "extras"],
);
/** The flag of records whose interview was cut short. */
const CUT_SHORT = "cutShort";
/** Columns that any protocol may fill. */
const PROTOCOL_COLUMNS = FIELDS.filter(({ name, nullable }) => nullable && !SCAN_COLUMNS.has(name))
  .map(({ name }) => name);

/**
 * Completes records of a scan with the columns of earlier rows that the scan did not query.
 *
 * @param records At most one record per server, with the server's key.
 * @returns The completed records, in the order of `records`.
 */
export async function withKeptColumns<
  R extends { readonly record: ServerRecord; readonly identity: { readonly key: string } },
>(database: Database, records: readonly R[], scope: InterviewScope): Promise<R[]> {
  const anyCutShort = records.some(({ record }) => isCutShort(record));
  const keys = records.map(({ identity }) => identity.key);
  const earlierRows = await readEarlierRows(database, keys, scope, anyCutShort);
  return records.map((one) => {
    const { record, identity } = one;
    const earlier = earlierRows.get(identity.key);
    return earlier === undefined || earlier.last_seen > record.seen_at + database.clockOffsetMs
      ? one
      : { ...one, record: mergeRecords(earlier, record, scope) };
  });
}

/** Whether a server's interview was cut short, so that protocols may not have been sent. */
function isCutShort({ flags }: ServerRecord): boolean {
  return flags.includes(CUT_SHORT);
}

/**
 * Reads the earlier rows of servers. Omits rows that have no column to keep.
 *
 * @param anyCutShort Whether the interview of any of the servers was cut short.
 */
async function readEarlierRows(
  database: Database,
  keys: readonly string[],
  { protocols, allProtocols = PROTOCOLS, follow, verify, protocolsFor }: InterviewScope,
  anyCutShort: boolean,
): Promise<Map<string, StoredRecord>> {
  const areAllQueriedAlike = follow && protocolsFor === undefined && !anyCutShort;
  const unqueried = areAllQueriedAlike
    ? allProtocols.filter(({ name }) => !protocols.includes(name))
    : allProtocols;
  const conditions = unqueried.map(({ name }) => `cast(s.protocols as text) like '%"${name}"%'`);
  if (!verify || anyCutShort) {
    conditions.unshift(
      ...verifiedColumns(allProtocols).map((name) => `${fieldExpression(name)} is not null`),
    );
  }
  if (conditions.length === 0) return new Map();
  const rows = await database.rows(
    `select ${RECORD_COLUMNS} from ${RECORD_TABLES} ` +
      `where ${isInList(database, "s.key", "text")} and (${conditions.join(" or ")})`,
    [listValue(database, keys)],
  );
  return new Map(rows.map((row) => [String(row.key), recordOf(row)]));
}

/** The new record, completed with the columns of the earlier one that the scan did not query. */
function mergeRecords(
  earlier: ServerRecord,
  current: ServerRecord,
  scope: InterviewScope,
): ServerRecord {
  const { allProtocols = PROTOCOLS } = scope;
  const unqueried = earlier.protocols.filter((name) => !wasQueried(name, current, scope));
  const spoken = allProtocols.filter(({ name }) =>
    current.protocols.includes(name) || unqueried.includes(name)
  );
  const protocols = spoken.map(({ name }) => name);
  const isUnverified = !scope.verify || isCutShort(current);
  const columns = [
    ...(unqueried.length > 0 ? PROTOCOL_COLUMNS : []),
    ...(isUnverified ? verifiedColumns(spoken) : []),
  ];
  const kept: Partial<ServerRecord> = Object.fromEntries(
    columns.map((name) => [name, current[name] ?? earlier[name]]),
  );
  if (unqueried.length > 0 && addsVersion(earlier.software, current.software)) {
    kept.software = earlier.software;
    kept.software_confidence = earlier.software_confidence;
  }
  if (unqueried.length === 0) return { ...current, ...kept };
  const keptExtras = unqueried.flatMap((name) => {
    const extra = earlier.extras?.[name];
    return extra === undefined ? [] : [[name, extra]];
  });
  const extras = { ...Object.fromEntries(keptExtras), ...current.extras };
  return { ...current, ...kept, protocol: protocols[0], protocols, extras };
}

/** Whether `earlier` is the name in `current` and a version: some protocols publish the name alone. */
function addsVersion(earlier: string | null, current: string | null): boolean {
  return current !== null && (earlier?.startsWith(`${current} `) ?? false);
}

/**
 * Whether the scan has found out if a server speaks a protocol: the scan queried the server in the
 * protocol, or the server speaks another protocol that suppresses it or that it would suppress.
 */
function wasQueried(
  name: string,
  current: ServerRecord,
  { protocols, allProtocols = PROTOCOLS, follow, protocolsFor }: InterviewScope,
): boolean {
  const replied = current.protocols;
  const protocol = allProtocols.find((candidate) => candidate.name === name);
  const sent = follow && !isCutShort(current) ? protocolsFor?.(current) ?? protocols : replied;
  const spoken = allProtocols.filter((candidate) => replied.includes(candidate.name));
  const isSuppressed = protocol?.suppressedBy !== undefined &&
    spoken.some(({ transport, suppressedBy }) => transport === "udp" && suppressedBy === undefined);
  const wasSentBefore = spoken.some(({ suppressedBy }) => suppressedBy === name);
  return [...sent, ...replied].includes(name) || protocol === undefined || isSuppressed ||
    wasSentBefore;
}
