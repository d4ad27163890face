/**
 * The formats of rows, and the options and suffixes that select them.
 *
 * @module
 */

export interface OutputFormatDescription {
  /** The file suffixes that select the format. */
  readonly suffixes: readonly string[];
  /** The option that names a file in this format. */
  readonly option?: "oD" | "oJ" | "oG" | "oL";
  /** The content of a file in this format, for help. */
  readonly content: string;
}

export const OUTPUT_FORMATS = {
  csv: { suffixes: ["csv"], content: "RFC 4180, one line per row" },
  "csv-text": {
    suffixes: [],
    content: "as `csv`, also for a file `.csv`; texts that look like a number or a date, such as " +
      "`guid`, start with an apostrophe",
  },
  ndjson: {
    suffixes: ["ndjson", "jsonl"],
    option: "oD",
    content: 'one JSON object per line, with `"schema": 1`',
  },
  json: { suffixes: ["json"], option: "oJ", content: "a JSON array of these objects" },
  hostport: { suffixes: ["txt"], option: "oL", content: "one `host:port` per line" },
  grep: {
    suffixes: ["gnmap"],
    option: "oG",
    content: "one line per row, in the grepable format of nmap and masscan",
  },
  table: {
    suffixes: [],
    content: "a table for people: the default on a terminal; the default in a pipe is `ndjson`",
  },
} as const satisfies Readonly<Record<string, OutputFormatDescription>>;

export type OutputFormat = keyof typeof OUTPUT_FORMATS;

/** The names of the formats, with the properties of each. */
export const OUTPUT_FORMAT_LIST = Object.entries(OUTPUT_FORMATS) as readonly [
  OutputFormat,
  OutputFormatDescription,
][];
