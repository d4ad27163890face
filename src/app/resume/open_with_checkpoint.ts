/**
 * Opens the outputs of a scan together with the checkpoint that records their positions.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { Clock } from "../../net/clock.ts";
import {
  type Checkpoint,
  checkpointError,
  type CheckpointIdentity,
  CheckpointWriter,
  countFrom,
  ListInUse,
  type Marks,
  type Offsets,
  type ReopenedOutput,
  type ScanState,
  type WriterOptions,
  WrittenRows,
  writtenRowsPath,
} from "../../scan/mod.ts";
import type { SpillingStore } from "../../store/mod.ts";
import { fileIdentity } from "../../sinks/file_identity.ts";
import { type DiskFile, systemDisk } from "../../sinks/file_operations.ts";
import type { Sink } from "../../sinks/sink.ts";
import { parseDatabaseLocation } from "../../store/database_location.ts";
import { reason, userPath, writeRefusal } from "../environment.ts";
import { openOutputs, type OpenOutputsOptions, reopenOutputs } from "../outputs/open_outputs.ts";
import type { OutputPlan } from "../outputs/plan_outputs.ts";
import { countOf } from "../../core/quantities.ts";
import type { Resumed } from "./read_resumed_scan.ts";

/** The path of a scan's checkpoint. */
export interface CheckpointLocation {
  /** The path as the user typed it, or as messages show it. */
  readonly path: string;
  /**
   * Whether the user requested it. If not, and the checkpoint cannot be written, the scan runs
   * without it.
   */
  readonly named: boolean;
  /**
   * The database beside which the checkpoint is, if the user did not name the checkpoint. Several scans
   * may write to it, each with its own checkpoint.
   */
  readonly database?: string;
}

/** The path of a scan's checkpoint: `--checkpoint`, or else a file beside the first output file. */
export function chooseCheckpoint(
  named: string | undefined,
  outputs: readonly string[],
): CheckpointLocation | undefined {
  if (named !== undefined) return { path: named, named: true };
  const first = outputs.find((path) =>
    path !== "-" && parseDatabaseLocation(path)?.postgres === undefined && isOrdinary(path)
  );
  if (first === undefined) return undefined;
  const location = { path: `${first}.checkpoint`, named: false };
  return parseDatabaseLocation(first) === undefined ? location : { ...location, database: first };
}

/** Whether a path is a file, or will be one. */
function isOrdinary(path: string): boolean {
  try {
    return Deno.statSync(userPath(path)).isFile;
  } catch {
    return true; // opening the file reports the error
  }
}

/** The outputs and the checkpoint of a running scan. */
export interface OpenedScan {
  readonly sinks: readonly Sink[];
  /** Endpoints whose rows an earlier run of the scan has written. */
  readonly responders: readonly Endpoint[];
  /** Writes the checkpoint, if there is one. */
  readonly writer: CheckpointWriter | undefined;
  /** The path of the checkpoint, if there is one. */
  readonly path?: string;
}

/** Options for the outputs and the checkpoint of a scan. */
export interface OpenScanOptions extends OpenOutputsOptions {
  readonly outputs: readonly OutputPlan[];
  /** Databases, which contain a row once even if it is written twice. */
  readonly stores: readonly SpillingStore[];
  readonly state: ScanState;
  readonly from: Marks;
  readonly clock: Clock;
  readonly identity: CheckpointIdentity;
  /** Closes what was opened, if the scan does not begin. */
  readonly opened: AsyncDisposableStack;
  /** Prints a warning, with `--quiet` too. */
  readonly warn: (line: string) => void;
}

export interface NewScanOptions {
  readonly location: CheckpointLocation | undefined;
  readonly append: boolean;
  readonly responders: readonly Endpoint[];
  readonly configuration: () => string;
}

/**
 * Opens everything for a new scan.
 *
 * @throws InputError when outputs, or a requested checkpoint, cannot be written; Interrupted
 * if the signal ends the wait for the reader of a pipe.
 */
