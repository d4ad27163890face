/**
 * A store whose database may be temporarily unavailable: meanwhile its records are kept in a spill file.
 *
 * @module
 */
import { type Clock, sleep } from "../net/clock.ts";
import { serverId, type ServerRecord } from "../core/record.ts";
import { type Database, StoreError, unavailableReason } from "./database/database.ts";
import { serversWithRow } from "./scans/scan_rows.ts";
import type { ScanProgressRow } from "./scans/scan_progress.ts";
import {
  readDatabaseIdentity,
  recoverSpillFile,
  spilledRecords,
  spillHead,
  spillLine,
  spillOwner,
} from "./spill_file.ts";
import { type ScanEndRow, type ScanStartRow, type Store, withDatabaseErrors } from "./store.ts";

/** Options of a {@linkcode SpillingStore}. */
export interface SpillOptions {
  /** Path of the spill file. It is created with mode 0600 when needed, and removed when empty. */
  readonly path: string;
  /** The result of {@linkcode readDatabaseIdentity}, which the spill file contains. */
  readonly identity: string;
  /** The tags of the scan, which the spill file contains for `import`. Default: none. */
  readonly tags?: readonly string[];
  /** Maximum size of the spill file, bytes. */
  readonly maxBytes: number;
  /** How long {@linkcode SpillingStore.end} waits for an unavailable database, milliseconds. */
  readonly maxWaitMs: number;
  /** Shortens that wait to 2 seconds. Default: none. */
  readonly signal?: AbortSignal;
  /** The clock of waits and retries. */
  readonly clock: Clock;
  /** Receives a message when the database becomes unavailable, and when it is available again. */
  readonly report: (line: string) => void;
}

/** Minimum time between two attempts to reach an unavailable database, milliseconds. */
const RETRY_MS = 1000;
/** How long the end of a cancelled scan waits for the database, milliseconds. */
const CANCELLED_WAIT_MS = 2000;
/** Spilled records per write to the database. */
const BATCH = 500;

/** Writes records as a {@linkcode Store} does, and spills to a file while the database is unavailable. */
export class SpillingStore implements AsyncDisposable {
  /** Number of records in the spill file. */
  #spilledRows = 0;
  /** Size of the spill file. */
  #spilledBytes = 0;
  /** The scan's start, until it is stored in the database. */
  #pendingStart: ScanStartRow | undefined;
  /** The scan's progress, until it is stored in the database. */
  #pendingProgress: ScanProgressRow | undefined;
  /** The last call: calls run one after the other, because each may replay the spill file. */
  #lastCall: Promise<unknown> = Promise.resolve();
  /** When the database was last found unavailable, milliseconds of the clock. */
  #failedAt = -Infinity;

  /** Owns the store: disposing this closes the store. */
  constructor(private readonly store: Store, private readonly options: SpillOptions) {}

  get database(): Database {
    return this.store.database;
  }

  /** Number of records in the spill file. */
  get waiting(): number {
    return this.#spilledRows;
  }

  /** Whether the database was unavailable at the last attempt to write. */
  get failing(): boolean {
    return this.#isBehind;
  }

