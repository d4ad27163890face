/**
 * Judges the numbers of players of all servers by the rules of player_rules.ts, and stores which rules
 * flag a server, and why.
 *
 * @module
 */
import type { FlagReasons } from "../../core/flags.ts";
import { DAY_MS } from "../../core/quantities.ts";
import {
  type Database,
  type Row,
  timeParameter,
  updateOf,
  type Value,
} from "../database/database.ts";
import { readJson, readTexts } from "../rows/json_cells.ts";
import { changeFlags } from "../rows/server_flags.ts";
import { isServerIn } from "../uptime/rollup_hours.ts";
import {
  type CountedReply,
  FEWEST,
  flaggedBy,
  NEWEST,
  type PublishedNames,
  RECENT_MS,
  type RecentCounts,
} from "./player_rules.ts";

/** Servers per transaction. */
const PAGE = 500;
/** Age of the oldest reply that is read, milliseconds. */
const OLDEST_MS = 30 * DAY_MS;

/** Options of {@linkcode judgePlayers}. */
export interface JudgeOptions {
  /** Awaited between two transactions, so that other work can run. */
  readonly between: () => Promise<void>;
  /** Cancels the rest; the next call begins anew. */
  readonly signal?: AbortSignal;
  /** Does nothing if the numbers were judged within this time, milliseconds. Default: 0. */
  readonly everyMs?: number;
}

const BY_ID = [["of_id", "integer"]] as const;
const UPDATE_VALUES = updateOf(
  "servers",
  [["player_flags", "jsonb"]],
  BY_ID,
  "old.id = new.of_id",
);
/** Readers of changes see which flags a server has. */
const UPDATE_FLAGS = updateOf(
  "servers",
  [["player_flags", "jsonb"], ["changed_at", "timestamptz"]],
  BY_ID,
  "old.id = new.of_id",
);

/** Judges the numbers of players of all servers, by the replies that the database has. */
export async function judgePlayers(
  database: Database,
  { between, signal, everyMs = 0 }: JudgeOptions,
): Promise<void> {
  const now = database.now();
  const [{ judged_at: last }] = await database.rows("select judged_at from rollup_state");
  if (Number(last) <= now && now - Number(last) < everyMs) return;
  for (let first = 0; !signal?.aborted;) {
    const rows = await database.rows(
      `select id from servers where id > ? order by id limit ${PAGE}`,
      [first],
    );
    if (rows.length > 0) {
      const servers = rows.map(({ id }) => Number(id));
      await database.transaction(() => judgePage(database, servers, now));
      first = servers.at(-1)!;
      await between();
    }
    if (rows.length < PAGE) {
      await database.run(`update rollup_state set judged_at = ${timeParameter(database)}`, [now]);
      return;
    }
  }
}

async function judgePage(
  database: Database,
  servers: readonly number[],
  now: number,
): Promise<void> {
  const before = await storedReasons(database, servers);
  const found = await reasonsFor(database, servers, now);
  const [added, removed]: [Value[][], Value[][]] = [[], []];
  const [changed, updated]: [Value[][], Value[][]] = [[], []];
  for (const server of servers) {
    const [old, reasons] = [before.get(server) ?? {}, found.get(server) ?? {}];
    const [oldFlags, flags] = [new Set(Object.keys(old)), new Set(Object.keys(reasons))];
    const text = flags.size === 0 ? null : JSON.stringify(reasons);
    for (const flag of flags.difference(oldFlags)) added.push([flag, server]);
    for (const flag of oldFlags.difference(flags)) removed.push([flag, server]);
    if (flags.symmetricDifference(oldFlags).size > 0) changed.push([text, now, server]);
    else if (text !== null && JSON.stringify(readJson(text, "facts")) !== JSON.stringify(old)) {
      updated.push([text, server]);
    }
  }
  await changeFlags(database, added, removed);
  await database.bulk(UPDATE_FLAGS, changed);
  await database.bulk(UPDATE_VALUES, updated);
}

/** The reasons that servers have, by `servers.id`. */
async function storedReasons(
  database: Database,
  servers: readonly number[],
): Promise<ReadonlyMap<number, object>> {
  const { sql, values } = isServerIn(database, "id", servers);
  const rows = await database.rows(
    `select id, player_flags from servers where ${sql} and player_flags is not null`,
    values,
  );
  return new Map(rows.map(({ id, player_flags: reasons }) => [
    Number(id),
    readJson(String(reasons), "facts") as object | undefined ?? {},
  ]));
}

/** The reasons that the rules now find, by `servers.id`. */
async function reasonsFor(
  database: Database,
  servers: readonly number[],
  now: number,
): Promise<ReadonlyMap<number, FlagReasons>> {
  const samples = await samplesOf(database, servers);
  const found = new Map<number, FlagReasons>();
  for (const [server, recent] of await recentReplies(database, servers, now)) {
    if (recent.most < FEWEST && recent.above === 0) continue;
    const newest = await newestReplies(database, server, now);
    if (newest.length === 0) continue;
    found.set(server, flaggedBy({ newest, recent, sample: samples.get(server) }));
  }
  return found;
}

async function recentReplies(
  database: Database,
  servers: readonly number[],
  now: number,
): Promise<Map<number, RecentCounts>> {
  const { sql, values } = isServerIn(database, "o.server", servers);
  const above = "filter (where o.players_max > 0 and o.players_online > o.players_max)";
  const rows = await database.rows(
    "select o.server, count(*) as replies, min(o.at) as since, min(o.players_online) as least, " +
      "max(o.players_online) as most, min(o.players_max) as slots, " +
      `count(*) ${above} as above, min(o.at) ${above} as above_since from observations o ` +
      `where ${sql} and o.at >= ${timeParameter(database)} and o.online ` +
      "and o.players_online is not null group by o.server",
    [...values, now - RECENT_MS],
  );
  return new Map(rows.map((row) => [Number(row.server), {
    replies: Number(row.replies),
    since: Number(row.since),
    least: Number(row.least),
    most: Number(row.most),
    leastSlots: numberOrNull(row.slots),
    above: Number(row.above),
    aboveSince: numberOrNull(row.above_since),
  }]));
}

async function newestReplies(
  database: Database,
  server: number,
  now: number,
): Promise<CountedReply[]> {
  const rows = await database.rows(
    "select at, players_online, players_max from observations where server = ? " +
      `and at >= ${timeParameter(database)} and online and players_online is not null ` +
      `order by at desc limit ${NEWEST}`,
    [server, now - OLDEST_MS],
  );
  return rows.toReversed().map(({ at, players_online: players, players_max: slots }: Row) => {
    return { at: Number(at), players: Number(players), slots: numberOrNull(slots) };
  });
}

async function samplesOf(
  database: Database,
  servers: readonly number[],
): Promise<ReadonlyMap<number, PublishedNames>> {
  const { sql, values } = isServerIn(database, "server", servers);
  const rows = await database.rows(
    `select server, names, same_since from server_players where ${sql}`,
    values,
  );
  return new Map(rows.map(({ server, names, same_since: since }) => [Number(server), {
    names: readTexts(String(names)) ?? [],
    since: Number(since),
  }]));
}

function numberOrNull(value: Value): number | null {
  return value === null ? null : Number(value);
}
