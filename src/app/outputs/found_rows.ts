/**
 * Rows that a command writes one by one, as servers are found.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { redactUrl } from "../../core/redact.ts";
import type { ServerRecord } from "../../core/record.ts";
import type { Sink } from "../../sinks/sink.ts";
import { parseDatabaseLocation } from "../../store/database_location.ts";
import { whileRead } from "./closed_pipe.ts";
import { openOutputs, type OpenOutputsOptions } from "./open_outputs.ts";
import type { OutputFormat } from "./output_formats.ts";
import { type OutputOptions, type OutputPlan, planOutputs } from "./plan_outputs.ts";

/** The options of a command that may write rows to files. */
export interface FoundRowsOptions extends OutputOptions {
  /** Whether to print NDJSON, whatever else is written. */
  readonly json: boolean;
}

/**
 * The outputs that options name; none without such an option.
 *
 * @param terminal Columns of the terminal at standard output; `undefined`: no terminal.
 * @throws InputError for outputs that cannot be written together.
 */
export function planFoundRows(
  options: FoundRowsOptions,
  terminal: number | undefined,
): OutputPlan[] {
  const { json, output = [], oD = [], oJ = [], oG = [], oL = [] } = options;
  const format = formatWithJson(options);
  if (!options.takesDatabases) refuseDatabases(output, "write to");
  const files = [...output, ...oD, ...oJ, ...oG, ...oL];
  if (files.length === 0 && format === undefined) return [];
  const printed = json && files.length > 0 ? ["-"] : [];
  return planOutputs({ ...options, format, oD: [...oD, ...printed] }, terminal);
}

/** The format of `--format`; `--json` means `--format ndjson`. */
export function formatWithJson(
  { json, format }: { readonly json: boolean; readonly format: OutputFormat | undefined },
): OutputFormat | undefined {
  if (!json) return format;
  if (format === undefined || format === "ndjson") return "ndjson";
  throw new InputError(`Cannot use --json with --format ${format}: it means --format ndjson`);
}

/**
 * Refuses databases among the outputs of a command that writes only files.
 *
 * @param attempt What the command does, for example `export to`.
 */
export function refuseDatabases(output: readonly string[], attempt: string): void {
  const database = output.find((path) => parseDatabaseLocation(path) !== undefined);
  if (database === undefined) return;
  throw new InputError(
    `Cannot ${attempt} "${
      redactUrl(database)
    }", which is a database: ${attempt} .ndjson, and import that file`,
  );
}

/** Writes rows to all outputs, in their order. */
export class FoundRows implements AsyncDisposable {
  /** The number of rows. */
  count = 0;
  readonly #sinks: readonly Sink[];
  readonly #failed = new AbortController();
  /** The rows of the next write. */
  readonly #waiting: ServerRecord[] = [];
  #written: Promise<void> = Promise.resolve();
  #closed: Promise<void> | undefined;

  /** Writes to open outputs. */
  constructor(sinks: readonly Sink[]) {
    this.#sinks = sinks;
  }

  /**
   * Opens the outputs.
   *
   * @throws InputError for the first output that cannot be written.
   */
  static async open(
    plans: readonly OutputPlan[],
    append: boolean,
    options: OpenOutputsOptions,
  ): Promise<FoundRows> {
    const { sinks } = await openOutputs(plans, append, options);
    return new FoundRows(whileRead(sinks, plans, options.report).sinks);
  }

  /** Aborted with the error of an output that cannot be written. */
  get signal(): AbortSignal {
    return this.#failed.signal;
  }

  /** Writes a row after all earlier ones. Never rejects: an error aborts {@linkcode signal}. */
  add(record: ServerRecord): Promise<void> {
    this.count++;
    if (this.#waiting.push(record) > 1) return this.#written;
    const write = async () => {
      const records = this.#waiting.splice(0);
      if (this.signal.aborted) return;
      for (const sink of this.#sinks) await sink.write(records);
    };
    return this.#written = this.#written.then(write).catch((error) => this.#failed.abort(error));
  }

  /** Waits until all rows are written; throws the first error. */
  async written(): Promise<void> {
    await this.#written;
    this.signal.throwIfAborted();
  }

  /** Waits until all rows are written, and closes the outputs; throws the first error. */
  close(): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    await using stack = new AsyncDisposableStack();
    for (const sink of this.#sinks) stack.use(sink);
    await this.written();
  }

  /** As {@linkcode close}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
