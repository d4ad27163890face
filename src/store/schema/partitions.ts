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
 * role owns the table. Without them, rows go to the partition of other months.
 *
 * @param now Unix milliseconds.
 */
export async function addMonths(database: Database, now: number): Promise<void> {
  const { isPartitioned, isOwner } = await readForm(database);
  if (!isPartitioned || !isOwner) return;
  const months = Array.from({ length: MONTHS_AHEAD }, (_, i) => monthOf(now, i));
  if ((await missingOf(database, months)).length === 0) return;
  await database.transaction(async () => {
    await database.script(LOCK);
    for (const month of await missingOf(database, months)) await addMonth(database, month);
  });
}

async function missingOf(database: Database, months: readonly Month[]): Promise<Month[]> {
  const names = new Set((await partitionsOf(database)).map(({ partition }) => partition));
  return months.filter(({ partition }) => !names.has(partition));
}

/** The partitions of months, oldest first, and whether they have one row per server and day. */
async function partitionsOf(
  database: Database,
): Promise<{ partition: string; isDaily: boolean }[]> {
  const rows = await database.rows(
    "select c.relname as partition, obj_description(c.oid, 'pg_class') as note from pg_inherits i " +
      "join pg_class c on c.oid = i.inhrelid where i.inhparent = to_regclass('observations') " +
      `and c.relname <> '${OTHER}' order by 1`,
  );
  return rows.map(({ partition, note }) => ({
    partition: String(partition),
    isDaily: note === DAILY,
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

/** The comment of a partition that has been replaced. */
const DAILY = "one observation per server and day";

/**
 * Replaces partitions of whole months by ones with the last observation of each server and day, and
 * drops them: unlike deleted rows, that frees their space at once. Writes of other programs to a
 * month wait while it is replaced. Does nothing if this role does not own the table.
 *
 * @param daily The start of the first month or day that is not replaced, Unix milliseconds.
 * @param between Awaited between two transactions, so that other work can run.
 * @returns The number of removed observations.
 */
export async function replaceMonths(
  database: Database,
  daily: number,
  between: () => Promise<void>,
  signal?: AbortSignal,
): Promise<number> {
  const { isPartitioned, isOwner } = await readForm(database);
  if (!isPartitioned || !isOwner) return 0;
  let removed = 0;
  for (const { partition, isDaily } of await partitionsOf(database)) {
    if (signal?.aborted) break;
    const [, year, month] = /_(\d{4})_(\d\d)$/.exec(partition)!;
    const found = monthOf(Date.UTC(Number(year), Number(month) - 1), 0);
    if (isDaily || Date.parse(found.end) > daily) continue;
    removed += await database.transaction(() => replaceMonth(database, found));
    await between();
  }
  return removed;
}

async function replaceMonth(
  database: Database,
  { partition, start, end }: Month,
): Promise<number> {
  await database.script(
    `${LOCK}; set local enable_seqscan = on; lock table ${partition} in share mode; ` +
      `create table ${partition}_daily (like observations including all)`,
  );
  const kept = await database.run(
    `insert into ${partition}_daily select distinct on (server, date_trunc('day', at, 'UTC')) * ` +
      `from ${partition} order by server, date_trunc('day', at, 'UTC'), at desc, scan desc`,
  );
  const [{ count }] = await database.rows(`select count(*) as count from ${partition}`);
  await database.script(
    `alter table observations detach partition ${partition}; drop table ${partition}; ` +
      `alter table ${partition}_daily rename to ${partition}; ` +
      `comment on table ${partition} is '${DAILY}'; ` +
      `alter table observations attach partition ${partition} for values from ('${start}') to ('${end}')`,
  );
  return Number(count) - kept;
}
