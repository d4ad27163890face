import { assertEquals } from "@std/assert";
import { joinedLines, type LinePiece } from "../../../src/web/charts/joined_lines.ts";

/** A line of pieces as `[at, until, value]`. */
function line(...pieces: (readonly [number, number, number | null])[]): LinePiece[] {
  return pieces.map(([at, until, value]) => ({ at, until, value }));
}

Deno.test("lines with different times have the values of each at all times", () => {
  assertEquals(joinedLines([line([0, 10, 1], [10, 30, 2]), line([5, 20, 7], [25, 40, 8])]), [
    [0, 5, 1, null],
    [5, 10, 1, 7],
    [10, 20, 2, 7],
    [20, 25, 2, null],
    [25, 30, 2, 8],
    [30, 40, null, 8],
  ]);
});

Deno.test("a time without a value in any line has no piece", () => {
  assertEquals(joinedLines([line([0, 5, 1], [5, 9, null]), line([20, 30, 2])]), [
    [0, 5, 1, null],
    [20, 30, null, 2],
  ]);
  assertEquals(joinedLines([[], []]), []);
});

Deno.test("a point of one line does not interrupt another one", () => {
  assertEquals(joinedLines([line([0, 10, 1]), line([4, 4, 9])]), [
    [0, 4, 1, null],
    [4, 4, 1, 9],
    [4, 10, 1, null],
  ]);
  assertEquals(joinedLines([line([0, 4, 1], [4, 4, 9], [4, 8, 2])]), [
    [0, 4, 1],
    [4, 4, 9],
    [4, 8, 2],
  ]);
});
