/**
 * SQLite: the store that needs no server.
 *
 * @module
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { InputError } from "../errors.ts";
import type { Bulk, Database, Row, Value } from "./database.ts";

/** How long to wait for another program that writes, milliseconds. */
const BUSY_MS = 5000;

/** How to open a file. */
export interface SqliteOptions {
  /** Whether nothing is to be written: then the file has to be there. */
  readonly readOnly?: boolean;
  /** How long to wait for another program that writes, milliseconds. Default: 5,000. */
  readonly busyMs?: number;
}

/**
 * Opens a file of SQLite, with a write-ahead log: whoever reads it meanwhile sees whole
 * transactions, and a program that is killed loses none that was accepted.
 *
 * @throws InputError when it cannot be opened, is no database, or is locked.
 */
export function openSqlite(path: string, options: SqliteOptions = {}): Database {
  const { readOnly = false, busyMs = BUSY_MS } = options;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, { readOnly });
    db.exec(`pragma busy_timeout = ${busyMs}`);
    db.exec("pragma trusted_schema = off");
    db.prepare("select count(*) from sqlite_master").get();
    if (!readOnly) {
      db.exec("begin immediate; rollback"); // says now that it is locked, or only to be read
      db.exec("pragma synchronous = normal");
    }
    return new Sqlite(db, path);
  } catch (error) {
    db?.close();
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot open "${path}": ${explain(error as Error, readOnly)}`);
  }
}

/** What SQLite says, in terms of what a user sees. */
function explain({ message }: Error, readOnly: boolean): string {
  if (message.startsWith("file is not a database")) return "it is no database of SQLite";
  if (message.startsWith("database is locked")) return "another program is writing to it";
  if (/readonly database/.test(message)) {
    return readOnly
      ? "its folder cannot be written, and SQLite wants a file beside it; read a copy elsewhere"
      : "it can be read, but not written";
  }
  if (message.startsWith("unable to open database file")) {
    return "there is no such file or folder, or it may not be opened";
  }
  return message;
}

class Sqlite implements Database {
  readonly engine = "sqlite";
  readonly name: string;
  readonly #prepared = new Map<string, StatementSync>();

  constructor(private readonly db: DatabaseSync, path: string) {
    this.name = `"${path}"`;
    // SQLite's own lower() knows no letters but those of English.
    const lower = (text: unknown) => typeof text === "string" ? text.toLowerCase() : null;
    db.function("lower", { deterministic: true }, lower);
  }

  // deno-lint-ignore require-await -- what it throws has to reject
  async script(sql: string): Promise<void> {
    this.db.exec(sql);
  }

  // deno-lint-ignore require-await -- what it throws has to reject
  async run(sql: string, parameters: readonly Value[] = []): Promise<number> {
    return Number(this.#prepare(sql).run(...parameters).changes);
  }

  // deno-lint-ignore require-await -- what it throws has to reject
  async rows(sql: string, parameters: readonly Value[] = []): Promise<Row[]> {
    return this.#prepare(sql).all(...parameters) as Row[];
  }

  /**
   * Deno's `iterate()` takes an error for the end (2.9.6): of a broken file, a part would pass for
   * the whole. So the rows are counted again, with the file as it was.
   */
  async *stream(sql: string, parameters: readonly Value[] = []): AsyncIterable<Row> {
    this.db.exec("begin");
    try {
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
    this.db.exec("begin immediate");
    try {
      const result = await work();
      this.db.exec("commit");
      return result;
    } catch (error) {
      // A full disk has ended it already.
      if (this.db.isTransaction) this.db.exec("rollback");
      throw error;
    }
  }

  // deno-lint-ignore require-await -- what it throws has to reject
  async flush(): Promise<void> {
    this.db.exec("pragma wal_checkpoint(passive)");
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#prepared.clear();
    this.db.close();
    return Promise.resolve();
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#prepared.get(sql);
    if (statement === undefined) this.#prepared.set(sql, statement = this.db.prepare(sql));
    return statement;
  }
}
