/**
 * SQLite: the store that needs no server.
 *
 * @module
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { dirname } from "node:path";
import { InputError, ShortageError } from "../../core/errors.ts";
import { type Clock, sleep, systemClock } from "../../net/clock.ts";
import { lacksDescriptors } from "../../net/file_descriptors.ts";
import { type Bulk, type Database, type Row, Unavailable, type Value } from "./database.ts";
import { StoreError } from "../store.ts";

/** How long a statement waits for another program that writes, milliseconds. */
const BUSY_MS = 5000;
/** How long SQLite itself waits, which blocks the thread, and the pause between attempts. */
const BLOCK_MS = 10;
const PAUSE_MS = 40;

/** How to open a file. */
export interface SqliteOptions {
  /** Whether nothing is to be written: then the file has to be there. */
  readonly readOnly?: boolean;
  /** Whether the file has to be there, though it is written to. Default: it is created. */
  readonly mustExist?: boolean;
  /** How long a statement waits for another program that writes, milliseconds. Default: 5,000. */
  readonly busyMs?: number;
  /** The clock. Default: the machine's. */
  readonly clock?: Clock;
}

/**
 * Opens a file of SQLite, with a write-ahead log: whoever reads it meanwhile sees whole
 * transactions, and a program that is killed loses none that was accepted.
 *
 * @throws InputError when it cannot be opened, or is no database; Unavailable when it is locked;
 * ShortageError when descriptors are short; StoreError when its device is full.
 */
export function openSqlite(path: string, options: SqliteOptions = {}): Database {
  const { readOnly = false, mustExist = false } = options;
  let db: DatabaseSync | undefined;
  try {
    // To open it for reading alone creates no file, and fails where there is none.
    if (mustExist) new DatabaseSync(path, { readOnly: true }).close();
    db = new DatabaseSync(path, { readOnly });
    db.exec(`pragma busy_timeout = ${BLOCK_MS}`);
    db.exec("pragma trusted_schema = off");
    db.prepare("select count(*) from sqlite_master").get();
    const log = readOnly ? undefined : syncableLog(db);
    if (!readOnly) {
      db.exec("begin immediate; rollback"); // says now that it is locked, or only to be read
      db.exec(`pragma synchronous = ${log === undefined ? "full" : "normal"}`);
    }
    return new Sqlite(db, path, options, log);
  } catch (error) {
    const isShort = isShortOfDescriptors(error, path); // as long as it holds what it has opened
    db?.close();
    if (error instanceof Deno.errors.NotCapable) throw error;
    if (isLocked(error)) throw new Unavailable(LOCKED, { cause: error });
    if (isShort) throw new ShortageError(`Cannot open "${path}": ${SHORT}`, { cause: error });
    const message = `Cannot open "${path}": ${explain(error as Error, readOnly)}`;
    throw isFull(error) ? new StoreError(message, { cause: error }) : new InputError(message);
  }
}

/**
 * The path of the write-ahead log, which SQLite keeps beside the file that symbolic links lead to.
 *
 * @returns `undefined` for a database in memory, and where this program may not open the log: then
 * each commit has to be synced by SQLite.
 */
function syncableLog(db: DatabaseSync): string | undefined {
  const sql = "select file from pragma_database_list where name = 'main'";
  const file = db.prepare(sql).get()?.file;
  if (typeof file !== "string" || file === "") return undefined;
  const path = `${file}-wal`;
  const { state } = Deno.permissions.querySync({ name: "write", path });
  return state === "granted" ? path : undefined;
}

