/**
 * Joins the lines of several servers into one chart.
 *
 * @module
 */
import type { Piece } from "../browser/chart_data.ts";

/** A time with one value. An end that is its start is a point. */
export interface LinePiece {
  readonly at: number;
  readonly until: number;
  readonly value: number | null;
}

/**
 * The times in which no line changes, each with the values of all lines.
 *
 * @param lines Each in the order of times, without overlaps.
 */
export function joinedLines(lines: readonly (readonly LinePiece[])[]): Piece[] {
  const all = lines.flat();
  const borders = [...new Set(all.flatMap(({ at, until }) => [at, until]))].sort((a, b) => a - b);
  const points = new Set(all.filter(({ at, until }) => at === until).map(({ at }) => at));
  const indexes = lines.map(() => 0);
  /** The piece of a line at a time: a point, or else the piece that contains the time. */
  const valueAt = (line: readonly LinePiece[], i: number, time: number, isPoint: boolean) => {
    while (indexes[i] < line.length && line[indexes[i]].until < time) indexes[i]++;
    const near = line.slice(indexes[i], indexes[i] + 3);
    const point = near.find(({ at, until }) => isPoint && at === time && until === time);
    const piece = point ?? near.find(({ at, until }) => at <= time && time < until);
    return piece?.value ?? null;
  };
  return borders.flatMap((at, i): Piece[] => {
    const pieces: Piece[] = [];
    if (points.has(at)) {
      pieces.push([at, at, ...lines.map((line, column) => valueAt(line, column, at, true))]);
    }
    const values = lines.map((line, column) => valueAt(line, column, at, false));
    const until = borders[i + 1];
    if (until !== undefined && values.some((value) => value !== null)) {
      pieces.push([at, until, ...values]);
    }
    return pieces;
  });
}
