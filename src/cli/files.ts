/**
 * The files that a scan writes, judged before one of them is touched.
 *
 * @module
 */
import { resolve } from "node:path";
import { InputError } from "../errors.ts";
import { reason, userPath } from "./console.ts";

/** Files to write, by what they are for. */
export interface WrittenFiles {
  /** Rows; `-` is no file. */
  readonly outputs: readonly string[];
  /** The state, again and again. */
  readonly status: string | undefined;
  /** What is known at the end. */
  readonly metadata: string | undefined;
  /** The checkpoint that the user wants. */
  readonly checkpoint: string | undefined;
}

/**
 * Checks that no two things go to one file.
 *
 * @throws InputError for the first that would.
 */
export function checkApart({ outputs, status, metadata, checkpoint }: WrittenFiles): void {
  const rows = outputs.filter((path) => path !== "-");
  const all = [...rows, status, metadata, checkpoint].filter((path) => path !== undefined);
  const places = all.map((path) => resolve(userPath(path)));
  const twice = all.find((_, i) => places.indexOf(places[i]) < i);
  if (twice !== undefined) throw new InputError(`Cannot write two things to "${twice}"`);
}

/**
 * Checks that checkpoint, status and metadata can be written; the outputs are checked when they are opened.
 *
 * @throws InputError for the first that cannot be; nothing that the files hold is changed.
 */
export function checkWritten({ status, metadata, checkpoint }: WrittenFiles): void {
  if (checkpoint !== undefined) checkReplaceable(checkpoint);
  if (status !== undefined) checkReplaceable(status);
  if (metadata !== undefined) checkWritable(metadata);
}

/** A file that is renamed into its place: a pipe or a device would be replaced by it. */
function checkReplaceable(path: string): void {
  const existing = lookAt(path);
  if (existing !== undefined && !existing.isFile) {
    throw new InputError(`Cannot write to "${path}": it is no regular file`);
  }
  checkWritable(path);
}

function lookAt(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(userPath(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw refusal(path, error);
  }
}

function checkWritable(path: string): void {
  try {
    if (lookAt(path)?.isFile === false) return; // opening a pipe would wait for its reader
    Deno.openSync(userPath(path), { write: true, create: true }).close();
  } catch (error) {
    throw refusal(path, error);
  }
}

function refusal(path: string, error: unknown): unknown {
  if (error instanceof Deno.errors.NotCapable) return error;
  return new InputError(`Cannot write to "${path}": ${reason(error)}`);
}
