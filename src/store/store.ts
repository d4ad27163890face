/**
 * A list of servers in a database, as the location where a scan's rows go.
 *
 * @module
 */
import type { ServerRecord } from "../core/record.ts";
import type { Database } from "./database/database.ts";
import type { AskedOf } from "./kept_columns.ts";
import { type Coverage, markMissing } from "./missing_servers.ts";
import { type OptOut, writeOptOuts } from "./opt_outs.ts";
import { writeAnswers } from "./record_writer.ts";

/** A store did not take what it was given. */
export class StoreError extends Error {
  /** Always `"StoreError"`. */
  override readonly name = "StoreError";
}

/** A scan that begins. */
export interface ScanBegin {
  /** The scan, UUIDv7. */
  readonly id: string;
  /** What it is. Default: a scan. */
  readonly kind?: "sweep" | "watch";
  /** When, Unix milliseconds. */
  readonly at: number;
  /** Into how many parts the whole is divided. */
  readonly shards: number;
  /** Its options, as JSON without passwords. */
  readonly config: string;
}

/** A scan that ended. */
export interface ScanFinish {
  /** The scan. */
  readonly id: string;
  /** When it began, Unix milliseconds. */
  readonly since: number;
  /** When it ended, Unix milliseconds. */
  readonly at: number;
  /** How. */
  readonly state: "finished" | "interrupted" | "failed";
  /** Which part of the whole it asked, where it asked that to the end. */
  readonly shard?: number;
  /** Probes and connections that it began. */
  readonly probesSent: number;
  /** Replies to them. */
  readonly replies: number;
  /** Servers that it wrote. */
  readonly found: number;
  /** What it asked, where it asked that to the end: who is silent there counts as missed. */
  readonly coverage?: Coverage;
  /** After how many misses a server counts as offline. */
  readonly downAfter: number;
  /** Addresses that opted out in it. Default: none. */
  readonly optOuts?: readonly OptOut[];
}

/** How long rows are gathered before they are written together, milliseconds. */
const GATHER_MS = 5;

/** Takes rows, as any sink, and what is known about scans. */
export class Store implements AsyncDisposable {
  #open = true;

  /**
   * Takes a database over that has our schema.
   *
   * @param pause Waits while rows gather.
   * @param asked What the scan asks: columns of all else stay as they were. Default: everything.
   */
  constructor(
    readonly database: Database,
    private readonly pause: () => Promise<void> = () =>
      new Promise((resolve) => setTimeout(resolve, GATHER_MS)),
    private readonly asked?: AskedOf,
  ) {}

  /** Notes that a scan begins, or goes on. */
  async begin({ id, kind = "sweep", at, shards, config }: ScanBegin): Promise<void> {
    await this.#attempt(async () => {
      await this.database.run(
        "insert into scans (id, kind, state, started_at, shards, config) " +
          "values (?, ?, 'running', ?, ?, ?) on conflict (id) do update set state = 'running'",
        [id, kind, at, shards, config],
      );
      await this.database.flush(); // what this opens stays open, should descriptors run short
    });
  }

  /**
   * Writes rows; each is safe from the end of the program when this resolves.
   *
   * @throws StoreError
   */
  async write(records: readonly ServerRecord[]): Promise<void> {
    if (records.length === 0) return;
    await this.pause();
    await this.#attempt(() => writeAnswers(this.database, records, this.asked));
  }

  /** Hands everything that was written on to the disk. */
  async flush(): Promise<void> {
    await this.#attempt(() => this.database.flush());
  }

  /** Always 0: nothing of a database is ever cut back. */
  position(): number {
    return 0;
  }

  /**
   * Notes that a scan ended, and who did not answer it.
   *
   * @returns How many did not.
   * @throws StoreError
   */
  async end(finish: ScanFinish): Promise<number> {
    const { id, since, at, state, shard, coverage, downAfter } = finish;
    const counts = [finish.probesSent, finish.replies];
    return await this.#attempt(async () => {
      const missed = coverage === undefined
        ? 0
        : await markMissing(this.database, { scanId: id, since, at, coverage, downAfter });
      await this.database.transaction(async () => {
        await writeOptOuts(this.database, finish.optOuts ?? []);
        if (shard !== undefined) {
          await this.database.run(
            "insert into scan_shards (scan_id, shard, done_at, probes_sent, replies) " +
              "values (?, ?, ?, ?, ?) on conflict (scan_id, shard) do nothing",
            [id, shard, at, ...counts],
          );
        }
        await this.database.run(
          "update scans set state = ?, finished_at = ?, probes_sent = ?, replies = ?, found = ? " +
            "where id = ?",
          [state, at, ...counts, finish.found, id],
        );
      });
      await this.database.flush();
      return missed;
    });
  }

  /** Closes the database, once. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.database[Symbol.asyncDispose]();
  }

  #attempt<T>(work: () => Promise<T>): Promise<T> {
    return withDatabaseErrors("write to", this.database, work);
  }
}

/**
 * Does something with a database; what goes wrong names it.
 *
 * @throws StoreError
 */
export async function withDatabaseErrors<T>(
  what: "read" | "write to",
  { name }: Database,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const ours = error instanceof Error && ["Error", "Unavailable"].includes(error.name);
    if (!ours) throw error;
    throw new StoreError(`Cannot ${what} ${name}: ${error.message}`, { cause: error });
  }
}
