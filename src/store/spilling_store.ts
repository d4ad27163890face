/**
 * A store that may be unavailable for a while: its rows wait in a file until it takes them.
 *
 * @module
 */
import { type Clock, sleep } from "../net/clock.ts";
import { serverId, type ServerRecord } from "../core/record.ts";
import { linesOf } from "../core/text.ts";
import { type Database, Unavailable } from "./database/database.ts";
import { type HeldScan, heldServers } from "./scan_rows.ts";
import {
  type ScanBegin,
  type ScanFinish,
  type Store,
  StoreError,
  withDatabaseErrors,
} from "./store.ts";

/** How rows wait. */
export interface SpillOptions {
  /** The file, which is made when it is needed, for its owner alone, and removed when it is not. */
  readonly path: string;
  /** How large it may get, bytes. */
  readonly most: number;
  /** How long to wait for the database at the end, milliseconds. */
  readonly patienceMs: number;
  /** Shortens that wait. Default: nothing does. */
  readonly signal?: AbortSignal;
  /** The clock. */
  readonly clock: Clock;
  /** Told when the database becomes unavailable, and when it is available again. */
  readonly tell: (line: string) => void;
}

/** How often the database is tried while rows wait, milliseconds. */
const RETRY_MS = 1000;
/** How long the end of a scan still waits for the database after an interruption, milliseconds. */
const HURRIED_MS = 2000;
/** Rows that are read back at a time. */
const BATCH = 500;
const LINE_FEED = 10;

/** Takes rows as a {@linkcode Store} does, and keeps those that the database does not take. */
export class SpillingStore implements AsyncDisposable {
  /** Rows in the file. */
  #rows = 0;
  #bytes = 0;
  /** The scan, until the database knows of it. */
  #scan: ScanBegin | undefined;
  #triedAt = -Infinity;

  /** Takes a store over. */
  constructor(private readonly store: Store, private readonly options: SpillOptions) {}

  /** The store's own. */
  get database(): Database {
    return this.store.database;
  }

