/**
 * The SQLite engine, for databases in one file.
 *
 * @module
 */
import { nodePath, nodeSqlite } from "../../core/node_modules.ts";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { InputError, ShortageError } from "../../core/errors.ts";
import { type Clock, sleep, systemClock } from "../../net/clock.ts";
import { freeDescriptors, NO_DESCRIPTORS } from "../../net/file_descriptors.ts";
import {
  BLOCK_ROWS,
  type BulkRows,
  type BulkStatement,
  type BulkValue,
  type Database,
  type Row,
  StoreError,
  Unavailable,
  type Value,
} from "./database.ts";
import {
  boundRows,
  newRowReader,
  rounded,
  type RowReader,
  withLargeIntegers,
} from "./sqlite_rows.ts";
import { TransactionQueue } from "./transaction_queue.ts";

/** Default of {@linkcode SqliteOptions.busyMs}. */
const BUSY_MS = 5000;
/** SQLite's own busy timeout, milliseconds. It blocks the thread, so it is short. */
const BLOCK_MS = 10;
/** Pause between two attempts to lock the file, milliseconds. The event loop runs meanwhile. */
const PAUSE_MS = 40;

/**
 * The start of a file that readers map into memory, bytes: SQLite's maximum. Reading many rows takes half
 * the time then.
 */
const MAPPED_BYTES = 2 ** 31 - 65_536;

/** Options of {@linkcode openSqlite}. */
export interface SqliteOptions {
  /** Opens the file for reading only; the file must exist. Default: `false`. */
  readonly readOnly?: boolean;
  /** Maps a file that is read into memory, which then counts as the process's. Default: `true`. */
  readonly isMapped?: boolean;
  /** Refuses to create the file. Default: `false`, a missing file is created. */
  readonly mustExist?: boolean;
  /** How long a statement waits while another program has locked the file, milliseconds. Default: 5,000. */
  readonly busyMs?: number;
  /** The clock that measures the wait. Default: the machine's. */
  readonly clock?: Clock;
}

/**
 * Opens a SQLite file with a write-ahead log. Other programs can read the file meanwhile and see
 * whole transactions. A killed process loses no committed transaction.
 *
 * @throws InputError when the file cannot be opened, or is not a database; Unavailable when another
 * program has locked it; ShortageError when no file descriptors are left; StoreError when the disk
 * is full.
 */
export function openSqlite(path: string, options: SqliteOptions = {}): Database {
  const { readOnly = false, isMapped = true, mustExist = false } = options;
  const { DatabaseSync } = nodeSqlite();
  let db: DatabaseSync | undefined;
  try {
    // Opening for reading fails when the file is missing; opening for writing would create it.
    if (mustExist) new DatabaseSync(path, { readOnly: true }).close();
    db = new DatabaseSync(path, { readOnly });
    db.exec(`pragma busy_timeout = ${BLOCK_MS}`);
    db.exec("pragma trusted_schema = off");
    db.prepare("select count(*) from sqlite_master").get();
    if (readOnly && isMapped) db.exec(`pragma mmap_size = ${MAPPED_BYTES}`);
    const log = readOnly ? undefined : syncableLog(db);
    if (!readOnly) {
      db.exec("begin immediate; rollback"); // fails now when the file is locked or read-only
      db.exec(`pragma synchronous = ${log === undefined ? "full" : "normal"}`);
    }
    return new Sqlite(db, path, options, log);
  } catch (error) {
    const isShort = isShortOfDescriptors(error, path); // checked before close() frees descriptors
    db?.close();
    if (error instanceof Deno.errors.NotCapable) throw error;
    if (isLocked(error)) throw new Unavailable(LOCKED, { cause: error });
    if (isShort) {
      throw new ShortageError(`Cannot open "${path}": ${NO_DESCRIPTORS}`, { cause: error });
    }
    const unopened = isUnopened(error) &&
      (db === undefined ? unopenedReason(path, options) : noFileBeside(readOnly));
    const message = `Cannot open "${path}": ${unopened || explain(error as Error, readOnly)}`;
    throw isFull(error) ? new StoreError(message, { cause: error }) : new InputError(message);
  }
}

/**
 * The path of the write-ahead log. SQLite resolves symbolic links: the log lies beside the real file.
 *
 * @returns `undefined` for a database in memory, and when this program lacks the permission to open the
 * log. SQLite then has to sync each commit itself.
 */
function syncableLog(db: DatabaseSync): string | undefined {
  const sql = "select file from pragma_database_list where name = 'main'";
  const file = db.prepare(sql).get()?.file;
  if (typeof file !== "string" || file === "") return undefined;
  const path = `${file}-wal`;
  const { state } = Deno.permissions.querySync({ name: "write", path });
  return state === "granted" ? path : undefined;
}

