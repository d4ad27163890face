/**
 * The formats of rows: `--format`.
 *
 * @module
 */
import type { Field } from "../../core/record.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { csvFormat } from "../../sinks/csv.ts";
import { jsonFormat, ndjsonFormat } from "../../sinks/json.ts";
import { grepFormat, hostPortFormat } from "../../sinks/line_formats.ts";
import type { Format } from "../../sinks/sink.ts";
import { fieldsTable } from "./table_format.ts";

type MakeFormat = (fields: readonly Field[], allProtocols: readonly Protocol[]) => Format;

/** The formats by name: what makes each from the columns of the rows. */
export const OUTPUT_FORMATS = {
  csv: (fields) => csvFormat(fields),
  ndjson: (fields) => ndjsonFormat(fields),
  json: (fields) => jsonFormat(fields),
  hostport: () => hostPortFormat,
  grep: (_, allProtocols) => grepFormat(allProtocols),
  table: (fields) => fieldsTable(fields, Infinity),
} as const satisfies Readonly<Record<string, MakeFormat>>;

/** The name of a format. */
export type OutputFormat = keyof typeof OUTPUT_FORMATS;
