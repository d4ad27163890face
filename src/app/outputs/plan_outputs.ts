/**
 * Which outputs of rows the options name, and the format of each. Nothing is opened.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { redactUrl } from "../../core/redact.ts";
import { type Field, FIELDS } from "../../core/record.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { type Format } from "../../sinks/sink.ts";
import { type FormatSpec, TEXT_FORMATS } from "../../sinks/text_formats.ts";
import { parseDatabaseLocation } from "../../store/database_location.ts";
import { type RowOrder } from "./sorting_sink.ts";
import { OUTPUT_FORMAT_LIST, type OutputFormat } from "./output_formats.ts";
import { fieldsTable, serverTable } from "./table_format.ts";

export interface OutputPlan {
  /** A path, or `-`. */
  readonly path: string;
  readonly format: Format;
  /** The format as another thread makes it; `undefined` for a table. */
  readonly spec?: FormatSpec;
  /** Whether a resumed scan can read back which servers are in the output. */
  readonly readable: boolean;
  /** The order of the rows; `undefined`: the order in which they are found. */
  readonly order?: RowOrder;
}

/** Formats whose rows contain the chosen columns and no others. */
const HAS_FIELDS = new Set(["csv", "csv-text", "ndjson", "json"]);

/** The columns of the rows, and the table that shows them. */
export interface RowKind {
  readonly columns: readonly Field[];
  /** Makes a table format for a terminal of this many columns. */
  readonly table: (space: number) => Format;
}

const SCANNED: RowKind = { columns: FIELDS, table: serverTable };

/** The options that select outputs and formats. */
export interface OutputOptions {
  /** Every protocol that rows may name. */
  readonly allProtocols: readonly Protocol[];
  /** Paths of files and databases, and `-`. Default: standard output. */
  readonly output?: readonly string[];
  /** Whether the command writes to databases too. Default: no. */
  readonly takesDatabases?: boolean;
  /** The format of outputs without a known suffix. */
  readonly format: OutputFormat | undefined;
  /** The columns of the rows. Default: all. */
  readonly fields: readonly Field[] | undefined;
  /** Paths of `-oD`: NDJSON, one JSON object per line. */
  readonly oD?: readonly string[];
  /** Paths of `-oJ`: one JSON array. */
  readonly oJ?: readonly string[];
  /** Paths of `-oG`: grepable lines. */
  readonly oG?: readonly string[];
  /** Paths of `-oL`: `host:port` lines. */
  readonly oL?: readonly string[];
}

/**
 * The outputs that the options name, without databases. Without such options, rows go to standard
 * output: as a table on a terminal, else as NDJSON.
 *
 * @param terminal Columns of the terminal at standard output; `undefined`: no terminal.
 * @throws InputError for an unknown column or format, or two outputs with one path.
 */
export function planOutputs(
  options: OutputOptions,
  terminal: number | undefined,
  { columns, table }: RowKind = SCANNED,
  order?: RowOrder,
): OutputPlan[] {
  const isTerminal = terminal !== undefined;
  const { fields = columns, allProtocols } = options;
  const identified = ["host", "port"].every((name) => fields.some((one) => one.name === name));
  const plans = namedOutputs(options, isTerminal);
  if (plans.length === 0 && (options.output ?? []).length === 0) {
    plans.push({ path: "-", name: formatOf("-", options, isTerminal) });
  }
  if (plans.filter(({ path }) => path === "-").length > 1) {
    throw new InputError("Cannot write two outputs to standard output");
  }
  const chosen = options.fields !== undefined;
  const drawn = (path: string) => {
    const space = path === "-" && isTerminal ? terminal : Infinity;
    return chosen ? fieldsTable(fields, space) : table(space);
  };
  const sorted = plans.some(({ path, name }) => path === "-" && name === "table");
  if (order !== undefined && !sorted) {
    throw new InputError(
      "Cannot use --sort: it is for a table on standard output (--format table)",
    );
  }
  return plans.map(({ path, name }) => ({
    path,
    ...(path === "-" && order !== undefined && { order }),
    ...(name === "table" ? { format: drawn(path) } : {
      format: TEXT_FORMATS[name](fields, allProtocols),
      spec: { name, columns: fields.map((field) => field.name) },
    }),
    readable: path !== "-" && name !== "json" && (name === "table"
      ? !chosen // the format has a column that names the server
      : identified || !HAS_FIELDS.has(name)),
  }));
}

/** The outputs that options name, without databases. */
function namedOutputs(
  options: OutputOptions,
  isTerminal: boolean,
): { readonly path: string; readonly name: OutputFormat }[] {
  const paths = (options.output ?? []).filter((path) => parseDatabaseLocation(path) === undefined);
  return [
    ...paths.map((path) => ({ path, name: formatOf(path, options, isTerminal) })),
    ...OUTPUT_FORMAT_LIST.flatMap(([name, { option }]) =>
      (option && options[option] || []).map((path) => ({ path: fileOf(path, option!), name }))
    ),
  ];
}

/** The path of a file. The file of a database is refused: it would be truncated. */
function fileOf(path: string, option: string): string {
  if (parseDatabaseLocation(path) === undefined) return path;
  throw new InputError(
    `Cannot use -${option} "${redactUrl(path)}": it names a database, and -${option} writes files`,
  );
}

/**
 * All outputs of rows, databases included: those of `--output` in the order of the command line, then
 * those of `-oD`, `-oJ`, `-oG` and `-oL`. Without such options: standard output.
 */
export function outputPaths(
  { output: named }: { readonly output: readonly string[] },
  plans: readonly OutputPlan[],
): string[] {
  const texts = named.filter((text) => parseDatabaseLocation(text) === undefined);
  // The first plans are those of `texts`.
  const others = plans.slice(texts.length).map(({ path }) => path);
  return [...named.map((text) => parseDatabaseLocation(text)?.file ?? text), ...others];
}

function formatOf(
  path: string,
  { format: named, takesDatabases = false }: OutputOptions,
  isTerminal: boolean,
): OutputFormat {
  if (path === "-") return named ?? (isTerminal ? "table" : "ndjson");
  const suffix = /\.([^./\\]+)$/.exec(path)?.[1].toLowerCase() ?? "";
  const [chosen] = OUTPUT_FORMAT_LIST.find(([, { suffixes }]) => suffixes.includes(suffix)) ?? [];
  const format = chosen === "csv" && named === "csv-text" ? named : chosen ?? named;
  if (format !== undefined) return format;
  const suffixes = takesDatabases
    ? ".csv, .ndjson, .json, .txt or .db"
    : ".csv, .ndjson, .json or .txt";
  throw new InputError(
    `Cannot choose a format for "${path}": end it in ${suffixes}, or give --format`,
  );
}
