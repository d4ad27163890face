/**
 * Reports cells of databases that other programs have written and that cannot be read.
 *
 * @module
 */
import type { BrokenCell } from "../../store/rows/json_cells.ts";

/** Maximum number of cells of a database that are reported one by one. */
const MAX_REPORTED = 20;

/**
 * Returns a function that reports each broken cell in one line, up to 20 of them.
 *
 * @param name The name of the database.
 */
export function brokenCellReporter(
  name: string,
  report: (line: string) => void,
): (cell: BrokenCell) => void {
  let reported = 0;
  return ({ key, column }) => {
    if (reported++ >= MAX_REPORTED) return;
    const last = reported < MAX_REPORTED ? "" : "; further ones are not reported";
    report(
      `blocksweep: ${name}: cannot read ${column} of ${
        JSON.stringify(key)
      }, which another program wrote: ` +
        `it counts as empty${last}`,
    );
  };
}
