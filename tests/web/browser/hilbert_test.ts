import { assert, assertEquals } from "@std/assert";
import { indexAt, type Point, pointAt } from "../../../src/web/browser/hilbert.ts";

/** Numbers that look random, and are the same in each run. */
function* numbers(count: number, below: number): Iterable<number> {
  let state = 1;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state % below;
  }
}

const distance = (a: Point, b: Point) => Math.abs(a.x - b.x) + Math.abs(a.y - b.y);

Deno.test("a curve starts at the top left, and ends at the top right", () => {
  for (const order of [2, 8, 12, 16]) {
    assertEquals(pointAt(0, order), { x: 0, y: 0 });
    assertEquals(pointAt(4 ** order - 1, order), { x: 2 ** order - 1, y: 0 });
  }
});

Deno.test("a curve passes each cell once, from neighbour to neighbour", () => {
  const places = Array.from({ length: 4 ** 6 }, (_, i) => pointAt(i, 6));
  assertEquals(new Set(places.map(({ x, y }) => `${x} ${y}`)).size, 4 ** 6);
  for (let i = 1; i < places.length; i++) assertEquals(distance(places[i - 1], places[i]), 1);
});

Deno.test("the index at the place of a cell is the cell's, for all addresses", () => {
  for (const order of [2, 8, 12, 16]) {
    for (const index of numbers(5000, Math.min(4 ** order, 2 ** 32))) {
      assertEquals(indexAt(pointAt(index, order), order), index);
    }
  }
});

Deno.test("an enlarged square keeps the course that it has in the square around it", () => {
  for (const [order, finer] of [[8, 12], [12, 16]]) {
    const scale = 2 ** (finer - order);
    for (const index of numbers(5000, Math.min(4 ** finer, 2 ** 32))) {
      const { x, y } = pointAt(index, finer);
      const around = pointAt(Math.floor(index / scale ** 2), order);
      assertEquals({ x: Math.floor(x / scale), y: Math.floor(y / scale) }, around);
    }
  }
});

Deno.test("the blocks of a map are squares of 16 x 16 cells", () => {
  for (const block of numbers(200, 2 ** 24)) {
    const corner = pointAt(block * 256, 16);
    const [left, top] = [corner.x - corner.x % 16, corner.y - corner.y % 16];
    for (let i = 0; i < 256; i++) {
      const { x, y } = pointAt(block * 256 + i, 16);
      assert(x >= left && x < left + 16 && y >= top && y < top + 16);
    }
  }
});
