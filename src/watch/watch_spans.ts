/**
 * The spans of a watch: the times in which it ran without interruption.
 *
 * @module
 */
import type { WatchSpan } from "../store/mod.ts";

/**
 * Maximum time between two calls of {@linkcode WatchSpans.alive}, milliseconds. A longer time ends
 * the span, because the machine was suspended, or the process was stopped.
 */
const MAX_SILENCE_MS = 180_000;

/** The spans of a watch that are not written, and the current one. Times are Unix milliseconds. */
export class WatchSpans {
  /** Ended spans that are not written. */
  #ended: WatchSpan[] = [];
  /** Start of the current span; `undefined`: there is no current span. */
  #startedAt: number | undefined;
  /** The last call of {@linkcode alive} in the current span. */
  #aliveAt = 0;
  /** Whether the current span has been written. */
  #isWritten = false;
  /**
   * The first poll of each server after this time is observed: until then, the state of the server is
   * unknown.
   */
  observeSince = -Infinity;

  /** Whether there is a current span. */
  get isOpen(): boolean {
    return this.#startedAt !== undefined;
  }

  /** Begins a span, unless there is one. */
  begin(at: number): void {
    if (this.isOpen) return;
    this.#startedAt = this.#aliveAt = this.observeSince = at;
    this.#isWritten = false;
  }

  /** Ends the current span. If the end is before its start, the span is empty. */
  end(at: number): void {
    if (this.#startedAt === undefined) return;
    const startedAt = this.#startedAt;
    this.#startedAt = undefined;
    if (at > startedAt || this.#isWritten) {
      this.#ended.push({ startedAt, endedAt: Math.max(startedAt, at) });
    }
  }

  /**
   * Records that the process runs. A new span begins if the last call was too long ago, or if the
   * clock was set back by as much.
   */
  alive(at: number): void {
    if (!this.isOpen) return;
    if (Math.abs(at - this.#aliveAt) > MAX_SILENCE_MS) {
      this.end(this.#aliveAt);
      this.begin(at);
    }
    this.#aliveAt = Math.max(this.#aliveAt, at);
  }

  /** Leaves out a time whose observations were lost. */
  leaveOut(from: number, to: number): void {
    if (this.#startedAt === undefined) return;
    const { observeSince } = this;
    const aliveAt = this.#aliveAt;
    this.end(from);
    this.begin(to);
    this.#aliveAt = Math.max(aliveAt, to);
    // A later time would make every server due for an observation. The queue is full, so more
    // observations would be lost.
    this.observeSince = observeSince;
  }

  /**
   * The spans to write, without what is later than a time.
   *
   * @param until The time up to which all results are written.
   */
  pending(until: number): WatchSpan[] {
    const ended = this.#ended.filter(({ startedAt }) => startedAt <= until)
      .map((span) => span.endedAt <= until ? span : { ...span, endedAt: until });
    if (this.#startedAt === undefined || this.#startedAt > until) return ended;
    return [...ended, { startedAt: this.#startedAt, endedAt: until }];
  }

  /** Records that spans were written. */
  written(spans: readonly WatchSpan[]): void {
    this.#ended = this.#ended.filter((span) => !spans.includes(span));
    this.#isWritten ||= spans.some(({ startedAt }) => startedAt === this.#startedAt);
  }
}