export async function openNewScan(
  keeping: OpenScanOptions,
  beginning: NewScanOptions,
): Promise<OpenedScan> {
  const { outputs, stores, state, from, warn } = keeping;
  const { responders } = beginning;
  const startsFile = outputs.some(({ path }) => path !== "-");
  const claim = beginning.location && await claimLocation(beginning.location, startsFile);
  const list = claim?.file instanceof Error ? undefined : claim?.file;
  const release = async (error: unknown) => {
    if (list !== undefined) await abandon(list, claim!.location.path);
    throw error;
  };
  const opened = await openOutputs(outputs, beginning.append, keeping).catch(release);
  keeping.opened.use(opened.files);
  const sinks = [...opened.sinks, ...stores];
  if (claim === undefined) return { sinks, responders, writer: undefined };
  const { location: { path }, file } = claim;
  const offsets = [...opened.offsets, ...stores.map(() => null)];
  const writer = file instanceof Error ? file : await attempt(claim.location, async () => {
    const configuration = beginning.configuration();
    const options = writerOptions(keeping, { path, configuration, sinks, offsets });
    const replaced = await interruptedScan(path).catch(release);
    const started = await CheckpointWriter.start(options, file, from, state).catch(release);
    if (replaced !== undefined) {
      warn(`blocksweep: replaced "${path}": ${replaced} can no longer be resumed`);
    }
    return started;
  });
  if (list !== undefined) keeping.opened.use(list);
  if (!(writer instanceof Error)) return { sinks, responders, writer, path };
  warn(`blocksweep: cannot keep a checkpoint in "${path}": ${reason(writer)}`);
  return { sinks, responders, writer: undefined };
}

/** A claimed list file, or why there is none. */
interface Claim {
  readonly location: CheckpointLocation;
  readonly file: DiskFile | Error;
}

/**
 * Claims the list file of a new checkpoint. If a running or interrupted scan has that of a database,
 * the checkpoint gets a number: `servers.db.2.checkpoint`.
 *
 * @param startsFile Whether the scan starts a file over. An interrupted scan that wrote files may have
 * written this one, and could not be resumed, so its checkpoint is replaced.
 */
async function claimLocation(
  location: CheckpointLocation,
  startsFile: boolean,
  number = 2,
): Promise<Claim> {
  const checkpoint = userPath(location.path);
  const { database } = location;
  try {
    const claim = () => WrittenRows.claim(systemDisk, writtenRowsPath(checkpoint));
    const file = await attempt(location, claim);
    const mayReplace = database === undefined || startsFile && await wroteFiles(checkpoint);
    const isFree = mayReplace || await fileIdentity(checkpoint) === undefined;
    if (isFree || file instanceof Error) return { location, file };
    await abandon(file, location.path);
  } catch (error) {
    if (!(error instanceof ListInUse) || database === undefined) throw error;
  }
  const next = { ...location, path: `${database}.${number}.checkpoint` };
  return await claimLocation(next, startsFile, number + 1);
}

/** Whether the scan of a checkpoint wrote files, whose lengths are in the checkpoint. */
async function wroteFiles(path: string): Promise<boolean> {
  const text = await textOf(path) ?? "";
  return /"outputs": \[[^\]]*\d/.test(text);
}

/** The text of a file; `undefined`: there is none. */
async function textOf(path: string): Promise<string | undefined> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** The scan that an older checkpoint at a path resumes; `undefined`: there is no checkpoint. */
async function interruptedScan(path: string): Promise<string | undefined> {
  const text = await textOf(userPath(path));
  if (text === undefined || text === "") return undefined; // a check of the path creates the file
  const scanId = /"scanId": "([0-9a-f-]{36})"/.exec(text)?.[1];
  return scanId === undefined ? "the interrupted scan" : `the interrupted scan ${scanId}`;
}

