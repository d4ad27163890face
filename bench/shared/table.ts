/** Tables for a terminal: text is aligned to the left, numbers to the right. */

/** Formats a table. Cells that are numbers are written with commas and aligned to the right. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]) {
  const cells = rows.map((row) =>
    row.map((cell) => typeof cell === "number" ? number(cell) : cell)
  );
  const widths = head.map((title, i) =>
    Math.max(title.length, ...cells.map((row) => row[i].length))
  );
  const line = (row: readonly string[], right: (i: number) => boolean) =>
    row.map((cell, i) => right(i) ? cell.padStart(widths[i]) : cell.padEnd(widths[i])).join("  ")
      .trimEnd();
  const numeric = (i: number) => rows.length > 0 && typeof rows[0][i] === "number";
  return [
    line(head, numeric),
    line(widths.map((width) => "-".repeat(width)), numeric),
    ...cells.map((row) => line(row, numeric)),
  ].join("\n");
}

/** Formats a number with commas: rounded from 100 on, otherwise with three digits. */
function number(value: number): string {
  if (Number.isInteger(value) || Math.abs(value) >= 100) {
    return Math.round(value).toLocaleString("en-US");
  }
  return value.toPrecision(3);
}

/** The median of some numbers. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