/** Opens the write-ahead log for syncing; `undefined` when there is no log. */
async function openLog(path: string): Promise<Deno.FsFile | undefined> {
  try {
    return await Deno.open(path, { write: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

const LOCKED = "another program is writing to it";

/** Recognises SQLITE_BUSY. Errors of Deno's `exec` have a message and no code (Deno 2.9.6). */
function isLocked(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("database is locked");
}

/** Recognises SQLITE_FULL: the disk is full. */
function isFull(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("database or disk is full");
}

/** The message of SQLITE_CANTOPEN. */
const UNOPENED = "unable to open database file";

/** Descriptors that SQLite needs for one database: the file, its log, the log's index, the folder. */
const DESCRIPTORS = 4;

/**
 * Whether SQLite could not open a file for lack of descriptors. SQLite's error is the one of a missing
 * file, so this function opens the folder as a test. It does not open the file: closing the file would
 * release SQLite's locks on it.
 */
function isShortOfDescriptors(error: unknown, path: string): boolean {
  if (!isUnopened(error)) return false;
  return freeDescriptors(DESCRIPTORS, () => Deno.openSync(nodePath().dirname(path))) < DESCRIPTORS;
}

function isUnopened(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith(UNOPENED);
}

/** SQLite's error message in a user's terms. */
function explain({ message }: Error, readOnly: boolean): string {
  if (message.startsWith("file is not a database")) return "it is not an SQLite database";
  if (/readonly database/.test(message)) {
    return readOnly ? noFileBeside(readOnly) : "it can be read, but not written";
  }
  if (message.startsWith("disk I/O error")) return `${message}; the disk may be full`;
  return message;
}

/** The reason why SQLite opened a file and could not create its log or the log's index. */
function noFileBeside(readOnly: boolean): string {
  return "its folder or file system is not writable, and SQLite needs a file beside it" +
    (readOnly ? "; read a copy in another folder" : "");
}

/** The reason why SQLite could not open or create a file: its error is the same for all of them. */
function unopenedReason(path: string, { readOnly, mustExist }: SqliteOptions): string {
  try {
    const [file, folder] = [path, nodePath().dirname(path)].map(statOrMissing);
    if (folder === undefined) return "there is no such folder";
    if (file?.isDirectory) return "it is a folder";
    if (file !== undefined) return "access is denied";
    return readOnly || mustExist
      ? "there is no such file"
      : "it cannot be created: its folder or file system is not writable";
  } catch (error) {
    if (error instanceof Deno.errors.PermissionDenied) return "access is denied";
    return "there is no such file, or access is denied"; // the folder cannot be read
  }
}

function statOrMissing(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.statSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return undefined;
    }
    throw error;
  }
}

class Sqlite implements Database {
  readonly engine = "sqlite";
  readonly clockOffsetMs = 0;
  readonly name: string;
  readonly #queue = new TransactionQueue();
  /** Whether a {@linkcode snapshot} is open: streams then read in its transaction. */
  #inSnapshot = false;
  readonly #prepared = new Map<string, StatementSync>();
  readonly #readers = new Map<string, RowReader>();
  /**
   * The write-ahead log. It stays open so that a scan that has used up all descriptors can still sync.
   * SQLite holds no lock on its log, so closing the log releases none.
   */
  #openLog: Deno.FsFile | undefined;

  constructor(
    private readonly db: DatabaseSync,
    private readonly path: string,
    private readonly options: SqliteOptions,
    private readonly log: string | undefined,
  ) {
    this.name = `"${path}"`;
    // SQLite's own lower() converts ASCII letters only.
    const lower = (text: unknown) => typeof text === "string" ? text.toLowerCase() : null;
    db.function("unicode_lower", { deterministic: true }, lower);
  }

  async script(sql: string): Promise<void> {
    await this.#whenFree(() => this.db.exec(sql));
  }

  async run(sql: string, parameters: readonly Value[] = []): Promise<number> {
    return await this.#whenFree(() => Number(this.#prepare(sql).run(...parameters).changes));
  }

  async rows(sql: string, parameters: readonly Value[] = []): Promise<Row[]> {
    return await this.#whenFree(() => {
      try {
        return this.#reader(sql)(parameters);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error; // an integer is too large for a number
        return withLargeIntegers(this.db, sql).all(...parameters).map(rounded);
      }
    });
  }

  /**
   * Deno's `iterate()` ends without an error when SQLite reports one, or when an integer is too large for
   * a number (Deno 2.9.6), so a corrupt file would appear to have fewer rows. The rows are therefore
   * counted again afterwards. From a row with a large integer on, integers are read as `bigint`.
   */
  async *stream(sql: string, parameters: readonly Value[] = []): AsyncIterable<Row> {
    using turn = this.#inSnapshot ? undefined : await this.#queue.begin();
    const isInSnapshot = turn === undefined;
    if (!isInSnapshot) await this.#beginSnapshot();
    try {
      let read = 0;
      for (const row of this.db.prepare(sql).iterate(...parameters)) {
        read++;
        yield row as Row;
      }
      const [{ n }] = await this.rows(`select count(*) as n from (${sql})`, parameters);
      if (n === read) return;
      let position = 0;
      for (const row of withLargeIntegers(this.db, sql).iterate(...parameters)) {
        if (position++ < read) continue;
        read = position;
        yield rounded(row);
      }
      if (n !== read) throw new Error(`${read} of ${n} rows can be read: the file is corrupt`);
    } finally {
      if (!isInSnapshot) this.db.exec("rollback");
    }
  }

  async snapshot<T>(work: () => Promise<T>): Promise<T> {
    using _turn = await this.#queue.begin();
    await this.#beginSnapshot();
    this.#inSnapshot = true;
    try {
      return await work();
    } finally {
      this.#inSnapshot = false;
      this.db.exec("rollback");
    }
  }

  /** Begins a read transaction. Its first query decides which state of the file it sees. */
  async #beginSnapshot(): Promise<void> {
    this.db.exec("begin");
    try {
      await this.rows("select count(*) from sqlite_master");
    } catch (error) {
      this.db.exec("rollback");
      throw error;
    }
  }

  // deno-lint-ignore require-await -- an exception has to reject the promise
  async bulk(statement: BulkStatement, rows: BulkRows): Promise<number> {
    const { sqlite, sqliteBlock } = statement;
    const bound = boundRows(statement, rows);
    const blocks = sqliteBlock === undefined ? 0 : Math.floor(rows.length / BLOCK_ROWS);
    let changed = 0;
    for (let block = 0; block < blocks; block++) {
      const values: BulkValue[] = [];
      for (let i = 0; i < BLOCK_ROWS; i++) values.push(...bound[block * BLOCK_ROWS + i]);
      changed += Number(this.#prepare(sqliteBlock!).run(...values).changes);
    }
    const single = this.#prepare(sqlite);
    for (let i = blocks * BLOCK_ROWS; i < rows.length; i++) {
      changed += Number(single.run(...bound[i]).changes);
    }
    return changed;
  }

  // deno-lint-ignore require-await -- an exception has to reject the promise
  async insert(statement: BulkStatement, rows: BulkRows): Promise<(number | undefined)[]> {
    const single = this.#prepare(statement.sqlite);
    return boundRows(statement, rows).map((row) => {
      const { changes, lastInsertRowid } = single.run(...row);
      return changes === 0 ? undefined : Number(lastInsertRowid);
    });
  }

  async transaction<T>(work: (attempt: number) => Promise<T>): Promise<T> {
    using _turn = await this.#queue.begin();
    await this.script("begin immediate");
    try {
      const result = await work(1);
      await this.script("commit");
      return result;
    } catch (error) {
      // SQLite rolls back by itself when the disk is full.
      if (this.db.isTransaction) this.db.exec("rollback");
      throw error;
    }
  }

  now(): number {
    return systemClock.wall();
  }

  /**
   * Syncs the write-ahead log. With `synchronous = normal`, SQLite syncs it only at its own checkpoints,
   * and these wait while another connection reads.
   */
  async flush(): Promise<void> {
    if (this.log === undefined) return;
    this.#openLog ??= await openLog(this.log);
    const exists = this.#openLog !== undefined && (await this.#openLog.stat()).nlink !== 0;
    if (exists) return await this.#openLog!.sync();
    const [{ mode }] = await this.rows("select journal_mode as mode from pragma_journal_mode");
    // File systems without shared memory have no write-ahead log: SQLite syncs each commit there.
    if (mode === "wal") throw new Error(`its write-ahead log "${this.log}" was deleted`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#openLog?.close();
    this.#prepared.clear();
    this.#readers.clear();
    this.db.close();
    return Promise.resolve();
  }

  /**
   * Runs `work`, and repeats it while another program has locked the file. The event loop runs meanwhile.
   *
   * @throws Unavailable when the file stays locked for {@linkcode SqliteOptions.busyMs}.
   */
  async #whenFree<T>(work: () => T): Promise<T> {
    const { clock = systemClock, busyMs = BUSY_MS } = this.options;
    const deadline = clock.now() + busyMs;
    for (;;) {
      try {
        return work();
      } catch (error) {
        if (isShortOfDescriptors(error, this.path)) {
          throw new Error(NO_DESCRIPTORS, { cause: error });
        }
        if (!isLocked(error)) throw error;
        if (clock.now() >= deadline) throw new Unavailable(LOCKED, { cause: error });
      }
      await sleep(clock, PAUSE_MS);
    }
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) this.#prepared.set(sql, statement = this.db.prepare(sql));
    return statement;
  }

  #reader(sql: string): RowReader {
    let reader = this.#readers.get(sql);
    if (reader === undefined) this.#readers.set(sql, reader = newRowReader(this.db, sql));
    return reader;
  }
}
