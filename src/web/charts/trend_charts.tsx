/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The charts of trends. A value stands for the hours or days that were watched: those that were watched in part
 * only are no part of a line.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import type { Band, Piece, Series } from "../browser/chart_data.ts";
import { safeText } from "../components/texts.tsx";
import type { Trend, TrendDays, TrendPoint } from "../queries/dashboard_data.ts";
import type { ChartProperties } from "./chart.tsx";

/** The least share of an hour or day that has to be watched. */
const MIN_WATCHED = 0.9;

/** The period of trends that end now. */
interface TrendPeriod {
  readonly days: TrendDays;
  readonly now: number;
}

/** The charts of the trend of all servers: servers, and players. */
export function trendCharts({ points }: Trend, period: TrendPeriod): ChartProperties[] {
  const bands = bandsOf(points, period);
  const piecesOf = (valuesOf: (point: TrendPoint) => readonly number[], dash: number) =>
    points.flatMap((point) => {
      const values = valuesOf(point);
      return isWatched(point)
        ? pieceOf(point.at, period, [...values, null])
        : pieceOf(point.at, period, [...values.map(() => null), values[dash]]);
    });
  const inPart: Series = { name: "mean while watched", color: 7, shape: "dash" };
  const hasParts = bands.some(({ kind }) => kind === "half");
  const withParts = (series: readonly Series[]) => hasParts ? [...series, inPart] : series;
  return [
    {
      ...{ ...boundsOf(period), title: "Servers", unit: "servers", bands },
      series: withParts([
        { name: "watched", color: 7, shape: "line" },
        { name: "online", color: 0, shape: "area" },
      ]),
      pieces: piecesOf(({ servers, online }) => [servers, online], 1),
    },
    {
      ...{ ...boundsOf(period), title: "Players", unit: "players", bands },
      series: withParts([{ name: "players", color: 1, shape: "area" }]),
      pieces: piecesOf(({ players }) => [players], 0),
    },
  ];
}

/** A chart with a line for each value of a property. */
export function valueTrends(
  trends: readonly Trend[],
  title: string,
  period: TrendPeriod,
): ChartProperties {
  const watched = new Map<number, TrendPoint>();
  for (const point of trends.flatMap(({ points }) => points)) {
    const known = watched.get(point.at);
    if (known === undefined || known.watched_share < point.watched_share) {
      watched.set(point.at, point);
    }
  }
  const points = [...watched.values()].sort((a, b) => a.at - b.at);
  const lines = trends.map(({ points }) => new Map(points.map((point) => [point.at, point])));
  return {
    ...{ ...boundsOf(period), title, unit: "servers", bands: bandsOf(points, period) },
    series: trends.map(({ value }, color) => ({
      ...{ name: safeText(value ?? "unknown", 40), color, shape: "line" },
    })),
    pieces: points.filter(isWatched).flatMap(({ at }) =>
      pieceOf(at, period, lines.map((line) => line.get(at)?.online ?? null))
    ),
  };
}

function isWatched({ watched_share: share }: TrendPoint): boolean {
  return share >= MIN_WATCHED;
}

function boundsOf({ days, now }: TrendPeriod) {
  return { from: now - days * DAY_MS, to: now };
}

function lengthOf({ days }: TrendPeriod): number {
  return days <= 7 ? HOUR_MS : DAY_MS;
}

/** The part of an hour or day that is in the period. */
function pieceOf(at: number, period: TrendPeriod, values: readonly (number | null)[]): Piece[] {
  const { from, to } = boundsOf(period);
  const [start, end] = [Math.max(at, from), Math.min(at + lengthOf(period), to)];
  return start < end ? [[start, end, ...values]] : [];
}

/** The times that were not watched, or only in part. The last hour or day has no value before its end. */
function bandsOf(points: readonly TrendPoint[], period: TrendPeriod): Band[] {
  const { from, to } = boundsOf(period);
  const length = lengthOf(period);
  const bands: Band[] = [];
  let end = from;
  const addGap = (until: number) => {
    if (until > end) bands.push({ from: end, to: until, kind: "unwatched" });
  };
  for (const point of points) {
    const [start, until] = [Math.max(from, point.at), Math.min(to, point.at + length)];
    if (start >= until) continue;
    addGap(start);
    end = until;
    if (isWatched(point)) continue;
    bands.push({ from: start, to: until, kind: "half", share: point.watched_share });
  }
  if (to - end >= 2 * length) addGap(to);
  return bands;
}
