/** What the measurements of `bench/reach.ts` have in common. */
import { table } from "../shared/table.ts";
import type { Curve } from "./curve.ts";
import { DEFAULT, SIZE, type World } from "./world.ts";

/** A figure that a measurement has to reach. */
export interface Goal {
  /** What was measured. */
  readonly figure: string;
  /** The value. */
  readonly value: number;
  /** The least value that is wanted. Default: none. */
  readonly least?: number;
  /** The greatest value that is wanted. Default: none. */
  readonly most?: number;
}

/** A measurement of `bench/reach.ts`. */
export interface Case {
  /** What it shows, on one line. */
  readonly purpose: string;
  /** The usual seeds of the worlds. Default: those of `SEEDS`. */
  readonly seeds?: readonly number[];
  /** The name of the file that it writes. Default: it writes none. */
  readonly file?: string;
  /**
   * Measures, and prints tables.
   *
   * @param file The file to write.
   * @returns The goals, which are checked.
   */
  run(seeds: readonly number[], file: string): readonly Goal[];
}

/** The usual seeds. */
export const SEEDS: readonly number[] = [6, 7, 8, 9, 10];

/** Budgets of the tables, in A. */
export const BUDGETS: readonly number[] = [0.01, 0.05, 0.1, 0.25, 0.5];

/** The mean of some numbers. */
export function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length;
}

/** Prints a table with a title. */
export function print(
  title: string,
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): void {
  // deno-lint-ignore no-console
  console.log(`${title}\n\n${table(head, rows)}\n`);
}

/** The curves of one way to find servers in several worlds, and the number of servers there. */
export interface Yields {
  /** The name of the way. */
  readonly name: string;
  /** A curve for each world. */
  readonly curves: readonly Curve[];
  /** Numbers of servers. */
  readonly servers: readonly number[];
  /** Number of addresses of each world, the unit A. Default: that of whole worlds. */
  readonly size?: number;
}

/** The share of servers that a way found with a budget in A, as a mean over the worlds. */
export function shareAt({ curves, servers, size = SIZE }: Yields, budget: number): number {
  return mean(curves.map((curve, i) => curve.at(budget * size) / servers[i]));
}

/** The budgets in A with which a way found 90 % of the servers of each world. */
export function budgetsFor90({ curves, servers, size = SIZE }: Yields): number[] {
  return curves.map((curve, i) => curve.reach(0.9 * servers[i]) / size);
}

/** Formats a share or a budget in A. */
export function decimals(value: number): string {
  return value === Infinity ? "never" : value.toFixed(3);
}

/** Prints the yields of several ways. */
export function printYields(title: string, ways: readonly Yields[], budgets = BUDGETS): void {
  const head = ["way", ...budgets.map((budget) => `${budget} A`), "90 % at (A)", "worst"];
  const rows = ways.map((way) => {
    const shares = budgets.map((budget) => decimals(shareAt(way, budget)));
    const ends = budgetsFor90(way);
    return [way.name, ...shares, decimals(mean(ends)), decimals(Math.max(...ends))];
  });
  print(title, head, rows);
}

/** Number of servers on the default port. */
export function defaultServers({ servers }: World): number {
  return servers.filter(({ port }) => port === DEFAULT).length;
}
