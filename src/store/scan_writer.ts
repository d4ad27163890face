/**
 * Writes the records of a scan to a database, in bulk.
 *
 * @module
 */
import { serverId, type ServerRecord } from "../core/record.ts";
import { writeAttached } from "./attachments.ts";
import type { Database } from "./database/database.ts";
import { type InterviewScope, withKeptColumns } from "./kept_columns.ts";
import {
  byAddress,
  type Identified,
  identified,
  identityOf,
  type ServerIdentity,
} from "./rows/identity.ts";
import { type KnownServer, readKnownServers, repliedServers } from "./rows/known_servers.ts";
import { observeReplies, writeScanServers } from "./rows/observation_rows.ts";
import { scanNumbers } from "./rows/scan_numbers.ts";
import { type ServerWrite, writeServers, type WrittenServer } from "./rows/write_servers.ts";

/** Records per transaction. SQLite blocks the thread during the statements of one transaction. */
const BATCH = 1000;

/**
 * Writes the records of a scan. A server's first record in a scan has an observation; so has a further
 * one that differs from what the database knew.
 *
 * @param scope What the scan queries: columns that it does not query keep their values. Default:
 * all protocols are queried.
 */
export async function writeScanRecords(
  database: Database,
  records: readonly ServerRecord[],
  scope?: InterviewScope,
): Promise<void> {
  for (let at = 0; at < records.length; at += BATCH) {
    const batch = records.slice(at, at + BATCH);
    await database.transaction(() => writeScanBatch(database, batch, scope));
  }
}

async function writeScanBatch(
  database: Database,
  records: readonly ServerRecord[],
  scope: InterviewScope | undefined,
): Promise<void> {
  const scans = await scanNumbers(database, records.map(({ scan_id: id }) => id));
  const unique = onePerServer(identified(records));
  const known = await readKnownServers(database, unique.map(({ identity }) => identity.key));
  const replied = new Map<number, ReadonlySet<number>>();
  const knownIds = [...known.values()].map(({ id }) => id);
  for (const scan of scans.values()) {
    replied.set(scan, await repliedServers(database, scan, knownIds));
  }
  const hasReplied = (id: number, { scan_id }: ServerRecord) =>
    replied.get(scans.get(scan_id) ?? -1)?.has(id) ?? false;
  const placed = await separated(database, unique, known, hasReplied);
  const complete = scope === undefined ? placed : await withKeptColumns(database, placed, scope);
  const writes = complete.map(({ record, identity }): ServerWrite => {
    const at = record.seen_at + database.clockOffsetMs;
    const scan = scans.get(record.scan_id) ?? null;
    const state = { online: true, failures: 0, firstSeen: at, probedAt: at, repliedAt: at };
    return { identity, record, scan, ...state };
  });
  const written = await writeServers(database, writes, known, { replacesSameTime: true });
  await observeReplies(
    database,
    written.filter((one) => !hasReplied(one.id, one.write.record) || isChanged(one)),
  );
  for (const scan of scans.values()) {
    const ofScan = written.filter(({ write }) => write.scan === scan);
    await writeScanServers(database, scan, ofScan.map(({ id }) => id));
  }
  await writeAttached(database, attachedTo(written, records));
}

/**
 * At most one record per server, the last one. A name stands for one server in a scan: where it led to
 * several endpoints, the others are servers without a name.
 */
function onePerServer(records: readonly Identified[]): Identified[] {
  const servers = new Map<string, Identified>();
  for (const one of records) {
    const first = servers.get(one.identity.key);
    const isOther = first !== undefined && !isSamePlace(first.identity, one.identity);
    const identity = isOther ? byAddress(one.identity) : one.identity;
    servers.set(identity.key, { record: one.record, identity });
  }
  return [...servers.values()];
}

function isSamePlace(
  a: Pick<ServerIdentity, "address" | "port">,
  b: Pick<ServerIdentity, "address" | "port">,
): boolean {
  return a.address === b.address && a.port === b.port;
}

/**
 * Takes their names from those records whose name has already stood for another endpoint in this scan.
 * Adds what the database knows about them to `known`.
 */
async function separated(
  database: Database,
  records: readonly Identified[],
  known: Map<string, KnownServer>,
  hasReplied: (id: number, record: ServerRecord) => boolean,
): Promise<readonly Identified[]> {
  const isTaken = ({ identity, record }: Identified) => {
    const before = known.get(identity.key);
    return before !== undefined && identity.hostname !== null &&
      !isSamePlace(before, identity) && hasReplied(before.id, record);
  };
  if (!records.some(isTaken)) return records;
  const renamed = records.map((one) =>
    isTaken(one) ? { ...one, identity: byAddress(one.identity) } : one
  );
  const keys = renamed.map(({ identity }) => identity.key);
  for (const [key, server] of await readKnownServers(database, keys)) known.set(key, server);
  return onePerServer(renamed);
}

/** Whether a reply differs from what the database knew: in players, in content, or in being online. */
function isChanged({ before, values }: WrittenServer): boolean {
  return before?.state === undefined || !before.state.online || before.content !== values.content ||
    before.state.playersOnline !== values.playersOnline ||
    before.state.playersMax !== values.playersMax;
}

/** The records of a batch with the ids of their servers. */
function attachedTo(
  written: readonly WrittenServer[],
  records: readonly ServerRecord[],
): { id: number; record: ServerRecord }[] {
  const ids = new Map(
    written.map(({ id, write: { identity } }) => [serverId(identityHost(identity)), id]),
  );
  return records.flatMap((record) => {
    const identity = identityOf(record);
    const id = identity && ids.get(serverId(identityHost(identity)));
    return id === undefined ? [] : [{ id, record }];
  });
}

function identityHost({ address, port }: ServerIdentity): { host: string; port: number } {
  return { host: address, port };
}
