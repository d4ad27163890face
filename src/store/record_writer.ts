/**
 * Writes the records of scans and imports to a database, in bulk.
 *
 * @module
 */
import { serverId, type ServerRecord } from "../core/record.ts";
import { writeAttached } from "./attachments.ts";
import {
  canonicalId,
  OBSERVATION_COLUMNS,
  observationValues,
  SERVER_COLUMNS,
  serverValues,
  type StoredRecord,
} from "./server_columns.ts";
import { type BulkStatement, type Database, insertInto, type Value } from "./database/database.ts";
import { type InterviewScope, withKeptColumns } from "./kept_columns.ts";

/** Records per transaction. SQLite blocks the thread during the statements of one transaction. */
const BATCH = 1000;

const UPDATED_COLUMNS = SERVER_COLUMNS.map(([name]) => name).filter((name) =>
  !["id", "first_seen"].includes(name)
);
const KEEP_EARLIER_FIRST_SEEN = "first_seen = case when excluded.first_seen < servers.first_seen " +
  "then excluded.first_seen else servers.first_seen end";

/** For records of a scan, which replace rows that are not newer. */
const UPSERT = insertInto(
  "servers",
  SERVER_COLUMNS,
  `on conflict (id) do update set ${KEEP_EARLIER_FIRST_SEEN}, ${
    UPDATED_COLUMNS.map((name) => `${name} = excluded.${name}`).join(", ")
  } where excluded.last_seen >= servers.last_seen`,
);

/** For imported records, of any age. An older one changes `first_seen` only. */
const MERGE = insertInto(
  "servers",
  SERVER_COLUMNS,
  `on conflict (id) do update set ${KEEP_EARLIER_FIRST_SEEN}, ${
    UPDATED_COLUMNS.map((name) =>
      `${name} = case when excluded.last_seen > servers.last_seen ` +
      `then excluded.${name} else servers.${name} end`
    ).join(", ")
  } where excluded.last_seen > servers.last_seen or excluded.first_seen < servers.first_seen`,
);

/** For imported endpoints without a reply: these change no existing row. */
const INSERT_ENDPOINT = insertInto("servers", SERVER_COLUMNS, "on conflict (id) do nothing");

/** Inserts observations. The key is server, scan and round, so writing one again adds no row. */
export const INSERT_OBSERVATION: BulkStatement = insertInto(
  "observations",
  OBSERVATION_COLUMNS,
  "on conflict (scan_id, server_id, round) do nothing",
);

/**
 * Writes the records of a scan, with an observation each.
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
    const newest = [...new Map(batch.map((record) => [serverId(record), record])).values()];
    await database.transaction(async () => {
      const rows = scope === undefined ? newest : await withKeptColumns(database, newest, scope);
      const servers = rows.map(onlineValues);
      await database.bulk(UPSERT, servers);
      await database.bulk(
        INSERT_OBSERVATION,
        rows.map((row, i) => observationValues(row, serverId(row), servers[i])),
      );
      await writeAttached(database, batch);
    });
  }
}

/** The values of {@linkcode SERVER_COLUMNS} for a server that has just replied. */
function onlineValues(record: ServerRecord): Value[] {
  const { seen_at: seen } = record;
  const state = { online: true, failures: 0, first_seen: seen, last_seen: seen };
  return serverValues(record, serverId(record), state);
}

/**
 * Writes imported records: of files, or of another database.
 *
 * @returns The number of rows that were inserted or updated.
 */
export async function writeImportedRecords(
  database: Database,
  records: readonly StoredRecord[],
): Promise<number> {
  const replied = newestPerServer(records.filter(({ protocol }) => protocol !== ""));
  const endpoints = newestPerServer(records.filter(({ protocol }) => protocol === ""));
  const observed = replied.filter(({ record, id }) => record.scan_id !== null && id !== "");
  return await database.transaction(async () => {
    const changed = await database.bulk(MERGE, replied.map(({ values }) => values));
    const added = await database.bulk(INSERT_ENDPOINT, endpoints.map(({ values }) => values));
    await database.bulk(
      INSERT_OBSERVATION,
      observed.map(({ record, id, values }) => observationValues(record, id, values)),
    );
    return changed + added;
  });
}

/** The newest record of each server: PostgreSQL refuses to update a row twice in one statement. */
function newestPerServer(
  records: readonly StoredRecord[],
): { record: StoredRecord; id: string; values: Value[] }[] {
  const newest = new Map<string, StoredRecord>();
  for (const record of records) {
    const id = canonicalId(record.host, record.port);
    if (id === undefined) continue;
    const other = newest.get(id);
    if (other === undefined || other.last_seen <= record.last_seen) newest.set(id, record);
  }
  return [...newest].map(([id, record]) => ({
    record,
    id,
    values: serverValues(record, id, record),
  }));
}
