/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The charts of a server: players, slots, latency.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import type { Child } from "npm:hono@4.13.19/jsx";
import type { Band } from "../browser/chart_data.ts";
import { Chart, type ChartProperties } from "../charts/chart.tsx";
import type { History } from "../queries/dashboard_data.ts";
import { compareUrl, serverUrl, urlOf } from "./links.ts";
import { countText, timeText } from "./quantities.ts";
import { Card, Tabs } from "./blocks.tsx";

/** The periods that have a link. */
const PERIODS: readonly (readonly [name: string, length: number])[] = [
  ["1 h", HOUR_MS],
  ["24 h", DAY_MS],
  ["7 d", 7 * DAY_MS],
  ["30 d", 30 * DAY_MS],
  ["1 y", 365 * DAY_MS],
];

/** A card with the charts of a period, and links to other periods. */
export function PeriodCard(
  { period: { from, to }, path, now, aside, children }: {
    period: { readonly from: number; readonly to: number };
    /** The URL of the page, without the period. */
    path: string;
    now: number;
    aside?: Child;
    children: Child;
  },
) {
  const length = to - from;
  const periodUrl = (from: number, to: number) => urlOf(path, {}, { from, to });
  const isRecent = now - to < Math.min(2 * HOUR_MS, length / 2);
  const later = Math.min(to, now - length);
  const tabs = PERIODS.map(([name, one]) => ({
    name,
    url: periodUrl(now - one, now),
    isChosen: isRecent && Math.abs(length - one) < one / 50,
  }));
  return (
    <Card
      title={`History, ${timeText(from).slice(0, 16)} to ${timeText(to).slice(0, 16)} UTC`}
      aside={
        <div class="period">
          {aside}
          {from >= length && <a href={periodUrl(from - length, from)}>← Earlier</a>}
          {!isRecent && <a href={periodUrl(later, later + length)}>Later →</a>}
          <Tabs label="Period" tabs={tabs} />
        </div>
      }
    >
      {children}
    </Card>
  );
}

export function HistoryCharts(
  { history, id, now }: { history: History; id: number; now: number },
) {
  return (
    <PeriodCard
      period={history}
      path={serverUrl(id)}
      now={now}
      aside={<a href={compareUrl([id], { from: history.from, to: history.to })}>Compare</a>}
    >
      <Chart data={playersChart(history)} />
      <Chart data={latencyChart(history)} />
    </PeriodCard>
  );
}

/**
 * The chart of players. The slots are no part of the scale: most servers have far more of them than players.
 */
export function playersChart(history: History): ChartProperties {
  const { points, step } = history;
  const slotCounts = [...new Set(points.flatMap(({ slots }) => slots ?? []))];
  const [slots, most, players] = [
    {
      name: "slots",
      color: 7,
      shape: "line",
      isOutOfScale: true,
    },
    { name: "most players", color: 1, shape: "line" },
    { name: step > 0 ? "mean while online" : "players", color: 0, shape: "area" },
  ] as const;
  return {
    ...periodOf(history),
    title: slotCounts.length === 1 ? `Players of ${countText(slotCounts[0])} slots` : "Players",
    unit: "players",
    series: step > 0 ? [slots, most, players] : [slots, players],
    pieces: points.map((one) =>
      step > 0
        ? [one.at, one.until, one.slots, one.playersMost, one.players]
        : [one.at, one.until, one.slots, one.players]
    ),
  };
}

/** The latency: a point for each observation, or its range in each step. */
function latencyChart(history: History): ChartProperties {
  const { points, step } = history;
  const known = points.filter(({ latencyMs }) => latencyMs !== null);
  const common = {
    ...periodOf(history),
    title: "Latency",
    unit: "milliseconds",
    areCounts: false,
  };
  if (step === 0) {
    return {
      ...common,
      series: [{ name: "latency", color: 5, shape: "dash" }],
      pieces: known.map(({ at, latencyMs }) => [at, at, latencyMs]),
    };
  }
  return {
    ...common,
    series: [
      { name: "least", color: 5, shape: "least" },
      { name: "mean", color: 5, shape: "dash" },
      { name: "greatest", color: 5, shape: "greatest" },
    ],
    pieces: known.map(({ at, until, latencyLeast, latencyMs, latencyMost }) => [
      ...[at, until, latencyLeast, latencyMs, latencyMost] as const,
    ]),
  };
}

/** What the charts of a history have in common. */
function periodOf(history: History) {
  return { from: history.from, to: history.to, bands: bandsOf(history) };
}

/** The times in which the server was offline, in a part of the time or all of it, or not watched. */
function bandsOf({ points, unwatched }: History): Band[] {
  const bands: Band[] = unwatched.map((one) => ({ ...one, kind: "unwatched" }));
  for (const { at, until, onlineShare: share } of points) {
    if (share === null || share === 1 || until === at) continue;
    if (share > 0) {
      bands.push({ from: at, to: until, kind: "partly", share });
      continue;
    }
    const last = bands.at(-1);
    if (last?.kind === "offline" && last.to === at) {
      bands[bands.length - 1] = { ...last, to: until };
    } else bands.push({ from: at, to: until, kind: "offline" });
  }
  return bands;
}
