/**
 * File descriptors: counting the free ones, and retrying when there are none. Deno does not report
 * the limit of the process, nor the descriptors in use. Free ones are therefore counted by opening
 * them.
 *
 * @module
 */
import { type Clock, sleep } from "./clock.ts";

/** An object with an open descriptor, which is closed when the object is disposed of. */
interface Held {
  [Symbol.asyncDispose](): PromiseLike<void>;
}

/**
 * Counts the free descriptors by opening up to `most` at once, and closes them again.
 *
 * @param most Maximum number of descriptors to open.
 * @param open Opens one; throws when none is free.
 * @returns The number of free descriptors, at most `most`.
 */
export async function descriptorsLeft(most: number, open: () => Held): Promise<number> {
  const held: Held[] = [];
  try {
    while (held.length < most) held.push(open());
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
  }
  await Promise.all(held.map((one) => one[Symbol.asyncDispose]()));
  return held.length;
}

/** Error codes of shortages on this machine: of descriptors, ports or memory. */
const SHORTAGES = new Set(["EMFILE", "ENFILE", "EADDRNOTAVAIL", "ENOBUFS", "ENOMEM", "EAGAIN"]);

/** Whether an error code means that this machine lacks a resource. */
export function isShortage(code: string): boolean {
  return SHORTAGES.has(code);
}

/** Whether an error code means that no descriptor is free. */
export function isOutOfDescriptors(code: string): boolean {
  return code === "EMFILE" || code === "ENFILE";
}

/** The reason and the remedy, in messages. */
export const NO_DESCRIPTORS = "no file descriptors left; raise the limit (ulimit -n)";

/** Whether an error means that no descriptor is free. */
export function lacksDescriptor(error: unknown): boolean {
  return isOutOfDescriptors(String((error as { code?: unknown }).code));
}

/**
 * Number of free descriptors, at most `most`; `most` if they cannot be counted.
 *
 * @param most Maximum number of descriptors to open at once.
 * @param open Opens one.
 */
export function freeDescriptors(most: number, open: () => Disposable): number {
  using held = new DisposableStack();
  let count = 0;
  try {
    for (; count < most; count++) held.use(open());
    return most;
  } catch (error) {
    return lacksDescriptor(error) ? count : most;
  }
}

/**
 * Number of retries after a shortage, and the pause between them, milliseconds. Together they last
 * longer than an open connection.
 */
const TRIES = 150;
const PAUSE_MS = 100;

/** Milliseconds after which a shortage is reported, and after which {@linkcode openWithRetries} gives up. */
const REPORTED_MS = 1000;
const LASTING_MS = TRIES * PAUSE_MS;

/**
 * The state of a shortage, shared by all sockets and connections. When it has lasted for 15 seconds,
 * connections and sockets of interviews are no longer retried. Probes over TCP ignore that: they wait until a
 * descriptor is free or the scan is cancelled, so that no target is left out.
 */
export class Shortage {
  /** Start of the shortage, milliseconds; `undefined`: none. */
  #since: number | undefined;
  #reported = false;

  /**
   * Creates the state without a shortage.
   *
   * @param clock The clock that measures the shortage.
   * @param report Called once when a shortage has lasted for a second, with the error code if
   * known.
   */
  constructor(
    private readonly clock: Pick<Clock, "now">,
    private readonly report: (code: string | undefined) => void,
  ) {}

  /**
   * Records that opening failed.
   *
   * @param code The error code, if known.
   * @returns Whether to retry.
   */
  recordFailure(code?: string): boolean {
    const now = this.clock.now();
    this.#since ??= now;
    if (!this.#reported && now - this.#since >= REPORTED_MS) {
      this.#reported = true;
      this.report(code);
    }
    return now - this.#since < LASTING_MS;
  }

  recordSuccess(): void {
    this.#since = undefined;
  }
}

/** Options of {@linkcode openWithRetries}. */
export interface ShortageRetryOptions {
  /** The clock for the pauses. */
  readonly clock: Clock;
  /** Cancels the retries when it aborts. */
  readonly signal: AbortSignal;
  /** Called at each failure for a shortage. */
  readonly onShortage?: () => void;
  /** The state that all openers share. Default: none. */
  readonly shortage?: Shortage;
}

/**
 * Opens a socket or connection, and retries for 15 seconds while no descriptor is free.
 *
 * @param open Opens it; returns `"exhausted"` for a shortage, or throws the system's error.
 * @returns `"exhausted"` when the shortage has lasted for 15 seconds here or for another opener.
 */
export async function openWithRetries<T>(
  open: () => T | Promise<T>,
  { clock, signal, onShortage, shortage }: ShortageRetryOptions,
): Promise<T | "exhausted"> {
  for (let left = TRIES;; left--) {
    const [opened, code] = await tryOpen(open);
    if (opened !== "exhausted") shortage?.recordSuccess();
    if (opened !== "exhausted" || left === 0 || signal.aborted) return opened;
    onShortage?.();
    if (shortage?.recordFailure(code) === false) return opened;
    await sleep(clock, PAUSE_MS, signal);
  }
}

/** Opens once; returns `"exhausted"` for a shortage, with the error code if known. */
async function tryOpen<T>(
  open: () => T | Promise<T>,
): Promise<[T] | [T | "exhausted", code?: string]> {
  try {
    return [await open()];
  } catch (error) {
    const code = String((error as { code?: unknown }).code);
    if (isShortage(code)) return ["exhausted", code];
    throw error;
  }
}
