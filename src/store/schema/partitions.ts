/**
 * The partitions of the table `observations` in PostgreSQL: one per month (UTC), if that was chosen
 * when the tables were made.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Database } from "../database/database.ts";

/** Number of months for which partitions exist in advance, including the current one. */
const MONTHS_AHEAD = 12;

/** The key of the transaction lock under which partitions are made. */
const LOCK = "select pg_advisory_xact_lock(7022642160)";

/**
 * The maximum wait for a lock. While a statement waits for a lock that excludes readers, all later
 * statements of other programs wait behind it.
 */
const SHORT_LOCKS = "set local lock_timeout = '200ms'";
/** Number of transactions that try to get their locks. */
const LOCK_ATTEMPTS = 4;
/** SQLSTATE of a lock that was not granted in time. */
const LOCK_NOT_AVAILABLE = "55P03";

/** The partition for rows of all other months. */
const OTHER = "observations_other";

/** The statements that make the tables, with a table `observations` that has partitions. */
export function withPartitions(tables: string): string {
  return tables.replace(
    /^(create table observations \([^]*?\n\));/m,
    `$1 partition by range (at);\n\ncreate table ${OTHER} partition of observations default;`,
  );
}

/** A month: its partition, and its start and end as text of PostgreSQL. */
interface Month {
  readonly partition: string;
  readonly start: string;
  readonly end: string;
}

/** The month that is some months after that of a time, Unix milliseconds. */
function monthOf(at: number, later: number): Month {
  const date = new Date(at);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth() + later];
  const [start, end] = [month, month + 1].map((one) => new Date(Date.UTC(year, one)).toISOString());
  return { partition: `observations_${start.slice(0, 7).replace("-", "_")}`, start, end };
}

/** Whether observations are partitioned, and whether this role owns the table. */
async function readForm(database: Database): Promise<{ isPartitioned: boolean; isOwner: boolean }> {
  if (database.engine === "sqlite") return { isPartitioned: false, isOwner: true };
  const [row] = await database.rows(
    "select relkind = 'p' as is_partitioned, pg_has_role(relowner, 'usage') as is_owner " +
      "from pg_class where oid = to_regclass('observations')",
  );
  return { isPartitioned: row?.is_partitioned === 1, isOwner: row?.is_owner === 1 };
}

/**
 * Checks that the table `observations` of a database has partitions.
 *
 * @throws InputError when it has none.
 */
export async function checkPartitions(database: Database): Promise<void> {
  if ((await readForm(database)).isPartitioned) return;
  throw new InputError(
    `Cannot partition ${database.name} by month: its tables exist without partitions; copy it into ` +
      "an empty database with --partition-by-month",
  );
}

/**
 * Makes the partitions of this month and the next ones, if observations are partitioned and this
 * role owns the table. Without them, rows go to the partition of other months. If transactions of
 * other programs keep the table locked, a later call makes the partitions.
 *
 * @param now Unix milliseconds.
 */
export async function addMonths(database: Database, now: number): Promise<void> {
  const { isPartitioned, isOwner } = await readForm(database);
  if (!isPartitioned || !isOwner) return;
  const months = Array.from({ length: MONTHS_AHEAD }, (_, i) => monthOf(now, i));
  if ((await missingOf(database, months)).length === 0) return;
  await withShortLocks(database, async () => {
    await database.script(LOCK);
    for (const month of await missingOf(database, months)) await addMonth(database, month);
  });
}

/**
 * Runs `work` in a transaction that waits only a short time for each lock.
 *
 * @returns `false`: other transactions kept their locks, and `work` was rolled back.
 */
async function withShortLocks(database: Database, work: () => Promise<void>): Promise<boolean> {
  for (let attempt = 1; attempt <= LOCK_ATTEMPTS; attempt++) {
    try {
      await database.transaction(async () => {
        await database.script(SHORT_LOCKS);
        await work();
      });
      return true;
    } catch (error) {
      const { code } = ((error as Error).cause ?? {}) as { code?: string };
      if (code !== LOCK_NOT_AVAILABLE) throw error;
    }
  }
  return false;
}

