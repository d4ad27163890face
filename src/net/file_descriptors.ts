/**
 * Descriptors: how many are left, and what to do when there are none. Deno does not tell the limit of
 * the process, and the limit alone would not tell what is in use; so some are taken, and given back.
 *
 * @module
 */
import { type Clock, sleep } from "./clock.ts";

/** Something that holds a descriptor. */
interface Held {
  [Symbol.asyncDispose](): PromiseLike<void>;
}

/**
 * Tries whether so many descriptors can be had at once.
 *
 * @param most How many are wanted.
 * @param open Takes one; throws where there is none.
 * @returns How many can be had, at most `most`.
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

/** Codes of errors that say nothing about a peer: no descriptor, no port, or no memory is left. */
const SHORTAGES = new Set(["EMFILE", "ENFILE", "EADDRNOTAVAIL", "ENOBUFS", "ENOMEM", "EAGAIN"]);

/** Whether the code of an error means that this machine is short of something. */
export function isShortage(code: string): boolean {
  return SHORTAGES.has(code);
}

/** Whether the code of an error means that no descriptor is left. */
export function isOutOfDescriptors(code: string): boolean {
  return code === "EMFILE" || code === "ENFILE";
}

/**
 * Whether so many descriptors cannot be had at once.
 *
 * @param wanted How many are wanted.
 * @param open Takes one.
 */
export function lacksDescriptors(wanted: number, open: () => Disposable): boolean {
  using held = new DisposableStack();
  try {
    for (let i = 0; i < wanted; i++) held.use(open());
    return false;
  } catch (error) {
    return isOutOfDescriptors(String((error as { code?: unknown }).code));
  }
}

/**
 * How often, and after how long, milliseconds, what failed for a shortage is tried again: longer in all
 * than connections that are open take to end.
 */
const TRIES = 150;
const PAUSE_MS = 100;

/** How long a shortage lasts before it is reported, milliseconds, and before nobody waits for its end. */
const REPORTED_MS = 1000;
const LASTING_MS = TRIES * PAUSE_MS;

/** A shortage that all sockets and connections share: none waits for the end of one that lasts. */
export class Shortage {
  /** Since when nothing could be opened. */
  #since: number | undefined;
  #reported = false;

  /**
   * Starts without a shortage.
   *
   * @param clock The clock.
   * @param report Called once, when a shortage has lasted for a second, with the code of the error
   * where it is known.
   */
  constructor(
    private readonly clock: Pick<Clock, "now">,
    private readonly report: (code: string | undefined) => void,
  ) {}

  /**
   * Notes that something could not be opened.
   *
   * @param code The code of the error, where it is known.
   * @returns Whether to wait for the end of the shortage.
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

  /** Notes that something could be opened. */
  recordSuccess(): void {
    this.#since = undefined;
  }
}

/** How to wait. */
export interface ShortageRetryOptions {
  /** The clock. */
  readonly clock: Clock;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Told of each shortage. */
  readonly onShortage?: () => void;
  /** What others know of the shortage. Default: nothing. */
  readonly shortage?: Shortage;
}

/**
 * Opens something, and tries again for 15 seconds where the machine is short of descriptors.
 *
 * @param open Returns `"exhausted"` for a shortage, or throws the system's error.
 * @returns `"exhausted"` where the shortage lasts, or has lasted that long for others.
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

/** What was opened; else `"exhausted"`, with the code of the error where it is known. */
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