/** Closes the list of rows without a change, and removes the file if it is empty. */
async function abandon(claimed: DiskFile, path: string): Promise<void> {
  const { length } = await claimed.read();
  await claimed[Symbol.asyncDispose]();
  if (length === 0) await systemDisk.remove(writtenRowsPath(userPath(path)));
}

/**
 * Opens a checkpoint. If it cannot be written, the scan runs without it.
 *
 * @returns Why the checkpoint cannot be written; `undefined` if it can.
 * @throws If the user requested the checkpoint, or another scan writes to it.
 */
async function attempt<T>(
  { path, named }: CheckpointLocation,
  open: () => Promise<T>,
): Promise<T | Error> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof InputError) throw error;
    if (!named) return error as Error;
    throw writeRefusal(path, error);
  }
}

/**
 * Opens everything to resume a scan. Rows that the checkpoint and its list do not record are cut off.
 * @throws InputError when an output has changed since; Interrupted if the signal ends the wait for
 * the reader of a pipe.
 */
export async function openResumedScan(
  keeping: OpenScanOptions,
  resumed: Resumed,
): Promise<OpenedScan> {
  const { outputs, stores, state, report } = keeping;
  const { checkpoint, writtenRows, configuration, path } = resumed;
  checkOutputCount(checkpoint.outputs, [...outputs, ...stores].length, path);
  const reopened = await reopenOutputs(outputs, keeping);
  keeping.opened.use(reopened.files);
  const databases = await reopenStores(stores, checkpoint, writtenRows.servers);
  const { offsets, responders, open } = writtenRows.cut([...reopened.outputs, ...databases]);
  const sinks = [...await reopened.cut(offsets), ...stores];
  try {
    const list = await open();
    const listed = { rows: responders.length, optOuts: writtenRows.optedOut.length };
    countFrom(state, checkpoint.counters, listed);
    const options = { path, configuration: writtenRows.configuration, sinks, offsets };
    const writer = CheckpointWriter.resume(
      writerOptions(keeping, options),
      list,
      responders.length,
    );
    await writer.save(checkpoint.marks, state);
    const loose = outputs.filter((_, i) => offsets[i] === null).map(({ path }) => path);
    if (loose.length > 0 && checkpoint.state === "running") {
      const names = loose.map((path) => path === "-" ? "standard output" : path).join(", ");
      report(
        `blocksweep: ${names} may get some servers twice: rows that were written there cannot be removed`,
      );
    }
    return { sinks, responders: [...configuration.responders, ...responders], writer, path };
  } catch (error) {
    throw checkpointError(path, error);
  }
}

/**
 * Finds the rows of a scan that databases contain.
 *
 * @param servers The endpoints in the checkpoint's list of rows.
 */
async function reopenStores(
  stores: readonly SpillingStore[],
  { scanId }: Checkpoint,
  servers: readonly string[],
): Promise<ReopenedOutput[]> {
  const reopened: ReopenedOutput[] = [];
  for (const store of stores) {
    const { name } = store.database;
    reopened.push({ name, length: null, missing: await store.serversWithoutRow(scanId, servers) });
  }
  return reopened;
}

function checkOutputCount({ length }: Offsets, outputs: number, path: string): void {
  if (length === outputs) return;
  throw new InputError(
    `Cannot resume "${path}": it is of a scan with ${
      countOf(length, "output")
    }, and this scan has ` +
      countOf(outputs, "output"),
  );
}

function writerOptions(
  { clock, identity, warn }: OpenScanOptions,
  rest: Pick<WriterOptions, "path" | "configuration" | "sinks" | "offsets">,
): WriterOptions {
  const { path } = rest;
  return {
    disk: systemDisk,
    clock,
    identity,
    ...rest,
    path: userPath(path),
    onFailure: (error) =>
      warn(`blocksweep: cannot write "${path}": ${reason(error)}; the scan continues`),
  };
}
