/** Tests src/web/charts/chart.tsx and src/web/charts/chart_table.tsx. */
import { assert, assertEquals } from "@std/assert";
import type { Piece } from "../../../src/web/browser/chart_data.ts";
import { Chart, type ChartProperties } from "../../../src/web/charts/chart.tsx";
import { elementsOf } from "../pages/html_elements.ts";

const START = Date.UTC(2026, 0, 30, 22);
const HOUR = 3_600_000;

function htmlOf(more: Partial<ChartProperties>, isGrowing?: boolean): string {
  const data: ChartProperties = {
    ...{ title: "Players", unit: "players", from: START, to: START + 4 * HOUR, pieces: [] },
    ...{ series: [{ name: "players", color: 0, shape: "area" }], ...more },
  };
  const html = String(Chart({ data, isGrowing }));
  elementsOf(html);
  return html;
}

/** The rows of the table, each with its cells. */
function rowsOf(html: string): string[][] {
  const body = /<tbody>(.*)<\/tbody>/s.exec(html)![1];
  return body.split("</tr>").slice(0, -1)
    .map((row) => [...row.matchAll(/<t[hd][^>]*>([^<]*)</g)].map(([, cell]) => cell));
}

Deno.test("the table has the values and the states in the order of times", () => {
  const html = htmlOf({
    pieces: [[START, START + HOUR, 5], [START + HOUR, START + 2 * HOUR, null], [
      ...[START + 3 * HOUR, START + 3 * HOUR, 1234] as const,
    ]],
    bands: [{ from: START + HOUR, to: START + 2 * HOUR, kind: "offline" }],
  });
  assertEquals(rowsOf(html), [
    ["2026-01-30 22:00:00", "2026-01-30 23:00:00", "5"],
    ["2026-01-30 23:00:00", "2026-01-31 00:00:00", "offline"],
    ["2026-01-31 01:00:00", "", "1,234"],
  ]);
  assert(html.includes('aria-label="Players: at most 1,234 players, from 2026-01-30 22:00:00'));
});

Deno.test("a table has at most 100 rows, and names how many times there are", () => {
  const pieces = Array.from({ length: 1001 }, (_, i): Piece => [START + i, START + i, i]);
  const html = htmlOf({ pieces });
  const rows = rowsOf(html);
  assert(rows.length > 50 && rows.length <= 100, `${rows.length}`);
  assert(html.includes(`Values as a table: ${rows.length} of 1,001 times`));
  assertEquals(rows[1][1], "11");
});

Deno.test("names of series end neither the data nor the page", () => {
  const name = "</script><script>alert(1)</script><!--";
  const html = htmlOf({
    series: [{ name, color: 0, shape: "line" }],
    pieces: [[START, START, 1]],
  });
  const [, json] = /<script type="application\/json">([^<]*)<\/script>/.exec(html)!;
  assertEquals(JSON.parse(json).series[0].name, name);
  assertEquals(html.split("<script").length, 2);
});

Deno.test("a chart without values is a note, unless a script adds values", () => {
  const none = htmlOf({ pieces: [[START, START + HOUR, null]] });
  assert(none.includes("No values in this period.") && !none.includes("data-plot"));
  const growing = htmlOf({}, true);
  assert(growing.includes("data-plot") && growing.includes("no value yet"));
  assert(!growing.includes("<table"));
  const known = htmlOf({ pieces: [[START, START + HOUR, 5]] }, true);
  assert(known.includes("Values until the page was loaded as a table"));
});

Deno.test("the table has every time in which the server was offline, among many values", () => {
  const pieces = Array.from({ length: 1001 }, (_, i): Piece => [START + i, START + i, i]);
  const bands = [5, 6, 500].map((i) => ({
    from: START + i,
    to: START + i + 1,
    kind: "offline" as const,
  }));
  const partly = [0.02, 0.04].map((share, i) => ({
    ...{ from: START + 700 + i, to: START + 701 + i, kind: "partly" as const, share },
  }));
  const states = rowsOf(htmlOf({ pieces, bands: [...bands, ...partly] })).map((row) => row[2])
    .filter((cell) => cell.includes("offline"));
  assertEquals(states, ["offline", "offline", "partly offline, online 3 %"]);
});
