/**
 * Opens the outputs of rows.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { redactUrl } from "../../core/redact.ts";
import { type Field, FIELDS } from "../../core/record.ts";
import { PROTOCOLS } from "../../protocols/list.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { ScanEnd } from "../../scan/scan_setup.ts";
import type { ScanState } from "../../scan/scan_state.ts";
import type { Offsets } from "../../scan/checkpoint/checkpoint_file.ts";
import type { ReopenedOutput } from "../../scan/checkpoint/resumed_rows.ts";
import { csvFormat } from "../../sinks/csv.ts";
import { jsonFormat, ndjsonFormat } from "../../sinks/json.ts";
import { grepFormat, hostPortFormat } from "../../sinks/line_formats.ts";
import { systemClock } from "../../net/clock.ts";
import { openFile, reopenFile, standardOutput } from "../../sinks/file_output.ts";
import type { ReaderWait } from "../../sinks/named_pipe.ts";
import { type Format, type Output, type Sink, TextSink } from "../../sinks/sink.ts";
import { parseDatabaseLocation } from "../../store/database_location.ts";
import { userPath } from "../environment.ts";
import { Interrupted } from "../interrupt_signals.ts";
import { unavailableReason } from "../../store/spilling_store.ts";
import { type RowOrder, SortingSink } from "./sorting_sink.ts";
import { OUTPUT_FORMAT_LIST, type OutputFormat } from "./output_formats.ts";
import { fieldsTable, serverTable } from "./table_format.ts";

/** An output of rows, and its format. */
export interface OutputPlan {
  /** A path, or `-`. */
  readonly path: string;
  /** The format of the rows. */
  readonly format: Format;
  /** Whether the servers in the output can be read back. */
  readonly readable: boolean;
  /** The order of the rows; `undefined`: the order in which they are found. */
  readonly order?: RowOrder;
}

type MakeFormat = (fields: readonly Field[], allProtocols: readonly Protocol[]) => Format;

/** Makes each format from the columns of the rows. */
const FORMATS: Readonly<Record<OutputFormat, MakeFormat>> = {
  csv: (fields) => csvFormat(fields),
  ndjson: (fields) => ndjsonFormat(fields),
  json: (fields) => jsonFormat(fields),
  hostport: () => hostPortFormat,
  grep: (_, allProtocols) => grepFormat(allProtocols),
  table: (fields) => fieldsTable(fields, Infinity),
};

/** Formats whose rows hold the chosen columns and no others. */
const HAS_FIELDS = new Set(["csv", "ndjson", "json"]);

/** The columns of the rows, and the table that shows them. */
export interface RowKind {
  /** The columns of the rows. */
  readonly columns: readonly Field[];
  /** Makes a table format for a terminal of this many columns. */
  readonly table: (space: number) => Format;
}

const SCANNED: RowKind = { columns: FIELDS, table: serverTable };

