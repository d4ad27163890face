import { assertEquals } from "@std/assert";
import {
  chartColumns,
  type ChartData,
  halved,
  type Piece,
  pieceAt,
  zoomFragment,
  zoomIn,
} from "../../../src/web/browser/chart_data.ts";

function chartOf(pieces: readonly Piece[]): ChartData {
  const series = [{ name: "players", color: 0, shape: "line" }] as const;
  const [title, unit] = ["Players", "players"];
  return { title, unit, from: 0, to: 100, series, pieces, bands: [], areCounts: true };
}

/** The corners of the only line. */
function corners(pieces: readonly Piece[]): (readonly [time: number, value: number | null])[] {
  const { times, values: [line] } = chartColumns(chartOf(pieces));
  return times.map((time, i) => [time, line[i]]);
}

Deno.test("a line has the whole period, an edge at each change, and a gap where nothing is known", () => {
  assertEquals(corners([[0, 10, 1], [10, 20, 2], [40, 60, 3]]), [
    ...[[0, null], [0, 1], [10, 1], [10, 2], [20, 2]] as const,
    ...[[30, null], [40, 3], [60, 3], [80, null], [100, null]] as const,
  ]);
  assertEquals(corners([]), [[0, null], [50, null], [100, null]]);
  assertEquals(corners([[-5, 5, 1], [90, 101, 1]]), corners([]));
});

Deno.test("a point has a gap on both sides, and a point within a line is a peak", () => {
  const { times, values: [line], points } = chartColumns(chartOf([[50, 50, 7]]));
  assertEquals([times, line, points], [
    ...[[0, 25, 50, 75, 100], [null, null, 7, null, null], [2]],
  ]);
  assertEquals(corners([[0, 50, 1], [50, 50, 9], [50, 100, 1]]).slice(1, -2), [
    ...[[0, 1], [50, 1], [50, 9], [50, 1], [100, 1]] as const,
  ]);
});

Deno.test("the piece at a time is the one that contains it, or else the nearest point", () => {
  const pieces: Piece[] = [[0, 10, 1], [10, 20, 2], [50, 50, 3], [60, 60, 4]];
  const at = (time: number, reach = 6) => pieceAt(pieces, time, reach)?.[2];
  assertEquals([at(0), at(9.9), at(10), at(19.9)], [1, 1, 2, 2]);
  assertEquals([at(35), at(44), at(54), at(56), at(66), at(67)], [
    ...[undefined, 3, 3, 4, 4, undefined],
  ]);
  assertEquals(at(30, 0), undefined);
});

Deno.test("half of the pieces have the means, weighted by time, over the same period", () => {
  const expected: Piece[] = [[0, 40, 4, 8], [40, 50, 2, 3]];
  assertEquals(halved([[0, 10, 1, null], [10, 40, 5, 8], [40, 50, 2, 3]]), expected);
});

Deno.test("the fragment of a URL has the enlarged times", () => {
  assertEquals(zoomIn(zoomFragment(5, 1e12)), [5, 1e12]);
  assertEquals(zoomIn(zoomFragment(5.4, 9.6)), [5, 10]);
  for (
    const wrong of ["", "#", "#zoom=5-5", "#zoom=9-1", "#zoom=-1-5", "#zoom=1-2x", "#zoom=a-b"]
  ) {
    assertEquals(zoomIn(wrong), undefined, wrong);
  }
});
