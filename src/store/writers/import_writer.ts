/**
 * Writes the records of files and of other databases to a database, in bulk.
 *
 * @module
 */
import type { Protocol } from "../../protocols/protocol.ts";
import type { Database } from "../database/database.ts";
import { BACK_AFTER_MS, missingMs } from "../events/detect.ts";
import type { ChangeCounts } from "./scan_events.ts";
import { withoutForgotten } from "../forget/tombstones.ts";
import { type Identified, identified } from "../rows/identity.ts";
import { readKnownServers } from "../rows/known_servers.ts";
import { observeReplies } from "./observation_rows.ts";
import { addTags, writeNotes } from "../rows/server_tags.ts";
import { scanNumbers } from "../rows/scan_numbers.ts";
import type { StoredRecord } from "../rows/stored_record.ts";
import {
  type ServerWrite,
  type WriteRules,
  writeServers,
  type WrittenServer,
} from "./write_servers.ts";

/**
 * Writes imported records: of files, or of another database. A record that is older than the row in
 * the database changes only `first_seen`, and names of players replace only older ones. An endpoint that
 * never replied changes no known server.
 *
 * @param allProtocols Every protocol of the program, in order of rank.
 * @param tags Tags that all servers of the records get, besides those of their records. Default: none.
 * @param replacesNotes Whether notes of records replace those in the database. Default: only servers
 * without notes get them.
 * @returns How many rows were inserted or updated, and how many servers are new, back or lost.
 */
export async function writeImportedRecords(
  database: Database,
  records: readonly StoredRecord[],
  allProtocols: readonly Protocol[],
  tags: readonly string[] = [],
  replacesNotes = false,
): Promise<ImportCounts> {
  const newest = [
    newestPerServer(records.filter(({ protocol }) => protocol !== "")),
    newestPerServer(records.filter(({ protocol }) => protocol === "")),
  ] as const;
  return await database.transaction(async (attempt) => {
    const [replied, endpoints] = await withoutForgotten(database, newest);
    const scans = await scanNumbers(database, replied.map(({ record }) => record.scan_id));
    const rules = { attempt, allProtocols, tags, replacesNotes };
    const counts = await importServers(database, replied, scans, { ...rules, onlyNew: false });
    const others = await importServers(database, endpoints, new Map(), { ...rules, onlyNew: true });
    return { ...counts, changed: counts.changed + others.changed };
  });
}

/** What an import has changed. */
export interface ImportCounts extends ChangeCounts {
  /** Number of rows that were inserted or updated. */
  readonly changed: number;
}

/** How the records of a transaction are imported. */
interface ImportRules extends Pick<WriteRules, "allProtocols" | "tags"> {
  /** Whether known servers stay unchanged. */
  readonly onlyNew: boolean;
  readonly replacesNotes: boolean;
  /** The attempt of the transaction. */
  readonly attempt: number;
}

async function importServers(
  database: Database,
  records: readonly Identified<StoredRecord>[],
  scans: ReadonlyMap<string | null, number>,
  { onlyNew, attempt, allProtocols, tags = [], replacesNotes }: ImportRules,
): Promise<ImportCounts> {
  const known = await readKnownServers(database, records.map(({ identity }) => identity.key), {
    attempt,
  });
  const unknown = onlyNew ? records.filter(({ identity }) => !known.has(identity.key)) : records;
  const writes = unknown.map(({ record, identity }): ServerWrite => ({
    identity,
    record,
    scan: scans.get(record.scan_id) ?? null,
    online: record.online,
    missedScans: record.missed_scans,
    firstSeen: record.first_seen,
    probedAt: record.probed_at,
    repliedAt: record.protocol === "" ? null : record.seen_at,
    playersAt: record.players_at ?? undefined,
  }));
  const written = await writeServers(database, writes, known, {
    replacesSameTime: false,
    onlyNew,
    reportsNew: false,
    reportsPlayers: false,
    allProtocols,
  });
  const ids = new Map([...known].map(([key, { id }]) => [key, id]));
  for (const { id, write: { identity } } of written) ids.set(identity.key, id);
  await addTags(
    database,
    records.map(({ identity, record }) => {
      return { id: ids.get(identity.key)!, tags: [...new Set([...tags, ...record.tags ?? []])] };
    }),
  );
  const noted = records.flatMap(({ identity, record: { notes } }) =>
    notes ? [{ id: ids.get(identity.key)!, notes }] : []
  );
  await writeNotes(database, noted, replacesNotes);
  await observeReplies(database, written);
  const isChanged = ({ wins, before, write }: WrittenServer) =>
    wins || write.firstSeen < before!.firstSeen;
  return { changed: written.filter(isChanged).length, ...countChanges(written) };
}

/** Counts servers as scans do, by the records that replaced their rows. */
function countChanges(written: readonly WrittenServer[]): ChangeCounts {
  const counts = { new: 0, back: 0, lost: 0 };
  for (const { wins, before, write: { online, missedScans, probedAt: at } } of written) {
    if (!wins) continue;
    const isMissed = !online || missedScans > 0;
    const missing = missingMs({ before, at });
    if ((before?.state?.repliedAt ?? null) === null) counts.new++;
    else if (isMissed && missing === undefined) counts.lost++;
    else if (!isMissed && missing !== undefined && missing >= BACK_AFTER_MS) counts.back++;
  }
  return counts;
}

function newestPerServer(records: readonly StoredRecord[]): Identified<StoredRecord>[] {
  const newest = new Map<string, Identified<StoredRecord>>();
  for (const one of identified(records)) {
    const other = newest.get(one.identity.key);
    if (other === undefined || other.record.probed_at <= one.record.probed_at) {
      newest.set(one.identity.key, one);
    }
  }
  return [...newest.values()];
}
