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

/** A server whose times are read. */
interface ExportedServer {
  readonly id: number;
  readonly key: string;
}

/** Number of servers whose observations are in memory at once. */
const BATCH = 8;

/**
 * Streams the times of each server of which its uptime in the last month is the sum: those in which it had
 * one state, and hours and days where the observations are removed or their rollups are out of date. In the
 * order of servers and times.
 *
 * @param pages The servers.
 * @param now Unix milliseconds.
 */
export async function* uptimePeriods(
  database: Database,
  now: number,
  pages: AsyncIterable<readonly ExportedServer[]>,
): AsyncIterable<readonly UptimePeriod[]> {
  for await (const page of pages) {
    for (let i = 0; i < page.length; i += BATCH) {
      yield* periodsOf(database, page.slice(i, i + BATCH), now);
    }
  }
}

async function* periodsOf(
  database: Database,
  servers: readonly ExportedServer[],
  now: number,
): AsyncIterable<readonly UptimePeriod[]> {
  const ids = servers.map(({ id }) => id);
  const from = periodStart(now, DAY_MS) - 30 * DAY_MS;
  const exact = Math.min(now, Math.max(from, await exactSince(database)));
  const spans = await spansIn(database, exact, now);
  const [seen, optedOut] = spans.length === 0
    ? [undefined, undefined]
    : [await statesIn(database, ids, spans, exact, now), await optOutsOf(database, ids)];
  for (const { id, key } of servers) {
    const points = from < exact ? await uptimePoints(database, id, from, exact) : [];
    const sums = points.map(({ at, hours, ...uptime }): UptimePeriod => ({
      ...{ server: key, from: at, to: Math.min(at + hours * HOUR_MS, now), hours, state: null },
      ...uptime,
    }));
    const held = heldStates(seen?.get(id) ?? [], spans, exact, now, optedOut?.get(id));
    const states = held.map((state): UptimePeriod => ({
      ...{ server: key, from: state.from, to: state.to, hours: null },
      state: state.seen.online ? "online" : "offline",
      ...uptimeOfStates([state], exact, Infinity),
    }));
    yield [...sums, ...states];
  }
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