  /** Whether something is still to be written to the database. */
  get #isBehind(): boolean {
    return this.#spilledRows > 0 || this.#pendingStart !== undefined ||
      this.#pendingProgress !== undefined;
  }

  /**
   * Finds the servers that have no row of a resumed scan, neither in the database nor in the spill file.
   * Must be called before {@linkcode begin}.
   *
   * @param scanId The scan's identity, UUIDv7.
   * @param ids The results of {@linkcode serverId}.
   * @returns The ids without a row.
   * @throws StoreError when the database cannot be read, or the spill file belongs to another one.
   */
  async serversWithoutRow(scanId: string, ids: readonly string[]): Promise<Set<string>> {
    const { database } = this;
    await this.#checkOwner("read");
    const withRow = await withDatabaseErrors(
      "read",
      database,
      () => serversWithRow(database, scanId, ids),
    );
    for await (const record of spilledRecords(this.options.path)) withRow.add(serverId(record));
    return new Set(ids.filter((id) => !withRow.has(id)));
  }

  /** Writes the row of a scan that has begun or was resumed; a resumed scan may have a spill file. */
  async begin(start: ScanStartRow): Promise<void> {
    const { rows, bytes } = await recoverSpillFile(this.options.path);
    [this.#spilledRows, this.#spilledBytes] = [rows, bytes];
    this.#pendingStart = start;
    await this.#attempt(() => this.#writeStart(), true);
  }

  /**
   * Writes records to the database or to the spill file.
   *
   * @throws StoreError when the database refuses the records, or when neither can be written.
   */
  async write(records: readonly ServerRecord[]): Promise<void> {
    await this.#inTurn(async () => {
      const isFirst = !this.#isBehind;
      const written = (isFirst || !this.#isTooSoon) && await this.#attempt(async () => {
        await this.#replay();
        await this.store.write(records);
      }, isFirst);
      if (!written) await this.#spill(records);
    });
  }

  /**
   * Stores the progress of the scan. An unavailable database gets the progress when it is available
   * again.
   *
   * @throws StoreError when the database refuses it.
   */
  async progress(row: ScanProgressRow): Promise<void> {
    await this.#inTurn(async () => {
      const isFirst = !this.#isBehind;
      this.#pendingProgress = row;
      if (isFirst || !this.#isTooSoon) await this.#attempt(() => this.#replay(), isFirst);
    });
  }

  get #isTooSoon(): boolean {
    return this.options.clock.now() - this.#failedAt < RETRY_MS;
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const call = this.#lastCall.then(work);
    this.#lastCall = call.catch(() => {}); // the caller gets the error
    await call;
  }

  /** Syncs written records to the disk, in the database and in the spill file. */
  async flush(): Promise<void> {
    await this.#syncSpillFile();
    await this.store.flush();
  }

  async #syncSpillFile(): Promise<void> {
    if (this.#spilledRows === 0) return;
    using file = await Deno.open(this.options.path, { write: true });
    await file.sync();
  }

  /** Always 0: a resumed scan truncates no database. */
  position(): number {
    return 0;
  }

  /**
   * Writes spilled records to the database, then stores that the scan has ended.
   *
   * @returns The number of missing servers.
   * @throws StoreError when the database stays unavailable. The message contains the number of spilled
   * records and the path of the spill file.
   */
  async end(end: ScanEndRow): Promise<number> {
    const { clock, maxWaitMs, path, signal } = this.options;
    let deadline = clock.now() + maxWaitMs;
    const shortenWait = () => deadline = Math.min(deadline, clock.now() + CANCELLED_WAIT_MS);
    signal?.addEventListener("abort", shortenWait, { once: true });
    if (signal?.aborted) shortenWait();
    for (;;) {
      try {
        await this.#replay();
        return await this.store.end(end);
      } catch (error) {
        const reason = unavailableReason(error);
        if (reason === undefined) throw error;
        if (clock.now() + RETRY_MS <= deadline) {
          await sleep(clock, RETRY_MS);
          continue;
        }
        await this.#syncSpillFile();
        const { name } = this.store.database;
        const remains = this.#spilledRows === 0
          ? "all rows were written, but not the end of the scan"
          : `${this.#spilledRows} rows are in "${path}"; import this file when the database is ` +
            "available";
        throw new StoreError(`Cannot write to ${name}: ${reason}; ${remains}`, { cause: error });
      }
    }
  }

  /** Closes the database. A spill file with records stays. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]();
  }

  /**
   * Runs `work`, which uses the database.
   *
   * @param isFirst Whether to report a failure: the database was available until now.
   * @returns `false` when the database is unavailable.
   */
  async #attempt(work: () => Promise<void>, isFirst: boolean): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      const reason = unavailableReason(error);
      if (reason === undefined) throw error;
      this.#failedAt = this.options.clock.now();
      if (isFirst) {
        this.#report(`is unavailable (${reason}): rows are kept in "${this.options.path}"`);
      }
      return false;
    }
  }

  async #writeStart(): Promise<void> {
    if (this.#pendingStart === undefined) return;
    await this.store.begin(this.#pendingStart);
    this.#pendingStart = undefined;
  }

  async #spill(records: readonly ServerRecord[]): Promise<void> {
    const { path, maxBytes, identity, tags } = this.options;
    const head = this.#spilledBytes === 0 ? spillHead(identity) : "";
    const text = head + records.map((record) => spillLine(record, tags)).join("");
    const bytes = new TextEncoder().encode(text);
    const { name } = this.store.database;
    if (this.#spilledBytes + bytes.length > maxBytes) {
      throw new StoreError(`Cannot write to ${name}: it is unavailable, and "${path}" is full`);
    }
    try {
      await Deno.writeFile(path, bytes, { append: true, mode: 0o600 });
    } catch (error) {
      const { message } = error as Error;
      throw new StoreError(
        `Cannot write to ${name}: it is unavailable; cannot write to "${path}": ${message}`,
      );
    }
    this.#spilledBytes += bytes.length;
    this.#spilledRows += records.length;
  }

  /** Writes everything pending to the database. Records that the database already has change nothing. */
  async #replay(): Promise<void> {
    await this.#writeStart();
    await this.#replaySpilled();
    if (this.#pendingProgress === undefined) return;
    await this.store.progress(this.#pendingProgress);
    this.#pendingProgress = undefined;
  }

  async #replaySpilled(): Promise<void> {
    if (this.#spilledRows === 0) return;
    const { path } = this.options;
    await this.#checkOwner("write to");
    let batch: ServerRecord[] = [];
    for await (const record of spilledRecords(path)) {
      if (batch.push(record) < BATCH) continue;
      await this.store.write(batch);
      batch = [];
    }
    await this.store.write(batch);
    await Deno.remove(path);
    this.#report(`is available again: ${this.#spilledRows} kept rows were written`);
    this.#spilledRows = 0;
    this.#spilledBytes = 0;
  }

  /**
   * Checks that the spill file belongs to the database.
   *
   * @throws StoreError when it belongs to another one, which had the same name before.
   */
  async #checkOwner(verb: "read" | "write to"): Promise<void> {
    const { path } = this.options;
    const owner = await spillOwner(path);
    if (owner === undefined) return;
    const { database } = this;
    const identity = await withDatabaseErrors(verb, database, () => readDatabaseIdentity(database));
    if (identity === owner) return;
    throw new StoreError(
      `Cannot write to ${database.name}: the rows in "${path}" wait for another database, which this ` +
        "one has replaced; import the file into the database that is to have them, and remove it",
    );
  }

  #report(event: string): void {
    this.options.report(`${this.store.database.name} ${event}`);
  }
}
