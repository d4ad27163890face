/**
 * The formats of rows: `--format`, and what chooses them.
 *
 * @module
 */

/** What there is to know of a format. */
export interface OutputFormatDescription {
  /** The suffixes of files that choose it. */
  readonly suffixes: readonly string[];
  /** The option that names a file in it. */
  readonly option?: "oD" | "oJ" | "oG" | "oL";
  /** What a file in it holds. */
  readonly holds: string;
}

/** The formats by name. */
export const OUTPUT_FORMATS = {
  csv: { suffixes: ["csv"], holds: "RFC 4180, one line per row" },
  ndjson: {
    suffixes: ["ndjson", "jsonl"],
    option: "oD",
    holds: 'one JSON object per line, with `"schema": 1`',
  },
  json: { suffixes: ["json"], option: "oJ", holds: "a JSON array of the same objects" },
  hostport: { suffixes: ["txt"], option: "oL", holds: "`host:port` per line" },
  grep: {
    suffixes: ["gnmap"],
    option: "oG",
    holds: "the grepable line of nmap and masscan",
  },
  table: {
    suffixes: [],
    holds: "a table for people: the default on a terminal (in a pipe: `ndjson`)",
  },
} as const satisfies Readonly<Record<string, OutputFormatDescription>>;

/** The name of a format. */
export type OutputFormat = keyof typeof OUTPUT_FORMATS;

/** The names of the formats, and what there is to know of each. */
export const OUTPUT_FORMAT_LIST = Object.entries(OUTPUT_FORMATS) as readonly [
  OutputFormat,
  OutputFormatDescription,
][];
