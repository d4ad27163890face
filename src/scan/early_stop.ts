/**
 * Ending a scan before its time.
 *
 * @module
 */
import type { Clock } from "../net/clock.ts";
import type { Marks } from "./checkpoint/low_water_mark.ts";
import type { EndReason, ScanState } from "./scan_state.ts";

/**
 * How long rows in hand may take once a scan is to end, milliseconds. After that they are written
 * with what is known: a host that keeps us waiting on many ports does not keep the user waiting.
 */
const GRACE_MS = 5000;

/** Why and how far a scan is to end early. */
export class EarlyStop {
  reason: EndReason | undefined;
  error: Error | undefined;
  readonly #soft = new AbortController();
  readonly #hard = new AbortController();
  readonly #over = new AbortController();
  readonly #clock: Clock;
  readonly #cancelTimer: () => void;
  #cancelGrace: (() => void) | undefined;
  #interrupted = false;

  /**
   * Ends nothing yet.
   *
   * @param signal Interrupts.
   * @param maxRuntimeMs How long may pass, milliseconds.
   * @param abandon Stops everything: nobody waits for the rows in hand.
   */
  constructor(
    signal: AbortSignal,
    clock: Clock,
    maxRuntimeMs = Infinity,
    abandon?: AbortSignal,
  ) {
    this.#clock = clock;
    this.#on(signal, () => this.stop("interrupted"));
    this.#on(abandon, () => this.#abandon());
    this.#cancelTimer = maxRuntimeMs === Infinity
      ? () => {}
      : clock.after(maxRuntimeMs, () => this.stop("max-runtime"));
  }

  /** Calls back when a signal is aborted before the scan is over. */
  #on(signal: AbortSignal | undefined, callback: () => void): void {
    if (signal?.aborted) callback();
    else signal?.addEventListener("abort", callback, { once: true, signal: this.#over.signal });
  }

  #abandon(): void {
    this.stop("interrupted");
    this.#hard.abort();
  }

  /** Ends the sweep. */
  get soft(): AbortSignal {
    return this.#soft.signal;
  }

  /** Ends conversations too. */
  get hard(): AbortSignal {
    return this.#hard.signal;
  }

  /**
   * Whether it is to end soon. A scan whose time is over waits for late replies to all that it has
   * sent: else one that may run no longer than a cooldown would never get any further.
   */
  get hurried(): boolean {
    return this.reason !== "max-runtime" || this.#interrupted;
  }

  /** Stops sending; what is in hand is finished, unless there are rows enough. */
  stop(reason: EndReason): void {
    this.#interrupted ||= reason === "interrupted";
    this.reason ??= reason;
    this.#soft.abort();
    if (reason === "max-results" || reason === "failed") this.#hard.abort();
    else this.#cancelGrace ??= this.#clock.after(GRACE_MS, () => this.#hard.abort());
  }

  /** Stops everything, for something failed. */
  fail(error: Error): void {
    this.error ??= error;
    this.reason = "failed";
    this.stop("failed");
  }

  /** Does something; stops everything where that fails. */
  async guard<T>(work: () => Promise<T>, instead: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.fail(error as Error);
      return instead;
    }
  }

  /** The scan is over: nothing that it waits for may outlive it. */
  end(): void {
    this.#over.abort();
    this.#cancelTimer();
    this.#cancelGrace?.();
  }
}

/**
 * Why a scan ended: one whose time was over when all was done is done all the same.
 *
 * @param stopped Why it was to end early.
 * @param isCut Whether something is left that the marks do not tell: further passes, or interviews.
 */
export function endReason(
  stopped: EndReason | undefined,
  { udp, tcp }: Marks,
  isCut: boolean,
  state: ScanState,
): EndReason {
  const whole = !isCut && udp.pass > state.passes && tcp.pass > state.tcp.passes;
  if (stopped !== undefined && !(stopped === "max-runtime" && whole)) return stopped;
  return whole && state.uninspected === 0 ? "done" : "incomplete";
}
