/**
 * Removes old rows of tables that have no index by time: page by page, in the order of
 * `servers.id`.
 *
 * @module
 */
import { packMembers } from "./members/members.ts";
import { DAY_MS } from "../core/quantities.ts";
import { type Database, isInList, listValue, timeParameter } from "./database/database.ts";
import { countPruned } from "./events/webhook_position.ts";

/** Servers per transaction. */
const PAGE = 5000;

export interface Removing {
  /** Awaited between two transactions, so that other work can run. */
  readonly between: () => Promise<void>;
  /** Cancels the rest; committed deletions remain. */
  readonly signal?: AbortSignal;
}

/**
 * Removes the raw bytes of replies that arrived before a time, Unix milliseconds.
 *
 * @returns The number of removed rows.
 */
export async function removeReplies(
  database: Database,
  before: number,
  removing: Removing,
): Promise<number> {
  const isOld = `seen_at < ${timeParameter(database)}`;
  return await removeByServer(database, "replies", isOld, before, removing);
}

/**
 * Removes the names of players that servers published before a time, Unix milliseconds.
 *
 * @returns The number of servers whose names were removed.
 */
export async function removePlayers(
  database: Database,
  before: number,
  removing: Removing,
): Promise<number> {
  const isOld = `seen_at < ${timeParameter(database)}`;
  return await removeByServer(database, "server_players", isOld, before, removing);
}

async function removeByServer(
  database: Database,
  table: string,
  isOld: string,
  before: number,
  { between, signal }: Removing,
): Promise<number> {
  const [{ last }] = await database.rows(`select max(server) as last from ${table}`);
  let removed = 0;
  for (let from = 0; from < Number(last) && !signal?.aborted; from += PAGE) {
    removed += await database.transaction(() =>
      database.run(
        `delete from ${table} where server > ? and server <= ? and ${isOld}`,
        [from, from + PAGE, before],
      )
    );
    await between();
  }
  return removed;
}

/** After this time without a write, an unfinished scan counts as abandoned, milliseconds. */
const GIVEN_UP_MS = 30 * DAY_MS;

/**
 * Packs what abandoned scans saw of servers: those that are unfinished and have written nothing for 30
 * days. If such a scan is resumed, its servers may get a second observation.
 *
 * @param now Unix milliseconds of the database's clock.
 * @returns The number of packed rows.
 */
export async function packAbandonedScans(
  database: Database,
  now: number,
  { between, signal }: Removing,
): Promise<number> {
  const scans = await database.rows(
    "select s.id from scans s where coalesce(s.heartbeat_at, s.finished_at, s.started_at) < " +
      `${timeParameter(database)} and exists (select 1 from scan_servers e where e.scan = s.id)`,
    [now - GIVEN_UP_MS],
  );
  let packed = 0;
  for (const { id } of scans) {
    packed += await packMembers(database, Number(id), between, signal);
  }
  return packed;
}

/** Events per transaction. */
const EVENTS_PAGE = 2000;

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
  } order by at limit ${EVENTS_PAGE}`;
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
    if (page.length < EVENTS_PAGE) return removed;
  }
}
