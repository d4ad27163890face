/**
 * Reads the times from which anyone can compute the uptime of servers again.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import type { Database } from "../database/database.ts";
import { periodStart, readState } from "./rollup_hours.ts";
import { optOutsOf, spansIn, statesIn } from "./rollup_rows.ts";
import { heldStates, type Uptime, uptimeOfStates } from "./uptime_of_polls.ts";
import { uptimePoints } from "./uptime_queries.ts";

/** A time in which a server was watched. */
export interface UptimePeriod extends Uptime {
  /** `servers.key`. */
  readonly server: string;
  /** Start, Unix milliseconds. */
  readonly from: number;
  /** End, Unix milliseconds. */
  readonly to: number;
  /** 1 or 24: the sum of an hour or a day; null: the server had one state in all of the time. */
  readonly hours: 1 | 24 | null;
  /** That state; null: of an hour or a day. */
  readonly state: "online" | "offline" | null;
}

/** The server whose times are read. */
type ExportedServer = Readonly<Record<"id" | "key", unknown>>;

/** Servers per query. */
const PAGE = 500;

/**
 * Streams the times of each server of which its uptime in the last month is the sum: those in which it had
 * one state, and hours and days where the observations are removed or their rollups are out of date. In the
 * order of servers and times.
 *
 * @param server Only this server. Default: all servers.
 * @param now Unix milliseconds.
 */
export async function* uptimePeriods(
  database: Database,
  now: number,
  server?: { readonly id: number; readonly key: string },
): AsyncIterable<readonly UptimePeriod[]> {
  if (server !== undefined) return yield await periodsOf(database, server, now);
  for (let last = 0;;) {
    const page = await database.rows(
      `select id, key from servers where id > ? order by id limit ${PAGE}`,
      [last],
    );
    for (const one of page) yield await periodsOf(database, one, now);
    if (page.length < PAGE) return;
    last = Number(page.at(-1)!.id);
  }
}

async function periodsOf(
  database: Database,
  server: ExportedServer,
  now: number,
): Promise<readonly UptimePeriod[]> {
  const [id, key] = [Number(server.id), String(server.key)];
  const from = periodStart(now, DAY_MS) - 30 * DAY_MS;
  const exact = Math.min(now, Math.max(from, await exactSince(database)));
  const points = await uptimePoints(database, id, from, exact);
  const sums = points.map(({ at, hours, ...uptime }): UptimePeriod => ({
    ...{ server: key, from: at, to: Math.min(at + hours * HOUR_MS, now), hours, state: null },
    ...uptime,
  }));
  const spans = await spansIn(database, exact, now);
  if (spans.length === 0) return sums;
  const seen = (await statesIn(database, [id], spans, exact, now)).get(id) ?? [];
  const optedOutAt = (await optOutsOf(database, [id])).get(id);
  const states = heldStates(seen, spans, exact, now, optedOutAt).map((state): UptimePeriod => ({
    ...{ server: key, from: state.from, to: state.to, hours: null },
    state: state.seen.online ? "online" : "offline",
    ...uptimeOfStates([state], exact, Infinity),
  }));
  return [...sums, ...states];
}

/**
 * The start of the first day of which all observations are there, and all rollups of closed hours are up
 * to date.
 */
async function exactSince(database: Database): Promise<number> {
  const { sealedUntil } = await readState(database);
  const [{ dirty }] = await database.rows("select max(hour) as dirty from dirty_hours");
  const since = Math.max(sealedUntil, dirty === null ? 0 : Number(dirty) + HOUR_MS);
  return periodStart(since + DAY_MS - 1, DAY_MS);
}