/** Opens the write-ahead log to sync it; `undefined` where there is none. */
async function openLog(path: string): Promise<Deno.FsFile | undefined> {
  try {
    return await Deno.open(path, { write: true });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

const LOCKED = "another program is writing to it";

/** SQLITE_BUSY, of which Deno's `exec` passes on no more than the message (2.9.6). */
function isLocked(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("database is locked");
}

/** SQLITE_FULL: nothing on the command line mends that. */
function isFull(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("database or disk is full");
}

/** The message of SQLITE_CANTOPEN. */
const UNOPENED = "unable to open database file";

const SHORT = "no file descriptors left; raise the limit (ulimit -n)";

/** How many descriptors SQLite opens for a file: the file, its log, the log's index, the folder. */
const DESCRIPTORS = 4;

/**
 * Whether SQLite could not open a file for lack of descriptors: its error is that of a missing file. To
 * find out, this opens the folder: closing the file would release SQLite's locks on it.
 */
function isShortOfDescriptors(error: unknown, path: string): boolean {
  if (!(error instanceof Error && error.message.startsWith(UNOPENED))) return false;
  return lacksDescriptors(DESCRIPTORS, () => Deno.openSync(dirname(path)));
}

/** What SQLite says, in terms of what a user sees. */
function explain({ message }: Error, readOnly: boolean): string {
  if (message.startsWith("file is not a database")) return "it is no database of SQLite";
  if (/readonly database/.test(message)) {
    return readOnly
      ? "its folder cannot be written, and SQLite wants a file beside it; read a copy elsewhere"
      : "it can be read, but not written";
  }
  if (message.startsWith(UNOPENED)) {
    return "there is no such file or folder, or it may not be opened";
  }
  return message;
}

class Sqlite implements Database {
  readonly engine = "sqlite";
  readonly name: string;
  readonly #prepared = new Map<string, StatementSync>();
  /**
   * The log, open: a scan that has used all descriptors can sync it still. SQLite keeps no lock on its
   * log, which closing would release.
   */
  #opened: Deno.FsFile | undefined;

  constructor(
    private readonly db: DatabaseSync,
    private readonly path: string,
    private readonly options: SqliteOptions,
    private readonly log: string | undefined,
  ) {
    this.name = `"${path}"`;
    // SQLite's own lower() knows no letters but those of English.
    const lower = (text: unknown) => typeof text === "string" ? text.toLowerCase() : null;
    db.function("lower", { deterministic: true }, lower);
  }

  async script(sql: string): Promise<void> {
    await this.#whenFree(() => this.db.exec(sql));
  }

  async run(sql: string, parameters: readonly Value[] = []): Promise<number> {
    return await this.#whenFree(() => Number(this.#prepare(sql).run(...parameters).changes));
  }

  async rows(sql: string, parameters: readonly Value[] = []): Promise<Row[]> {
    return await this.#whenFree(() => this.#prepare(sql).all(...parameters) as Row[]);
  }

  /**
   * Deno's `iterate()` takes an error for the end (2.9.6): of a broken file, a part would pass for
   * the whole. So the rows are counted again, with the file as it was: the first query takes the
   * lock under which it stays so.
   */
  async *stream(sql: string, parameters: readonly Value[] = []): AsyncIterable<Row> {
    this.db.exec("begin");
    try {
      await this.rows("select count(*) from sqlite_master");
      let read = 0;
      for (const row of this.db.prepare(sql).iterate(...parameters)) {
        read++;
        yield row as Row;
      }
      const [{ n }] = await this.rows(`select count(*) as n from (${sql})`, parameters);
      if (n !== read) throw new Error(`${read} of ${n} rows can be read: the file is broken`);
    } finally {
      this.db.exec("rollback");
    }
  }

  // deno-lint-ignore require-await -- what it throws has to reject
  async bulk({ sqlite }: Bulk, rows: readonly (readonly Value[])[]): Promise<number> {
    const statement = this.#prepare(sqlite);
    let changed = 0;
    for (const row of rows) changed += Number(statement.run(...row).changes);
    return changed;
  }

  async transaction<T>(work: () => Promise<T>): Promise<T> {
    await this.script("begin immediate");
    try {
      const result = await work();
      await this.script("commit");
      return result;
    } catch (error) {
      // A full disk has ended it already.
      if (this.db.isTransaction) this.db.exec("rollback");
      throw error;
    }
  }

  /**
   * Syncs the write-ahead log: commits are not synced (`synchronous = normal`), and no checkpoint
   * syncs them while another connection reads.
   */
  async flush(): Promise<void> {
    if (this.log === undefined) return;
    this.#opened ??= await openLog(this.log);
    const isThere = this.#opened !== undefined && (await this.#opened.stat()).nlink !== 0;
    if (isThere) return await this.#opened!.sync();
    const [{ mode }] = await this.rows("select journal_mode as mode from pragma_journal_mode");
    // Without a log, as on file systems that have no shared memory, each commit is synced.
    if (mode === "wal") throw new Error(`its write-ahead log "${this.log}" was deleted`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#opened?.close();
    this.#prepared.clear();
    this.db.close();
    return Promise.resolve();
  }

  /**
   * Does something as soon as no other program has locked the file. The event loop runs meanwhile.
   *
   * @throws Unavailable where that takes longer than a statement may wait.
   */
  async #whenFree<T>(work: () => T): Promise<T> {
    const { clock = systemClock, busyMs = BUSY_MS } = this.options;
    const deadline = clock.now() + busyMs;
    for (;;) {
      try {
        return work();
      } catch (error) {
        if (isShortOfDescriptors(error, this.path)) throw new Error(SHORT, { cause: error });
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
}
