/**
 * Named pipes that rows go to. The system blocks a thread that opens a pipe to write until a reader has
 * opened it, and no signal ends that: so a pipe is opened once it has a reader.
 *
 * @module
 */
import { closeSync, constants, openSync } from "node:fs";
import { type Clock, sleep } from "../net/clock.ts";

/** How to wait for the reader of a named pipe. */
export interface ReaderWait {
  /** The clock. */
  readonly clock: Clock;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
  /** Called with the path of a pipe that has no reader, once. */
  readonly report: (path: string) => void;
}

/** How long a pipe without a reader is left alone, milliseconds. */
const PAUSE_MS = 50;

/** Whether a path leads to a pipe; false where the program may not find out. */
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
 * Opens a pipe to write, as soon as it has a reader.
 *
 * @throws {@linkcode ReaderWait.signal}'s reason, where that ends the wait; else the system's error.
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

/** Opens a pipe that has a reader, and closes what is held of it. */
async function openHeld(path: string, held: readonly number[]): Promise<Deno.FsFile> {
  try {
    return await Deno.open(path, { write: true });
  } finally {
    held.forEach(closeSync);
  }
}

/**
 * Opens a pipe to write without blocking, which admits a waiting reader, and then to read: so the next
 * program that opens the pipe is not blocked, though that reader may have left.
 *
 * @returns Descriptors; none where the system refuses for another reason than a missing reader.
 */
function hold(path: string): readonly number[] | "no reader" {
  const held: number[] = [];
  try {
    held.push(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK));
    held.push(openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
  } catch (error) {
    if ((error as { code?: unknown }).code === "ENXIO") return "no reader";
    if (error instanceof Deno.errors.NotCapable && held.length === 0) throw error;
  }
  return held;
}
