/**
 * Reads trends of all servers, and of the most frequent values of a property.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import { type Database, type Row, timeParameter } from "../../store/database/database.ts";
import { periodStart } from "../../store/mod.ts";
import type { TrendDays, TrendPoint, Trends, TrendsQuery } from "../queries/dashboard_data.ts";

/** Number of values that have a trend. */
const VALUES = 8;
/**
 * Values of this rank or a higher one are read: a value among the most frequent ones is among them.
 */
const RANKS = 64;

/** The sums of one value in an hour or day. */
interface Totals {
  readonly value: string | null;
  readonly point: TrendPoint;
  readonly onlineS: number;
}

/** Reads the trends of a period that ends now. */
export async function readTrends(
  database: Database,
  { days: wanted, by }: TrendsQuery,
  now: number,
): Promise<Trends> {
  const days = wanted ?? await usualDays(database, now);
  const today = periodStart(now, DAY_MS);
  const totals = days <= 7
    ? await totalsSince(database, 1, now - days * DAY_MS, by)
    : await totalsSince(database, 24, today - days * DAY_MS, by);
  const trends = new Map<string | null, { points: TrendPoint[]; onlineS: number }>();
  for (const { value, point, onlineS } of totals) {
    const trend = trends.get(value);
    if (trend === undefined) trends.set(value, { points: [point], onlineS });
    else {
      trend.points.push(point);
      trend.onlineS += onlineS;
    }
  }
  const largest = [...trends].sort(([, a], [, b]) => b.onlineS - a.onlineS).slice(0, VALUES);
  return { days, trends: largest.map(([value, { points }]) => ({ value, points })) };
}

/** The shortest period with all values of the last week. */
async function usualDays(database: Database, now: number): Promise<TrendDays> {
  const [{ first }] = await database.rows(
    `select min(at) as first from rollup_totals where hours = 1 and at >= ${
      timeParameter(database)
    }`,
    [now - 7 * DAY_MS],
  );
  return first === null || Number(first) >= now - DAY_MS ? 1 : 7;
}

/**
 * The totals of hours or days, in the order of times. Without a property, those of all values:
 * every server has one edition, so their sum is that of all servers.
 */
async function totalsSince(
  database: Database,
  hours: 1 | 24,
  since: number,
  by: TrendsQuery["by"],
): Promise<Totals[]> {
  const columns = by === undefined
    ? "null as value, sum(servers) as servers, sum(watched_s) as watched_s, " +
      "sum(online_s) as online_s, sum(player_s) as player_s"
    : "value, servers, watched_s, online_s, player_s";
  const rows = await database.rows(
    `select at, ${columns} from rollup_totals where hours = ? and at >= ${
      timeParameter(database)
    } and kind = ? ${by === undefined ? "group by at" : `and rank between 1 and ${RANKS}`} ` +
      "order by at",
    [hours, since, by ?? "edition"],
  );
  return rows.map((row) => totalsOf(row, hours * HOUR_MS / 1000));
}

/**
 * The mean number of servers online is the share of the watched time in which they were online,
 * times the number of servers. It holds for that time only: `watched_share` is its share of the hour or day.
 */
function totalsOf(row: Row, lengthS: number): Totals {
  const [servers, watchedS, onlineS, playerS] = [
    row.servers,
    row.watched_s,
    row.online_s,
    row.player_s,
  ].map(Number);
  const mean = (seconds: number) => watchedS === 0 ? 0 : servers * seconds / watchedS;
  return {
    value: row.value === null ? null : String(row.value),
    point: {
      at: Number(row.at),
      servers,
      online: mean(onlineS),
      players: mean(playerS),
      watched_share: servers === 0 ? 0 : Math.min(1, watchedS / (servers * lengthS)),
    },
    onlineS,
  };
}