/** The options that select outputs and formats. */
export interface OutputOptions {
  /** Paths of files and databases, and `-`. Default: standard output. */
  readonly output?: readonly string[];
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
 * @param allProtocols Every protocol that rows may name.
 * @throws InputError for an unknown column or format, or two outputs with one path.
 */
export function planOutputs(
  options: OutputOptions,
  terminal: number | undefined,
  { columns, table }: RowKind = SCANNED,
  allProtocols: readonly Protocol[] = PROTOCOLS,
  order?: RowOrder,
): OutputPlan[] {
  const isTerminal = terminal !== undefined;
  const { fields = columns, format } = options;
  const identified = ["host", "port"].every((name) => fields.some((one) => one.name === name));
  const plans = namedOutputs(options, isTerminal);
  if (plans.length === 0 && (options.output ?? []).length === 0) {
    plans.push({ path: "-", name: formatOf("-", format, isTerminal) });
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
    format: name === "table" ? drawn(path) : FORMATS[name](fields, allProtocols),
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
  const { format } = options;
  return [
    ...paths.map((path) => ({ path, name: formatOf(path, format, isTerminal) })),
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
  const others = plans.slice(texts.length).map(({ path }) => path); // plans begin with these
  return [...named.map((text) => parseDatabaseLocation(text)?.file ?? text), ...others];
}

function formatOf(
  path: string,
  named: OutputFormat | undefined,
  isTerminal: boolean,
): OutputFormat {
  if (path === "-") return named ?? (isTerminal ? "table" : "ndjson");
  const suffix = /\.([^./\\]+)$/.exec(path)?.[1].toLowerCase() ?? "";
  const [chosen] = OUTPUT_FORMAT_LIST.find(([, { suffixes }]) => suffixes.includes(suffix)) ?? [];
  const format = chosen ?? named;
  if (format !== undefined) return format;
  throw new InputError(
    `Cannot choose a format for "${path}": end it in .csv, .ndjson, .json, .txt or .db, or give --format`,
  );
}

/** Outputs that are open. */
export interface OpenedOutputs {
  /** The outputs, in the order in which they were given. */
  readonly sinks: readonly Sink[];
  /** The length of each output, bytes; `null`: the output cannot be truncated. */
  readonly offsets: Offsets;
}

/** The callbacks and the signal for opening outputs. */
export interface OpenOutputsOptions {
  /** Called before rows go to standard output. */
  readonly beforeRows: () => void;
  /** Prints a line for the user. */
  readonly report: (line: string) => void;
  /** Ends the wait for the reader of a named pipe. Default: nothing does. */
  readonly signal?: AbortSignal;
}

/**
 * Opens all outputs, and truncates files only after that. A named pipe is opened once it has a reader.
 *
 * @throws InputError for the first output that cannot be written, Interrupted where the signal ends
 * the wait for a reader. The contents of all files are kept then.
 */
export async function openOutputs(
  plans: readonly OutputPlan[],
  append: boolean,
  options: OpenOutputsOptions,
): Promise<OpenedOutputs> {
  const { beforeRows } = options;
  const files = await openEach(
    plans,
    options,
    ({ path, format }, wait) => openFile(path, format, append, wait),
  );
  const opened = plans.map((plan) => files.get(plan));
  try {
    for (const { output, length } of files.values()) await output.truncate(length);
  } catch (error) {
    await closeAll(files);
    throw error;
  }
  return {
    sinks: plans.map(({ format, order }, i) => {
      const { output, length, separator } = opened[i] ?? {};
      return ordered(
        new TextSink(output ?? standardOutput(beforeRows), format, length, separator),
        order,
      );
    }),
    offsets: opened.map((file) => file?.regular ? file.length : null),
  };
}

function ordered(sink: Sink, order: RowOrder | undefined): Sink {
  return order === undefined ? sink : new SortingSink(sink, order);
}

/** Outputs of a scan to resume, in the state of its checkpoint. */
export interface ReopenedOutputs {
  /** The outputs, truncated to their length in the checkpoint. */
  readonly outputs: readonly ReopenedOutput[];
  /** Truncates the outputs, and appends to them from there. */
  readonly cut: (offsets: Offsets) => Promise<Sink[]>;
}

/**
 * Opens the outputs of a scan to resume. None is truncated yet.
 *
 * @throws InputError for the first output that cannot be written, Interrupted where the signal ends
 * the wait for a reader.
 */
export async function reopenOutputs(
  plans: readonly OutputPlan[],
  options: OpenOutputsOptions,
): Promise<ReopenedOutputs> {
  const { beforeRows } = options;
  const files = await openEach(plans, options, ({ path }, wait) => reopenFile(path, wait));
  const outputs = plans.map((plan) => ({
    name: `"${plan.path}"`,
    length: files.get(plan)?.length ?? null,
  }));
  const cut = async (offsets: Offsets) => {
    const sinks: Sink[] = [];
    for (const [i, plan] of plans.entries()) {
      const file = files.get(plan);
      const offset = offsets[i];
      if (file === undefined || offset === null) {
        const sink = new TextSink(file?.output ?? standardOutput(beforeRows), plan.format);
        sinks.push(ordered(sink, plan.order));
        continue;
      }
      const separator = await file.separatorAfter(offset, plan.format);
      await file.output.truncate(offset);
      sinks.push(new TextSink(file.output, plan.format, offset, separator));
    }
    return sinks;
  };
  return { outputs, cut };
}

/** Opens the files among the outputs. If one cannot be opened, closes the others again. */
async function openEach<File extends { readonly output: Output }>(
  plans: readonly OutputPlan[],
  { report, signal }: OpenOutputsOptions,
  open: (plan: OutputPlan, wait: ReaderWait) => Promise<File>,
): Promise<Map<OutputPlan, File>> {
  const files = new Map<OutputPlan, File>();
  const wait = {
    clock: systemClock,
    signal,
    report: (path: string) => report(`blocksweep: waiting for a reader of the pipe "${path}"`),
  };
  try {
    for (const plan of plans) {
      if (plan.path === "-") continue;
      files.set(plan, await open({ ...plan, path: userPath(plan.path) }, wait));
    }
  } catch (error) {
    await closeAll(files);
    throw signal?.aborted ? new Interrupted() : error;
  }
  return files;
}

async function closeAll(files: ReadonlyMap<OutputPlan, { readonly output: Output }>) {
  for (const { output } of files.values()) await output[Symbol.asyncDispose]();
}

/**
 * Closes the outputs. Rows count as written only when their file closes without an error. A scan that
 * was interrupted still ends as interrupted if a database is unavailable: its rows are kept in a file.
 *
 * @param before Called before the outputs are closed.
 */
export async function closeOutputs(
  sinks: readonly Sink[],
  end: ScanEnd,
  state: ScanState,
  before: () => Promise<void>,
): Promise<ScanEnd> {
  let error = end.error;
  let absence: Error | undefined;
  for (const step of [before, ...sinks.map((sink) => () => sink[Symbol.asyncDispose]())]) {
    try {
      await step();
    } catch (fault) {
      if (end.reason === "interrupted" && unavailableReason(fault)) absence ??= fault as Error;
      else error ??= fault as Error;
    }
  }
  if (error === undefined) return { ...end, error: absence };
  state.ended = "failed";
  return { ...end, reason: "failed", error };
}
