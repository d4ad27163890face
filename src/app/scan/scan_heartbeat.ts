/**
 * Stores the progress of a running scan in its databases.
 *
 * @module
 */
import { type Clock, sleep } from "../../net/clock.ts";
import { HEARTBEAT_MS, type ScanProgressRow } from "../../store/mod.ts";

/** How often the progress is read, milliseconds. */
const EVERY_MS = 1000;

/** What a {@linkcode ScanHeartbeat} needs. */
export interface HeartbeatOptions {
  /** Stores the progress in each database. */
  readonly sinks: readonly { progress(row: ScanProgressRow): Promise<void> }[];
  readonly read: () => ScanProgressRow;
  /** The clock of the interval. */
  readonly clock: Clock;
  /** Receives a line when a database refuses the progress, which is then stored no more. */
  readonly report: (line: string) => void;
}

/**
 * Stores the progress of a scan: a second after rows were written, else every 10 seconds. If its
 * database gets no more progress, the scan was killed.
 */
export class ScanHeartbeat implements AsyncDisposable {
  readonly #end = new AbortController();
  readonly #running: Promise<void>[];

  /** Begins to store the progress. */
  constructor(private readonly options: HeartbeatOptions) {
    this.#running = options.sinks.map((sink) =>
      this.#run(sink).catch((error) => options.report(`blocksweep: ${(error as Error).message}`))
    );
  }

  async #run(sink: HeartbeatOptions["sinks"][number]): Promise<void> {
    const { read, clock } = this.options;
    const { signal } = this.#end;
    let [storedAt, found] = [clock.now(), read().found];
    for (;;) {
      await sleep(clock, EVERY_MS, signal);
      if (signal.aborted) return;
      const row = read();
      if (row.found === found && clock.now() - storedAt < HEARTBEAT_MS) continue;
      await sink.progress(row);
      [storedAt, found] = [clock.now(), row.found];
    }
  }

  /** Ends the heartbeat; resolves when nothing is being stored any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await Promise.all(this.#running);
  }
}
