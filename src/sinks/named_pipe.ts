/**
 * Named pipes as outputs. Opening a pipe for writing blocks the thread until a reader opens the pipe, and
 * cannot be cancelled. A pipe is therefore opened only when it has a reader.
 *
 * @module
 */
import { nodeFs } from "../core/node_modules.ts";
import { type Clock, sleep } from "../net/clock.ts";

/** How to wait for the reader of a named pipe. */
export interface ReaderWait {
  /** The clock that measures the pauses. */
  readonly clock: Clock;
  /** Cancels the wait. Default: none. */
  readonly signal?: AbortSignal;
  /** Called once with the path when the pipe has no reader. */
  readonly report: (path: string) => void;
}

/** Pause between two attempts to open a pipe, milliseconds. */
const PAUSE_MS = 50;

/** Whether a path leads to a named pipe; `false` without the permission to read the path. */
export async function isPipe(path: string): Promise<boolean> {
  const { state } = await Deno.permissions.query({ name: "read", path });
  if (state !== "granted") return false;
  try {
    return (await Deno.stat(path)).isFifo === true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/**
 * Opens a pipe for writing as soon as it has a reader.
 *
 * @throws The reason of {@linkcode ReaderWait.signal} when it cancels the wait; else the system's error.
 */
export async function openPipe(path: string, wait: ReaderWait): Promise<Deno.FsFile> {
  const { clock, signal, report } = wait;
  for (let tries = 0;; tries++) {
    signal?.throwIfAborted();
    const held = hold(path);
    if (held !== "no reader") return await openHeld(path, held);
    if (tries === 0) report(path);
    await sleep(clock, PAUSE_MS, signal);
  }
}

/** Opens a pipe that has a reader, and closes the descriptors of {@linkcode hold}. */
async function openHeld(path: string, held: readonly number[]): Promise<Deno.FsFile> {
  try {
    return await Deno.open(path, { write: true });
  } finally {
    held.forEach(nodeFs().closeSync);
  }
}

/**
 * Opens a pipe twice without blocking: for writing, which unblocks a waiting reader, and then for
 * reading. While the two descriptors are open, opening the pipe for writing does not block, even if the
 * reader has closed the pipe.
 *
 * @returns The descriptors; none when the system refuses to open the pipe for a reason other than a
 * missing reader.
 */
function hold(path: string): readonly number[] | "no reader" {
  const held: number[] = [];
  try {
    const { constants, openSync } = nodeFs();
    held.push(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
    held.push(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENXIO") return "no reader";
    if (error instanceof Deno.errors.NotCapable && held.length === 0) throw error;
  }
  return held;
}
