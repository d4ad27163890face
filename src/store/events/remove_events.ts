/**
 * Removes old events from a database.
 *
 * @module
 */
import { type Database, isInList, listValue, timeParameter } from "../database/database.ts";
import { countPruned } from "./webhook_position.ts";

/** Events per transaction. */
const PAGE = 2000;

/**
 * Removes the events before a time. For each webhook, adds those that it has not sent to `pruned`.
 *
 * @param before Unix milliseconds of the database's clock.
 * @param between Awaited between two transactions, so that other work can run.
 * @param signal Cancels the rest; committed deletions remain.
 * @returns The number of removed events.
 */
export async function removeEvents(
  database: Database,
  before: number,
  between: () => Promise<void>,
  signal?: AbortSignal,
): Promise<number> {
  const old = `select id from events where at < ${
    timeParameter(database)
  } order by at limit ${PAGE}`;
  const isOld = isInList(database, "id", "uuid");
  for (let removed = 0;; await between()) {
    if (signal?.aborted) return removed;
    const page = await database.rows(old, [before]);
    if (page.length === 0) return removed;
    const ids = listValue(database, page.map(({ id }) => String(id)));
    removed += await database.transaction(async () => {
      await countPruned(database, ids);
      return await database.run(`delete from events where ${isOld}`, [ids]);
    });
    if (page.length < PAGE) return removed;
  }
}
