/**
 * The queue between inspection and the outputs. It is bounded: who brings a row waits while it is
 * full, so that a slow disk slows the scan down and memory stays flat.
 *
 * @module
 */
import type { Clock } from "../net/clock.ts";
import type { ServerRecord } from "../record.ts";
import type { Sink } from "../sinks/sink.ts";

/** Rows that wait at the most. */
const MOST_WAITING = 1024;

/** Writes rows to all sinks, in batches. */
export class RowQueue {
  /** Rows that every sink has accepted. */
  written = 0;
  /** Rows that were brought and could not be written. */
  lost = 0;
  /** When the last of the written rows was accepted, Unix milliseconds. */
  lastAt: number | undefined;
  #waiting: ServerRecord[] = [];
  #writing: Promise<void> | undefined;
  #failure: Error | undefined;

  /**
   * Starts empty.
   *
   * @param sinks Where rows go: each to all of them.
   * @param clock Tells when they were accepted.
   * @param onFailure Told once when a sink fails; what is brought after that is lost.
   */
  constructor(
    private readonly sinks: readonly Sink[],
    private readonly clock: Clock,
    private readonly onFailure: (error: Error) => void,
  ) {}

  /** Brings a row; resolves when there is room for the next. */
  async push(record: ServerRecord): Promise<void> {
    if (this.#failure !== undefined) {
      this.lost++;
      return;
    }
    this.#waiting.push(record);
    this.#writing ??= this.#write();
    if (this.#waiting.length >= MOST_WAITING) await this.#writing;
  }

  /** Resolves when all rows that were brought are written, or lost. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      try {
        await Promise.all(this.sinks.map((sink) => sink.write(batch)));
        this.written += batch.length;
        this.lastAt = this.clock.wall();
      } catch (error) {
        this.#failure = error as Error;
        this.lost += batch.length + this.#waiting.length;
        this.#waiting = [];
        this.onFailure(this.#failure);
      }
    }
    this.#writing = undefined;
  }
}
