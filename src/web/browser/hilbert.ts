/**
 * The Hilbert curve: a line through all cells of a square of 2^order × 2^order cells, where order is
 * even. It starts at the top left and ends at the top right. Consecutive cells are neighbours, and a
 * network is a square or two adjacent squares.
 *
 * Curves of even order have the same course: 16 consecutive cells of one are a cell of the curve whose
 * order is less by two. A part of the map therefore keeps its course when it is enlarged.
 */

/** A cell of the square: `x` to the right, `y` downwards. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** The point of a cell of the curve. */
export function pointAt(index: number, order: number): Point {
  let [x, y, rest] = [0, 0, index];
  for (let size = 1; size < 2 ** order; size *= 2) {
    const right = Math.floor(rest / 2) % 2;
    const down = (rest + right) % 2;
    if (down === 0) [x, y] = right === 1 ? [size - 1 - y, size - 1 - x] : [y, x];
    [x, y] = [x + size * right, y + size * down];
    rest = Math.floor(rest / 4);
  }
  return { x, y };
}

/** The index of the cell of the curve at a point. */
export function indexAt({ x, y }: Point, order: number): number {
  let index = 0;
  for (let size = 2 ** (order - 1); size >= 1; size /= 2) {
    const right = Math.floor(x / size) % 2;
    const down = Math.floor(y / size) % 2;
    index += size * size * (right === 1 ? 3 - down : down);
    [x, y] = [x % size, y % size];
    if (down === 0) [x, y] = right === 1 ? [size - 1 - y, size - 1 - x] : [y, x];
  }
  return index;
}