  /** Whether there is something that the database has not taken. */
  get #waits(): boolean {
    return this.#rows > 0 || this.#scan !== undefined;
  }

  /**
   * Which of these servers have no row of a scan, neither in the database nor in the file. To be
   * called before the scan goes on.
   *
   * @throws StoreError when the database cannot be read.
   */
  async missing(scan: HeldScan, ids: readonly string[]): Promise<Set<string>> {
    const { database } = this;
    const held = await withDatabaseErrors("read", database, () => heldServers(database, scan, ids));
    for await (const record of waitingRows(this.options.path)) held.add(serverId(record));
    return new Set(ids.filter((id) => !held.has(id)));
  }

  /** Notes that a scan begins, or goes on: then rows may wait that it kept before. */
  async begin(scan: ScanBegin): Promise<void> {
    await this.#recover();
    this.#scan = scan;
    await this.#try(() => this.#announce(), true);
  }

  /**
   * Writes rows, to the database or to the file.
   *
   * @throws StoreError when the database refuses them, or neither takes them.
   */
  async write(records: readonly ServerRecord[]): Promise<void> {
    const isFirst = !this.#waits;
    const tooSoon = this.options.clock.now() - this.#triedAt < RETRY_MS;
    const written = (isFirst || !tooSoon) && await this.#try(async () => {
      await this.#replay();
      await this.store.write(records);
    }, isFirst);
    if (!written) await this.#keep(records);
  }

  /** Hands everything that was written on to the disk. */
  async flush(): Promise<void> {
    await this.#syncFile();
    await this.store.flush();
  }

  async #syncFile(): Promise<void> {
    if (this.#rows === 0) return;
    using file = await Deno.open(this.options.path, { write: true });
    await file.sync();
  }

  /** Always 0: nothing is ever cut back. */
  position(): number {
    return 0;
  }

  /**
   * Notes that a scan ended, after all rows have been brought to the database.
   *
   * @throws StoreError when it stays unavailable: the message says how many rows wait, and where.
   */
  async end(finish: ScanFinish): Promise<number> {
    const { clock, patienceMs, path, signal } = this.options;
    let deadline = clock.now() + patienceMs;
    const hurry = () => deadline = Math.min(deadline, clock.now() + HURRIED_MS);
    signal?.addEventListener("abort", hurry, { once: true });
    if (signal?.aborted) hurry();
    for (;;) {
      try {
        await this.#replay();
        return await this.store.end(finish);
      } catch (error) {
        const why = absenceOf(error);
        if (why === undefined) throw error;
        if (clock.now() + RETRY_MS <= deadline) {
          await sleep(clock, RETRY_MS);
          continue;
        }
        await this.#syncFile();
        const { name } = this.store.database;
        const kept = this.#rows === 0
          ? "all rows are there, but not how the scan ended"
          : `${this.#rows} rows wait in "${path}"; when it is back, import that file`;
        throw new StoreError(`Cannot write to ${name}: ${why}; ${kept}`, { cause: error });
      }
    }
  }

  /** Closes the database; a file with rows stays. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]();
  }

  /** Does something with the database; false where that is unavailable. */
  async #try(work: () => Promise<void>, isFirst: boolean): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      const why = absenceOf(error);
      if (why === undefined) throw error;
      this.#triedAt = this.options.clock.now();
      if (isFirst) this.#tell(`is unavailable (${why}): rows wait in "${this.options.path}"`);
      return false;
    }
  }

  async #announce(): Promise<void> {
    if (this.#scan === undefined) return;
    await this.store.begin(this.#scan);
    this.#scan = undefined;
  }

  /** Counts rows of an earlier part of the scan; a torn one was never accepted, and is cut off. */
  async #recover(): Promise<void> {
    const { path } = this.options;
    const file = await openWaiting(path, { read: true, write: true });
    if (file === undefined) return;
    using _closed = file;
    const chunk = new Uint8Array(1 << 16);
    let [size, rows, whole] = [0, 0, 0];
    for (let read; (read = await file.read(chunk)) !== null; size += read) {
      const bytes = chunk.subarray(0, read);
      for (let at = -1; (at = bytes.indexOf(LINE_FEED, at + 1)) >= 0; whole = size + at + 1) rows++;
    }
    if (whole < size) await file.truncate(whole);
    [this.#rows, this.#bytes] = [rows, whole];
  }

  async #keep(records: readonly ServerRecord[]): Promise<void> {
    const { path, most } = this.options;
    const text = records.map((record) => `${JSON.stringify(record)}\n`).join("");
    const bytes = new TextEncoder().encode(text);
    const { name } = this.store.database;
    if (this.#bytes + bytes.length > most) {
      throw new StoreError(`Cannot write to ${name}: it is unavailable, and "${path}" is full`);
    }
    try {
      await Deno.writeFile(path, bytes, { append: true, mode: 0o600 });
    } catch (error) {
      const { message } = error as Error;
      throw new StoreError(
        `Cannot write to ${name}: it is unavailable, nor to "${path}": ${message}`,
      );
    }
    this.#bytes += bytes.length;
    this.#rows += records.length;
  }

  /** Brings what waits to the database. Rows that it has already change nothing. */
  async #replay(): Promise<void> {
    await this.#announce();
    if (this.#rows === 0) return;
    const { path } = this.options;
    let batch: ServerRecord[] = [];
    for await (const record of waitingRows(path)) {
      if (batch.push(record) < BATCH) continue;
      await this.store.write(batch);
      batch = [];
    }
    await this.store.write(batch);
    await Deno.remove(path);
    this.#tell(`is available again: ${this.#rows} rows that waited were written`);
    this.#rows = 0;
    this.#bytes = 0;
  }

  #tell(what: string): void {
    this.options.tell(`${this.store.database.name} ${what}`);
  }
}

/**
 * The rows in a file, none where there is none. A crash of the system may have left a last line that
 * is torn, or lines that are no rows: whoever resumes learns which servers are missing.
 */
async function* waitingRows(path: string): AsyncIterable<ServerRecord> {
  const file = await openWaiting(path, { read: true });
  if (file === undefined) return;
  for await (const { line, ended } of linesOf(file.readable.pipeThrough(new TextDecoderStream()))) {
    const record = ended ? recordIn(line) : undefined;
    if (record !== undefined) yield record;
  }
}

function recordIn(line: string): ServerRecord | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined; // not even JSON
  }
}

/** Opens a file with rows; `undefined` where there is none. */
async function openWaiting(
  path: string,
  options: Deno.OpenOptions,
): Promise<Deno.FsFile | undefined> {
  try {
    return await Deno.open(path, options);
  } catch (error) {
    const { NotCapable, NotFound } = Deno.errors;
    if (error instanceof NotFound || error instanceof NotCapable) return undefined;
    throw error;
  }
}

/** Why a database is unavailable; `undefined` for other errors. */
export function absenceOf(error: unknown): string | undefined {
  if (error instanceof StoreError) return absenceOf(error.cause);
  return error instanceof Unavailable ? error.message : undefined;
}
