/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The charts of a server: players, slots, latency.
 *
 * @module
 */
import { type Band, LineChart } from "../charts/line_chart.tsx";
import type { History } from "../data/dashboard_data.ts";
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

/** The charts of a period, links to other periods, and a form for any period. */
export function HistoryCharts(
  { history, path, now }: { history: History; path: string; now: number },
) {
  const { from, to, points } = history;
  const common = {
    from,
    to,
    times: points.map(({ at }) => at),
    step: history.step > 0 ? history.step : undefined,
    bands: bandsOf(history),
  };
  const isRecent = now - to < 2 * HOUR;
  return (
    <Card
      title="History"
      aside={
        <Tabs
          label="Period"
          tabs={PERIODS.map(([name, length]) => ({
            name,
            url: `${path}?from=${now - length}&to=${now}`,
            isChosen: isRecent && Math.abs(to - from - length) < length / 50,
          }))}
        />
      }
    >
      <LineChart
        data={{
          ...common,
          title: "Players",
          unit: "players",
          series: [
            { name: "slots", color: 7, values: points.map(({ slots }) => slots) },
            {
              name: "most players",
              color: 1,
              values: points.map(({ playersMost }) => playersMost),
            },
            {
              name: "players",
              color: 0,
              values: points.map(({ players }) => players),
              isFilled: true,
            },
          ],
        }}
      />
      <LineChart
        data={{
          ...common,
          title: "Latency",
          unit: "milliseconds",
          areCounts: false,
          series: [{
            name: "latency",
            color: 5,
            values: points.map(({ latencyMs }) => latencyMs),
          }],
        }}
      />
    </Card>
  );
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
