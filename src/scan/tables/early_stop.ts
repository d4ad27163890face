/**
 * Ends a scan early: interrupted, out of time, failed, or with enough rows.
 *
 * @module
 */
import type { Clock } from "../../net/clock.ts";
import type { Marks } from "../setup/low_water_mark.ts";
import { type EndReason, refusedTransports, type ScanState } from "../setup/scan_state.ts";

/**
 * Time for pending interviews after a scan was stopped, milliseconds. After this time, the rows are
 * written with the data received so far. Slow hosts therefore do not delay the end of the scan.
 */
const GRACE_MS = 5000;

/** Why a scan must end early, and whether pending interviews are finished first. */
export class EarlyStop {
  reason: EndReason | undefined;
  error: Error | undefined;
  readonly #sweepEnd = new AbortController();
  readonly #interviewEnd = new AbortController();
  readonly #ended = new AbortController();
  readonly #clock: Clock;
  readonly #cancelTimer: () => void;
  #cancelGrace: (() => void) | undefined;
  #interrupted = false;

  /**
   * Creates the state of a scan that has no reason to stop.
   *
   * @param signal Interrupts the scan.
   * @param maxRuntimeMs Maximum runtime, milliseconds.
   * @param abandon Stops the scan at once, without waiting for pending rows.
   */
  constructor(
    signal: AbortSignal,
    clock: Clock,
    maxRuntimeMs = Infinity,
    abandon?: AbortSignal,
  ) {
    this.#clock = clock;
    this.#on(signal, () => this.stop("interrupted"));
    this.#on(abandon, () => this.abandon("interrupted"));
    this.#cancelTimer = maxRuntimeMs === Infinity
      ? () => {}
      : clock.after(maxRuntimeMs, () => this.stop("max-runtime"));
  }

  /** Calls back when a signal is aborted before the scan has ended. */
  #on(signal: AbortSignal | undefined, callback: () => void): void {
    if (signal?.aborted) callback();
    else signal?.addEventListener("abort", callback, { once: true, signal: this.#ended.signal });
  }

  /** Stops the scan, also its pending interviews. */
  abandon(reason: "interrupted" | "incomplete"): void {
    this.stop(reason);
    this.#interviewEnd.abort();
  }

  /** Aborted when the sweep must end. */
  get sweepSignal(): AbortSignal {
    return this.#sweepEnd.signal;
  }

  /** Aborted when interviews must end too. */
  get interviewSignal(): AbortSignal {
    return this.#interviewEnd.signal;
  }

  /**
   * Whether the scan must end without waiting for late replies. A scan whose runtime is over does
   * wait for late replies. Otherwise a scan with a runtime shorter than its cooldown would make no
   * progress.
   */
  get skipsCooldown(): boolean {
    return this.reason !== "max-runtime" || this.#interrupted;
  }

  /** Stops sending. Pending interviews are finished, unless enough rows are written. */
  stop(reason: EndReason): void {
    this.#interrupted ||= reason === "interrupted";
    this.reason ??= reason;
    this.#sweepEnd.abort();
    if (reason === "max-results" || reason === "failed") this.#interviewEnd.abort();
    else this.#cancelGrace ??= this.#clock.after(GRACE_MS, () => this.#interviewEnd.abort());
  }

  /** Stops the scan at once after a failure. */
  fail(error: Error): void {
    this.error ??= error;
    this.reason = "failed";
    this.stop("failed");
  }

  /** Runs an action, and stops the scan if the action fails. */
  async guard<T>(work: () => Promise<T>, instead: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.fail(error as Error);
      return instead;
    }
  }

  /** Removes timers and listeners when the scan has ended. */
  end(): void {
    this.#ended.abort();
    this.#cancelTimer();
    this.#cancelGrace?.();
  }
}

/**
 * Why a scan ended. A scan that was stopped when nothing was left to do counts as done; one whose
 * time was over while it had no network is incomplete.
 *
 * @param stopped Why the scan was stopped early.
 * @param isCut Whether work is left that the marks do not show: repetitions of disturbed passes, or
 * interviews of known servers.
 */
export function endReason(
  stopped: EndReason | undefined,
  { udp, tcp }: Marks,
  isCut: boolean,
  state: ScanState,
): EndReason {
  if (
    stopped === "max-runtime" && (refusedTransports(state).length > 0 || state.outage !== undefined)
  ) {
    return "incomplete";
  }
  const whole = !isCut && udp.pass > state.passes && tcp.pass > state.tcp.passes;
  if (stopped !== undefined && !(stopped === "max-runtime" && whole)) return stopped;
  return whole && state.uninspected === 0 ? "done" : "incomplete";
}
