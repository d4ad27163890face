/**
 * Decides when a thread starts to make rows. A thread takes memory and about 0.1 s to start, so small
 * scans do without.
 *
 * @module
 */
import type { Clock } from "../../net/clock.ts";
import type { MadeRows } from "../../sinks/sink.ts";
import type { Aliases, AliasState } from "./aliases.ts";
import type { RowMakerOptions, RowSource } from "./row_maker.ts";

/** Number of undecoded rows within {@linkcode WITHIN_MS} after which a thread is started. */
const MANY_ROWS = 2500;
/** Period in which rows are counted, milliseconds. */
const WITHIN_MS = 1000;

/** What a thread needs to know of the scan. */
export interface RowThreadOptions extends Pick<RowMakerOptions, "scanId" | "players"> {
  /** The key of the signatures of aliases, 8 bytes. */
  readonly key: Uint8Array;
}

/** A thread that makes rows. */
export interface MakingThread {
  /** Whether the thread has started. */
  readonly isReady: boolean;
  /** Gives the thread the signatures of all rows so far. From now on the thread makes all rows. */
  begin(aliases: AliasState): void;
  /**
   * Makes rows, in the order of the calls.
   *
   * @returns The rows; rejects when the thread has died.
   */
  make(sources: readonly RowSource[]): Promise<MadeRows>;
  /** Ends the thread at once. */
  close(): void;
}

/** Starts a thread when many rows are made. */
export class ThreadStart implements Disposable {
  #thread: MakingThread | undefined;
  #wasTried = false;
  #since = -Infinity;
  #count = 0;

  /** @param start Starts a thread. If it throws, there is none. */
  constructor(
    private readonly clock: Pick<Clock, "now">,
    private readonly start: () => MakingThread,
  ) {}

  /**
   * Counts rows that were made without a thread.
   *
   * @param rows Number of those whose reply was not decoded before.
   * @param aliases The signatures of all rows so far.
   * @returns The thread that makes all further rows; `undefined`: no thread is ready.
   */
  note(rows: number, aliases: Aliases): MakingThread | undefined {
    const now = this.clock.now();
    if (now - this.#since > WITHIN_MS) [this.#since, this.#count] = [now, 0];
    this.#count += rows;
    if (this.#count >= MANY_ROWS && !this.#wasTried) this.#try();
    if (this.#thread?.isReady) this.#thread.begin(aliases.state);
    return this.#thread?.isReady ? this.#thread : undefined;
  }

  #try(): void {
    this.#wasTried = true;
    try {
      this.#thread = this.start();
    } catch { // for example without the permission to read the program's files
      this.#thread = undefined;
    }
  }

  /** Ends the thread. */
  [Symbol.dispose](): void {
    this.#thread?.close();
  }
}
