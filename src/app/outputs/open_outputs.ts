/**
 * Opens, reopens and closes the outputs of rows.
 *
 * @module
 */
import type { Offsets, ReopenedOutput, ScanEnd, ScanState } from "../../scan/mod.ts";
import { systemClock } from "../../net/clock.ts";
import { openFile, reopenFile, standardOutput } from "../../sinks/file_output.ts";
import type { ReaderWait } from "../../sinks/named_pipe.ts";
import { type Output, type Sink, TextSink } from "../../sinks/sink.ts";
import type { WholeFile } from "../../sinks/whole_files.ts";
import { userPath } from "../environment.ts";
import { Interrupted } from "../interrupt_signals.ts";
import { unavailableReason } from "../../store/database/database.ts";
import { type RowOrder, SortingSink } from "./sorting_sink.ts";
import type { OutputPlan } from "./plan_outputs.ts";

export interface OpenedOutputs {
  /** The outputs, in the order in which they were given. */
  readonly sinks: readonly Sink[];
  /** The length of each output, bytes; `null`: the output cannot be truncated. */
  readonly offsets: Offsets;
  /** Closes the files as they are, in place of the sinks. */
  readonly files: AsyncDisposableStack;
  /** The files that are to be completed or discarded after the sinks were closed. */
  readonly wholeFiles: readonly WholeFile[];
}

/** The callbacks and the signal for opening outputs. */
export interface OpenOutputsOptions {
  /** Writes some of the bytes of rows to standard output, and returns their number. */
  readonly writeRows: Output["write"];
  /** Prints a line for the user. */
  readonly report: (line: string) => void;
  /** Ends the wait for the reader of a named pipe. Default: nothing does. */
  readonly signal?: AbortSignal;
  /** Whether files are replaced when they are complete, unless rows are appended. Default: no. */
  readonly replacesFiles?: boolean;
}

/**
 * Opens all outputs, and truncates files only after that. A named pipe is opened once it has a reader.
 *
 * @throws InputError for the first output that cannot be written, Interrupted if the signal ends
 * the wait for a reader. The contents of all files are kept then.
 */
export async function openOutputs(
  plans: readonly OutputPlan[],
  append: boolean,
  options: OpenOutputsOptions,
): Promise<OpenedOutputs> {
  const { writeRows, replacesFiles = false } = options;
  await using opening = new AsyncDisposableStack();
  const wholeFiles: WholeFile[] = [];
  const files = await openEach(plans, options, opening, async ({ path, format }, wait) => {
    const whole = replacesFiles && !append ? await replacementOf(path) : undefined;
    if (whole === undefined) return await openFile(path, format, append, wait);
    wholeFiles.push(whole);
    opening.defer(() => whole.discard()); // unless all are opened
    return await openFile(whole.partialPath, format, append, wait);
  });
  const opened = plans.map((plan) => files.get(plan));
  for (const { output, length } of files.values()) await output.truncate(length);
  return {
    sinks: plans.map(({ format, order }, i) => {
      const { output, length, separator } = opened[i] ?? {};
      return ordered(
        new TextSink(output ?? standardOutput(writeRows), format, length, separator),
        order,
      );
    }),
    offsets: opened.map((file) => file?.regular ? file.length : null),
    files: opening.move(),
    wholeFiles,
  };
}

async function replacementOf(path: string): Promise<WholeFile | undefined> {
  const { beginWholeFile } = await import("../../sinks/whole_files.ts"); // scans do not need it
  return await beginWholeFile(path);
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
  /** Closes the files as they are, in place of the sinks. */
  readonly files: AsyncDisposableStack;
}

/**
 * Opens the outputs of a scan to resume. None is truncated yet.
 *
 * @throws InputError for the first output that cannot be written, Interrupted if the signal ends
 * the wait for a reader.
 */
export async function reopenOutputs(
  plans: readonly OutputPlan[],
  options: OpenOutputsOptions,
): Promise<ReopenedOutputs> {
  const { writeRows } = options;
  await using opening = new AsyncDisposableStack();
  const files = await openEach(
    plans,
    options,
    opening,
    ({ path }, wait) => reopenFile(path, wait),
  );
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
        const sink = new TextSink(file?.output ?? standardOutput(writeRows), plan.format);
        sinks.push(ordered(sink, plan.order));
        continue;
      }
      const separator = await file.separatorAfter(offset, plan.format);
      await file.output.truncate(offset);
      sinks.push(new TextSink(file.output, plan.format, offset, separator));
    }
    return sinks;
  };
  return { outputs, cut, files: opening.move() };
}

/** Opens the files among the outputs. */
async function openEach<File extends { readonly output: Output }>(
  plans: readonly OutputPlan[],
  { report, signal }: OpenOutputsOptions,
  opening: AsyncDisposableStack,
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
      const file = await open({ ...plan, path: userPath(plan.path) }, wait);
      opening.use(file.output);
      files.set(plan, file);
    }
  } catch (error) {
    throw signal?.aborted ? new Interrupted() : error;
  }
  return files;
}

/**
 * Closes the outputs. Rows count as written only when their file closes without an error. A scan that
 * was interrupted still ends as interrupted if a database is unavailable, because the rows for that
 * database are in the spill file.
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
  let unavailable: Error | undefined;
  for (const step of [before, ...sinks.map((sink) => () => sink[Symbol.asyncDispose]())]) {
    try {
      await step();
    } catch (fault) {
      if (end.reason === "interrupted" && unavailableReason(fault)) unavailable ??= fault as Error;
      else error ??= fault as Error;
    }
  }
  if (error === undefined) return { ...end, error: unavailable };
  state.ended = "failed";
  return { ...end, reason: "failed", error };
}
