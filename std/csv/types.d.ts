// The part of @std/csv that blocksweep uses, no wider than upstream's types.

/** Options of {@linkcode stringify}. */
export interface StringifyOptions {
  headers?: boolean;
  separator?: string;
  columns?: readonly string[];
  bom?: boolean;
}

/** Rows (arrays, or objects with `columns`) to CSV text, one CRLF-ended line per row. */
export function stringify(
  data: readonly (Record<string, unknown> | readonly unknown[])[],
  options?: StringifyOptions,
): string;

/** CSV text to rows; with `skipFirstRow` to objects keyed by the first row. */
export function parse(
  input: string,
  options: { skipFirstRow: true; separator?: string; comment?: string },
): Record<string, string>[];
export function parse(
  input: string,
  options?: { skipFirstRow?: false; separator?: string; comment?: string },
): string[][];
