/**
 * Waits for the transactions of other programs.
 *
 * @module
 */
import type { Database } from "./database.ts";

/**
 * Waits until all transactions that write to the database now have ended. In SQLite there are never
 * two at a time. A transaction of {@linkcode Database.transaction} counts as one that writes from its
 * start. Transactions of other databases of the PostgreSQL server are not waited for.
 *
 * @param pause Awaited between two checks for other transactions.
 * @param attempts Maximum number of checks.
 * @returns `false` when a transaction takes longer.
 */
export async function othersEnded(
  database: Database,
  pause: () => Promise<void>,
  attempts: number,
): Promise<boolean> {
  if (database.engine === "sqlite") return true;
  const [{ newest }] = await database.rows(
    "select pg_snapshot_xmax(pg_current_snapshot())::text as newest",
  );
  for (let attempt = 0; attempt < attempts; attempt++) {
    const [{ ended }] = await database.rows(
      "select tx >= ?::xid8 as ended from event_horizon",
      [newest],
    );
    if (ended === 1) return true;
    await pause();
  }
  return false;
}