async function missingOf(database: Database, months: readonly Month[]): Promise<Month[]> {
  const names = new Set((await partitionsOf(database)).map(({ partition }) => partition));
  return months.filter(({ partition }) => !names.has(partition));
}

/** The partitions of months, oldest first, and whether they have been compacted. */
async function partitionsOf(
  database: Database,
): Promise<{ partition: string; isCompact: boolean }[]> {
  const rows = await database.rows(
    "select c.relname as partition, obj_description(c.oid, 'pg_class') as note from pg_inherits i " +
      "join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass('observations') " +
      `and c.relname <> '${OTHER}' order by 1`,
  );
  return rows.map(({ partition, note }) => ({
    partition: String(partition),
    isCompact: note === COMPACT,
  }));
}

/**
 * Makes a partition, with the rows of its month. Writers wait meanwhile, because their rows would
 * go to another partition.
 */
async function addMonth(database: Database, { partition, start, end }: Month): Promise<void> {
  await database.script(
    "lock table observations in share row exclusive mode; " +
      `create table ${partition} (like observations including all); ` +
      `with moved as (delete from ${OTHER} where at >= '${start}' and at < '${end}' returning *) ` +
      `insert into ${partition} select * from moved; ` +
      `alter table observations attach partition ${partition} for values from ('${start}') to ('${end}')`,
  );
}

/** The comment of a partition that has been compacted. */
const COMPACT = "compacted with one observation per server and day";

/**
 * Rewrites the partitions of whole months that have been downsampled, which frees the space of
 * their deleted rows. Other programs that use such a month wait meanwhile. They see the same rows
 * before and after, also in a transaction that began before. A month that other transactions use is
 * left to a later call. Does nothing if this role does not own the table.
 *
 * @param daily The start of the first month or day that has not been downsampled to one observation
 * per server and day, Unix milliseconds.
 * @param between Awaited between two transactions, so that other work can run.
 * @returns For each partition that was left to a later call, why.
 */
export async function compactMonths(
  database: Database,
  daily: number,
  between: () => Promise<void>,
  signal?: AbortSignal,
): Promise<string[]> {
  const { isPartitioned, isOwner } = await readForm(database);
  if (!isPartitioned || !isOwner) return [];
  const deferred: string[] = [];
  for (const { partition, isCompact } of await partitionsOf(database)) {
    if (signal?.aborted) break;
    const [, year, month] = /_(\d{4})_(\d\d)$/.exec(partition)!;
    const { end } = monthOf(Date.UTC(Number(year), Number(month) - 1), 0);
    if (isCompact || Date.parse(end) > daily) continue;
    if (!await withShortLocks(database, () => compact(database, partition))) {
      deferred.push(`${partition} is used by ${await usersOf(database, partition)}`);
    }
    await between();
  }
  return deferred;
}

/**
 * Rewrites a partition. Deleted rows that an old snapshot of another transaction contains are
 * rewritten too: then the partition is not marked, and a later call rewrites it again.
 */
async function compact(database: Database, partition: string): Promise<void> {
  const [{ key }] = await database.rows(
    "select indexrelid::regclass::text as key from pg_index where indisprimary and " +
      `indrelid = '${partition}'::regclass`,
  );
  await database.script(`set local enable_seqscan = on; cluster ${partition} using ${key}`);
  // The number of rows of a new index includes deleted ones, that of a table does not.
  const [{ contains_deleted }] = await database.rows(
    "select i.reltuples > t.reltuples as contains_deleted from pg_class i, pg_class t " +
      `where i.oid = '${key}'::regclass and t.oid = '${partition}'::regclass`,
  );
  if (contains_deleted !== 1) {
    await database.script(`comment on table ${partition} is '${COMPACT}'`);
  }
}

/** The processes that hold locks of a partition, for a message. */
async function usersOf(database: Database, partition: string): Promise<string> {
  const holders = await database.rows(
    "select distinct pid from pg_locks where granted and relation = to_regclass(?) order by pid",
    [partition],
  );
  const pids = holders.filter(({ pid }) => pid !== null).map(({ pid }) => `PID ${pid}`);
  return pids.join(", ") || "another transaction";
}
