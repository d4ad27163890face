/**
 * Putting records into a database, in bulk.
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
import { type AskedOf, withKeptColumns } from "./kept_columns.ts";

/** Rows of one transaction: while it runs, nobody else has the thread. */
const BATCH = 1000;

const UPDATED = SERVER_COLUMNS.map(([name]) => name).filter((name) =>
  !["id", "first_seen"].includes(name)
);
const EARLIER = "first_seen = case when excluded.first_seen < servers.first_seen " +
  "then excluded.first_seen else servers.first_seen end";

/** A scan's rows: each is newer than what is known, or the same again. */
const UPSERT = insertInto(
  "servers",
  SERVER_COLUMNS,
  `on conflict (id) do update set ${EARLIER}, ${
    UPDATED.map((name) => `${name} = excluded.${name}`).join(", ")
  } where excluded.last_seen >= servers.last_seen`,
);

/** Rows from anywhere: an older one tells of nothing but the past. */
const MERGE = insertInto(
  "servers",
  SERVER_COLUMNS,
  `on conflict (id) do update set ${EARLIER}, ${
    UPDATED.map((name) =>
      `${name} = case when excluded.last_seen > servers.last_seen ` +
      `then excluded.${name} else servers.${name} end`
    ).join(", ")
  } where excluded.last_seen > servers.last_seen or excluded.first_seen < servers.first_seen`,
);

/** Servers of which nothing is known but where they are: they change no row that is there. */
const INTRODUCE = insertInto("servers", SERVER_COLUMNS, "on conflict (id) do nothing");

/** One observation a server, scan and round: a part that is done again adds none. */
export const OBSERVE: BulkStatement = insertInto(
  "observations",
  OBSERVATION_COLUMNS,
  "on conflict (scan_id, server_id, round) do nothing",
);

/**
 * Writes servers that answered in a scan, and that they did.
 *
 * @param asked What the scan asks: columns of all else stay as they were. Default: everything.
 */
export async function writeAnswers(
  database: Database,
  records: readonly ServerRecord[],
  asked?: AskedOf,
): Promise<void> {
  for (let at = 0; at < records.length; at += BATCH) {
    const batch = records.slice(at, at + BATCH);
    const newest = [...new Map(batch.map((record) => [serverId(record), record])).values()];
    await database.transaction(async () => {
      const rows = asked === undefined ? newest : await withKeptColumns(database, newest, asked);
      const servers = rows.map(answeredValues);
      await database.bulk(UPSERT, servers);
      await database.bulk(
        OBSERVE,
        rows.map((row, i) => observationValues(row, serverId(row), servers[i])),
      );
      await writeAttached(database, batch);
    });
  }
}

/** The values of a server that has just answered. */
function answeredValues(record: ServerRecord): Value[] {
  const { seen_at: seen } = record;
  const state = { online: true, failures: 0, first_seen: seen, last_seen: seen };
  return serverValues(record, serverId(record), state);
}

/**
 * Writes servers that were read from somewhere.
 *
 * @returns How many of them were new or newer than what was known.
 */
export async function writeKnown(
  database: Database,
  records: readonly StoredRecord[],
): Promise<number> {
  const answered = newestOf(records.filter(({ protocol }) => protocol !== ""));
  const bare = newestOf(records.filter(({ protocol }) => protocol === ""));
  const observed = answered.filter(({ record, id }) => record.scan_id !== null && id !== "");
  return await database.transaction(async () => {
    const changed = await database.bulk(MERGE, answered.map(({ values }) => values));
    const added = await database.bulk(INTRODUCE, bare.map(({ values }) => values));
    await database.bulk(
      OBSERVE,
      observed.map(({ record, id, values }) => observationValues(record, id, values)),
    );
    return changed + added;
  });
}

/** One row a server: PostgreSQL takes none twice in one statement. */
function newestOf(
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
