/** Tests src/web/charts/ticks.ts and src/web/charts/line_chart.tsx. */
import { assert, assertEquals } from "@std/assert";
import { LineChart, type LineChartData } from "../../../src/web/charts/line_chart.tsx";
import { niceTicks, startOfValues, timeSpan, timeTicks } from "../../../src/web/charts/ticks.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 0, 30, 22);

function htmlOf(data: Partial<LineChartData>): string {
  const series = [{ name: "players", color: 0, values: [0, 50, null, 100] }];
  const times = [0, 1, 2, 3].map((i) => START + i * HOUR);
  return String(LineChart({
    data: {
      ...{ title: "Players", unit: "players", from: START, to: START + 4 * HOUR },
      ...{ times, series, ...data },
    },
  }));
}

Deno.test("ticks are nice, cover the highest value, and are few", () => {
  for (let most = 0.013; most < 1e7; most *= 1.37) {
    const ticks = niceTicks(most, 4);
    const step = ticks[1];
    assert(ticks[ticks.length - 1] >= most * (1 - 1e-9), `${most}`);
    assert(ticks.length >= 2 && ticks.length <= 6, `${most}: ${ticks}`);
    assert(["1", "2", "5"].includes(step.toExponential().replace(/e.*/, "")), `${step}`);
  }
  assertEquals(niceTicks(3, 4, 1), [0, 1, 2, 3]);
  assertEquals(niceTicks(0, 4), [0, 0.5, 1]);
});

Deno.test("times are marked at full minutes, hours, days, Mondays, months and years", () => {
  const labels = (span: number) => timeTicks(START, START + span, 7).map(({ label }) => label);
  assertEquals(labels(6 * 60_000), ["22:00", "22:01", "22:02", "22:03", "22:04", "22:05"]);
  assertEquals(labels(6 * HOUR), ["22:00", "23:00", "31 Jan", "01:00", "02:00", "03:00"]);
  assertEquals(labels(3 * DAY), ["31 Jan", "12:00", "1 Feb", "12:00", "2 Feb", "12:00"]);
  assertEquals(labels(30 * DAY), ["2 Feb", "9 Feb", "16 Feb", "23 Feb"]);
  assertEquals(labels(365 * DAY).at(0), "Mar 2026");
  assertEquals(labels(20 * 365 * DAY), ["2030", "2035", "2040", "2045"]);
});

Deno.test("there are never more marks than wanted", () => {
  for (let span = 60_000; span < 100 * 365 * DAY; span *= 1.21) {
    const count = timeTicks(START, START + span, 7).length;
    assert(count <= 8, `${span}: ${count}`);
  }
});

Deno.test("a single point has an axis of an hour", () => {
  assertEquals(timeSpan(START, START), { from: START - HOUR / 2, to: START + HOUR / 2 });
  assertEquals(timeSpan(START, START + DAY), { from: START, to: START + DAY });
});

Deno.test("an axis starts shortly before values that begin late in a period", () => {
  const to = START + 10 * DAY;
  assertEquals(startOfValues(START, to, undefined), START);
  assertEquals(startOfValues(START, to, START + 4 * DAY), START);
  assertEquals(startOfValues(START, to, START + 8 * DAY), START + 7.9 * DAY);
  assertEquals(startOfValues(START, to, to), to - HOUR);
  const times = [START + 9 * DAY, START + 10 * DAY];
  const series = [{ name: "a", color: 0, values: [1, 1] }];
  assert(/class="line" d="M47.6 0L1000 0"/.test(htmlOf({ times, series, to })));
});

Deno.test("a line has gaps at unknown values, and where times are missing", () => {
  const lines = (data: Partial<LineChartData>) => /class="line" d="([^"]*)"/.exec(htmlOf(data))![1];
  assertEquals(lines({}), "M0 180L250 90M750 0h.01");
  const times = [0, 1, 5, 6].map((i) => START + i * HOUR);
  const series = [{ name: "a", color: 1, values: [1, 1, 1, 1] }];
  const gap = { times, series, to: START + 8 * HOUR };
  assertEquals(lines({ ...gap, step: HOUR }), "M0 0L125 0M625 0L750 0");
  assertEquals(lines(gap), "M0 0L125 0L625 0L750 0");
});

Deno.test("the values of each time are titles", () => {
  const titles = [...htmlOf({}).matchAll(/<title>([^<]*)<\/title>/g)].map(([, text]) => text);
  assertEquals(titles.slice(1), [
    ...["30 Jan 23:00 UTC\nplayers: 50", "31 Jan 00:00 UTC\nno value"],
    "31 Jan 01:00 UTC\nplayers: 100",
  ]);
});

Deno.test("many values have at most 240 places for the pointer", () => {
  const times = Array.from({ length: 10_000 }, (_, i) => START + i * 60_000);
  const series = [{ name: "a", color: 0, values: times.map((_, i) => i % 100) }];
  const html = htmlOf({ times, series, to: times[times.length - 1] });
  const count = html.split('class="slot"').length - 1;
  assert(count > 100 && count <= 240, `${count}`);
});

Deno.test("the pointer shows a value only near it", () => {
  const places = [...htmlOf({}).matchAll(/class="slot" x="([\d.]+)%" width="([\d.]+)%"/g)]
    .map(([, x, width]) => [Number(x), Number(width)]);
  assertEquals(places, [[0, 2], [23, 4], [48, 4], [73, 4]]);
});

Deno.test("bands are clipped to the plot, and the legend names them once", () => {
  const bands = [0, 1].map((i) => ({
    ...{ from: START - DAY, to: START + HOUR + i, kind: "unwatched" as const },
  }));
  const html = htmlOf({ bands });
  assert(html.includes('class="unwatched" x="0%" width="25%"'), html);
  assertEquals(html.split("not watched").length - 1, 1);
});

Deno.test("a chart without values is a note", () => {
  const html = htmlOf({ series: [{ name: "a", color: 0, values: [null, null, null, null] }] });
  assert(html.includes("No values in this period.") && !html.includes("<svg"), html);
});
