/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The charts of a server: players, slots, latency.
 *
 * @module
 */
import { type Band, LineChart, type LineChartData } from "../charts/line_chart.tsx";
import type { History } from "../data/dashboard_data.ts";
import { timeText } from "./quantities.ts";
import { Card, Tabs } from "./blocks.tsx";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** The periods that have a link. */
const PERIODS: readonly (readonly [name: string, length: number])[] = [
  ["Day", DAY],
  ["Week", 7 * DAY],
  ["Month", 30 * DAY],
  ["Year", 365 * DAY],
];

/** The charts of a period, and links to other periods. */
export function HistoryCharts(
  { history, path, now }: { history: History; path: string; now: number },
) {
  const { from, to } = history;
  const length = to - from;
  const periodUrl = (start: number) => `${path}?from=${start}&to=${start + length}`;
  const isRecent = now - to < 2 * HOUR;
  const tabs = PERIODS.map(([name, one]) => ({
    name,
    url: `${path}?from=${now - one}&to=${now}`,
    isChosen: isRecent && Math.abs(length - one) < one / 50,
  }));
  return (
    <Card
      title={`History, ${timeText(from).slice(0, 16)} to ${timeText(to).slice(0, 16)} UTC`}
      aside={
        <div class="period">
          {from >= length && <a href={periodUrl(from - length)}>← Earlier</a>}
          {!isRecent && <a href={periodUrl(Math.min(to, now - length))}>Later →</a>}
          <Tabs label="Period" tabs={tabs} />
        </div>
      }
    >
      <LineChart data={playersChart(history)} />
      <LineChart data={latencyChart(history)} />
    </Card>
  );
}

function playersChart(history: History): LineChartData {
  const { points } = history;
  const values = (name: "slots" | "players" | "playersMost") => points.map((one) => one[name]);
  return {
    ...periodOf(history),
    title: "Players",
    unit: "players",
    series: [
      { name: "slots", color: 7, values: values("slots") },
      { name: "most players", color: 1, values: values("playersMost") },
      { name: "players", color: 0, values: values("players"), isFilled: true },
    ],
  };
}

function latencyChart(history: History): LineChartData {
  const values = history.points.map(({ latencyMs }) => latencyMs);
  return {
    ...periodOf(history),
    title: "Latency",
    unit: "milliseconds",
    areCounts: false,
    series: [{ name: "latency", color: 5, values }],
  };
}

/** What the charts of a history have in common. */
function periodOf(history: History) {
  const { from, to, points, step } = history;
  return {
    from,
    to,
    times: points.map(({ at }) => at),
    step: step > 0 ? step : undefined,
    bands: bandsOf(history),
  };
}

/** The times in which the server was offline, or not watched. */
function bandsOf({ points, step, unwatched, to }: History): Band[] {
  const bands: Band[] = unwatched.map((one) => ({ ...one, kind: "unwatched" }));
  points.forEach(({ at, online }, i) => {
    if (online !== false) return;
    const end = step > 0 ? at + step : points[i + 1]?.at ?? to;
    const last = bands[bands.length - 1];
    if (last?.kind === "offline" && last.to >= at) bands[bands.length - 1] = { ...last, to: end };
    else bands.push({ from: at, to: end, kind: "offline" });
  });
  return bands;
}
