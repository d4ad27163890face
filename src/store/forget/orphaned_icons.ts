/**
 * Removes icons that no server has.
 *
 * @module
 */
import { type Database, isInList, listValue } from "../database/database.ts";

/** Maximum number of icons per transaction. */
const PAGE = 10_000;

/** SQL of a condition: no server has an icon of `favicons i`. */
function isOrphan({ engine }: Database): string {
  return engine === "postgres"
    ? "not exists (select 1 from servers s where s.favicon_hash = i.hash)"
    // With `not in`, SQLite reads the servers once; with `not exists`, once per icon.
    : "i.hash not in (select favicon_hash from servers where favicon_hash is not null)";
}

/**
 * Removes the icons of a list that no server has. The caller has begun a transaction.
 *
 * @returns The number of removed icons.
 */
async function removeOrphanedIcons(
  database: Database,
  hashes: readonly string[],
): Promise<number> {
  if (database.engine === "postgres") {
    // A writer stores a server before its icon. The lock waits for writers that have stored an icon,
    // and makes the others wait. Without the lock, this statement would not see their servers.
    await database.script(
      "set local enable_hashjoin = on; lock table favicons in share row exclusive mode",
    );
  }
  return await database.run(
    `delete from favicons as i where ${isInList(database, "i.hash", "text")} and ${
      isOrphan(database)
    }`,
    [listValue(database, hashes)],
  );
}

/**
 * Removes all icons that no server has.
 *
 * @param between Awaited between two transactions.
 * @returns The number of removed icons.
 */
export async function removeAllOrphanedIcons(
  database: Database,
  between: () => Promise<void>,
  signal?: AbortSignal,
): Promise<number> {
  let removed = 0;
  let last = "";
  while (!signal?.aborted) {
    const page = await database.rows(
      `select i.hash from favicons i where i.hash > ? and ${isOrphan(database)} ` +
        `order by i.hash limit ${PAGE}`,
      [last],
    );
    if (page.length === 0) break;
    const hashes = page.map(({ hash }) => String(hash));
    removed += await database.transaction(() => removeOrphanedIcons(database, hashes));
    last = hashes.at(-1)!;
    await between();
  }
  return removed;
}
