/**
 * Writes rows to the outputs, and then to the checkpoint's list. The stage contains the queue of rows.
 * The queue is bounded: while it is full, interviews wait. A slow disk therefore slows the scan down,
 * and does not increase its memory.
 *
 * @module
 */
import type { ServerRecord } from "../core/record.ts";
import type { EarlyStop } from "./early_stop.ts";
import type { ScanIo } from "./scan_setup.ts";

/** Number of rows at which the queue is full. */
const CAPACITY = 256;

/** A row in the queue. */
interface Waiting {
  readonly record: ServerRecord;
  /** Called when every sink has accepted the row; not called for a lost row. */
  readonly onAccepted: () => void;
}

/** Writes rows to all sinks, in batches. */
export class WriteStage {
  #waiting: Waiting[] = [];
  #writing: Promise<void> | undefined;
  /** Resolves when the queue is emptied; `undefined` if no caller waits for that. */
  #emptied: PromiseWithResolvers<void> | undefined;
  #failure: Error | undefined;

  /**
   * Creates the stage with an empty queue.
   *
   * @param io The sinks, of which each gets all rows, and the state that counts the rows.
   * @param stop Ends the scan when a sink fails. Rows that are added later are lost.
   */
  constructor(
    private readonly io: Pick<ScanIo, "sinks" | "clock" | "checkpoint" | "state">,
    private readonly stop: Pick<EarlyStop, "fail">,
  ) {}

  /**
   * Puts a row into the queue.
   *
   * @param onAccepted Called when every sink has accepted the row. It is never called if the row is
   * lost.
   */
  add(record: ServerRecord, onAccepted: () => void): void {
    if (this.#failure !== undefined) {
      this.io.state.lost++;
      return;
    }
    this.#waiting.push({ record, onAccepted });
    this.#writing ??= this.#write();
  }

  /** While the queue is full, a promise that settles when the queue has space again. */
  get whenFree(): Promise<void> | undefined {
    if (this.#waiting.length < CAPACITY) return undefined;
    return (this.#emptied ??= Promise.withResolvers()).promise;
  }

  /** Resolves when all rows in the queue are written or lost. */
  async idle(): Promise<void> {
    await this.#writing;
  }

  async #write(): Promise<void> {
    const { sinks, clock, checkpoint, state } = this.io;
    while (this.#waiting.length > 0) {
      const batch = this.#takeAll();
      const records = batch.map(({ record }) => record);
      try {
        await Promise.all(sinks.map((sink) => sink.write(records)));
        state.written += batch.length;
        state.lastRowAt = clock.wall();
        await checkpoint?.accepted(records);
        for (const { onAccepted } of batch) onAccepted();
      } catch (error) {
        this.#failure = error as Error;
        state.lost += batch.length + this.#takeAll().length;
        this.stop.fail(this.#failure);
      }
    }
    this.#writing = undefined;
  }

  /** Removes and returns all rows of the queue. */
  #takeAll(): Waiting[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#emptied?.resolve();
    this.#emptied = undefined;
    return waiting;
  }
}
