/**
 * A database that may be unavailable for a while, or refuse to be written to.
 *
 * @module
 */
import type { FileChange } from "../../app/databases/mod.ts";
import { withDatabaseErrors } from "../../store/mod.ts";
import { type Clock, sleep } from "../../net/clock.ts";
import { OutputLostError } from "../../sinks/sink.ts";
import { ChangedMeanwhile, type Database, StoreError } from "../../store/database/database.ts";

/** The first pause after a failure, and the longest one, milliseconds. */
const [PAUSE_MS, MAX_PAUSE_MS] = [500, 15_000];

/** What a {@linkcode PatientDatabase} needs. */
export interface PatientOptions {
  readonly database: Database;
  /** Whether the file of the database is still the one that was opened. */
  readonly fileChange: FileChange;
  readonly clock: Clock;
  /** Aborted when nothing is to be repeated any more. */
  readonly signal: AbortSignal;
  /** Receives a line when the database fails, and when it works again. */
  readonly report: (line: string) => void;
  /** Called before each attempt. */
  readonly onTry?: () => void;
}

/** Repeats work until the database accepts it. */
export class PatientDatabase {
  #isFailing = false;

  /** Does nothing yet. */
  constructor(private readonly options: PatientOptions) {}

  get database(): Database {
    return this.options.database;
  }

  /**
   * Runs work, and repeats it while the database fails.
   *
   * @param onWait Called before each repetition.
   * @returns `undefined` when the signal aborted before the database accepted the work.
   * @throws OutputLostError when the file of the database was removed or replaced.
   */
  async run<T>(work: () => Promise<T>, onWait: () => void = () => {}): Promise<T | undefined> {
    const { database, clock, signal, fileChange, onTry } = this.options;
    for (let pause = PAUSE_MS;; pause = Math.min(2 * pause, MAX_PAUSE_MS)) {
      onTry?.();
      const change = await fileChange();
      if (change !== undefined) throw new OutputLostError(database.name, change);
      try {
        const result = await withDatabaseErrors("write to", database, work);
        this.#report(undefined);
        return result;
      } catch (error) {
        if (!(error instanceof StoreError || error instanceof ChangedMeanwhile)) throw error;
        this.#report(error.message);
      }
      await sleep(clock, pause, signal);
      if (signal.aborted) return undefined;
      onWait();
    }
  }

  /** Reports that the database fails, or works again. */
  #report(failure: string | undefined): void {
    const { report, database } = this.options;
    if ((failure !== undefined) === this.#isFailing) return;
    this.#isFailing = failure !== undefined;
    report(
      failure === undefined
        ? `blocksweep: ${database.name} can be written to again`
        : `blocksweep: ${failure}; rows wait in NATS`,
    );
  }
}
