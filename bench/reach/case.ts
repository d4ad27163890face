/** What the measurements of `bench/reach.ts` have in common. */
import { table } from "../shared/table.ts";
import { SIZE } from "./world.ts";

/** A measurement of `bench/reach.ts`. */
export interface Case {
  /** What it shows, on one line. */
  readonly purpose: string;
  /**
   * Measures, and prints a table.
   *
   * @param seeds Seeds of the worlds.
   * @returns Whether all goals were met.
   */
  run(seeds: readonly number[]): boolean;
}

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
  console.log(`\n${title}\n\n${table(head, rows)}`);
}

/** Formats numbers with three decimals. */
export function decimals(values: readonly number[]): string[] {
  return values.map((value) => value.toFixed(3));
}

/** Formats a number of probes as a part of A, one probe for each address of a world. */
export function inA(probes: number): string {
  return probes === Infinity ? "never" : (probes / SIZE).toFixed(3);
}
