/**
 * The queue between inspection and the outputs. It is bounded: who brings rows waits while it is
 * full, so that a slow disk slows the scan down and memory stays flat.
 *
 * @module
 */
import type { Clock } from "../net/clock.ts";
import type { ServerRecord } from "../core/record.ts";
import type { Sink } from "../sinks/sink.ts";

/** Rows that wait at the most. */
const MOST_WAITING = 256;

/** Who has to know of rows. */
export interface RecordObserver {
  /** Every sink has accepted these, and nothing behind them. */
  readonly onAccepted: (records: readonly ServerRecord[]) => Promise<void>;
  /** A sink fails: told once; what is brought after that is lost. */
  readonly onFailure: (error: Error) => void;
}

/** A row, and whom to tell when it is written. */
interface Waiting {
  readonly record: ServerRecord;
  readonly through: () => void;
}

/** Writes rows to all sinks, in batches. */
export class RecordQueue {
  /** Rows that every sink has accepted. */
  written: number;
  /** Rows that were brought and could not be written. */
  lost = 0;
  /** When the last of the written rows was accepted, Unix milliseconds. */
  lastAt: number | undefined;
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  #failure: Error | undefined;

  /**
   * Starts empty.
   *
   * @param sinks Where rows go: each to all of them.
   * @param clock Tells when they were accepted.
   * @param observer Who has to know.
   * @param written Rows that an earlier part of the scan wrote.
   */
  constructor(
    private readonly sinks: readonly Sink[],
    private readonly clock: Clock,
    private readonly observer: RecordObserver,
    written = 0,
  ) {
    this.written = written;
  }

  /**
   * Brings a row.
   *
   * @param through Called when every sink has accepted it; never where it is lost.
   */
  add(record: ServerRecord, through: () => void): void {
    if (this.#failure !== undefined) {
      this.lost++;
      return;
    }
    this.#waiting.push({ record, through });
    this.#writing ??= this.#write();
  }

  /** Where as many rows wait as may: settles when there is room for more. */
  get room(): Promise<void> | undefined {
    return this.#waiting.length < MOST_WAITING ? undefined : this.#writing;
  }

  /** Resolves when all rows that were brought are written, or lost. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      const records = batch.map(({ record }) => record);
      try {
        await Promise.all(this.sinks.map((sink) => sink.write(records)));
        this.written += batch.length;
        this.lastAt = this.clock.wall();
        await this.observer.onAccepted(records);
        for (const { through } of batch) through();
      } catch (error) {
        this.#failure = error as Error;
        this.lost += batch.length + this.#waiting.length;
        this.#waiting = [];
        this.observer.onFailure(this.#failure);
      }
    }
    this.#writing = undefined;
  }
}
