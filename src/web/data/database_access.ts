/**
 * Opens the dashboard's database, and opens it again when it was replaced or the connection was
 * lost.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { nodePath } from "../../core/node_modules.ts";
import { type FileIdentity, fileIdentity, pathChangeOf } from "../../sinks/file_identity.ts";
import { type Database, Unavailable } from "../../store/database/database.ts";
import { openPostgres } from "../../store/database/postgres.ts";
import { openSqlite } from "../../store/database/sqlite.ts";
import { checkVersion } from "../../store/schema/create_tables.ts";
import { readDatabaseIdentity } from "../../store/spill_file.ts";
import type { PostgresLocation } from "../../store/database/postgres_url.ts";
import { DataError, type DataTrouble } from "../queries/dashboard_data.ts";

/** Where a database is, and how to connect: values that another thread can receive. */
export interface DatabaseConnection {
  /** The name of the database in messages, without a password. */
  readonly name: string;
  /** The absolute path of a SQLite file; `undefined`: the database is in PostgreSQL. */
  readonly file?: string;
  readonly postgres?: PostgresLocation;
  readonly password?: string;
  /** Root certificates in PEM form. */
  readonly certificate?: string;
}

/** How long a statement waits for a locked file, milliseconds. */
const BUSY_MS = 500;
/** PostgreSQL cancels longer statements of {@linkcode DatabaseAccess.read}, milliseconds. */
const STATEMENT_MS = 2000;
/** The message for an answer that took too long. */
export const SLOW = "The answer took too long. Use other filters, or try again.";
const UNREACHABLE = "The server of the database cannot be reached.";
const DENIED = "The role of the database may not read all that this page shows";
const OTHER_TABLES = "The database has no tables of blocksweep, or those of another version.";

/** The errors of PostgreSQL that are a reason to try again later, by SQLSTATE. */
const TROUBLES: Readonly<Record<string, readonly [trouble: DataTrouble, message: string]>> = {
  "57014": ["slow", SLOW], // the statement was cancelled
  "42501": ["denied", DENIED], // the role lacks a permission
  "3D000": ["unreachable", UNREACHABLE], // the database does not exist
  "42P01": ["schema", OTHER_TABLES], // a table does not exist
  "42703": ["schema", OTHER_TABLES], // a column does not exist
};

interface Opened {
  readonly database: Database;
  /** The identity of the file that was opened. */
  readonly file: FileIdentity | undefined;
  readonly identity: string;
}

/**
 * The identity of a database, which a copy has too, and the file that was opened. After a backup
 * has taken the place of a file, the identity is another one.
 */
async function identify(database: Database, file?: FileIdentity): Promise<string> {
  return `${await readDatabaseIdentity(database)}${
    file === undefined ? "" : ` ${file.dev}:${file.ino}`
  }`;
}

/** Reads a database. Its methods are called one at a time. */
export class DatabaseAccess implements AsyncDisposable {
  #opened: Opened | undefined;

  constructor(private readonly connection: DatabaseConnection) {}

  /**
   * Runs `work`, whose queries all see one state of the database.
   *
   * @param work Receives the database, and its identity, see {@linkcode identify}.
   * @throws DataError if the database cannot be read now.
   */
  async read<T>(work: (database: Database, identity: string) => Promise<T>): Promise<T> {
    return await this.readLong((database, identity) =>
      database.snapshot(async () => {
        if (database.engine === "postgres") {
          await database.script(`set local statement_timeout = ${STATEMENT_MS}`);
        }
        return await work(database, identity);
      })
    );
  }

  /**
   * As {@linkcode DatabaseAccess.read}, for work that takes long: its queries may see different
   * states.
   */
  async readLong<T>(work: (database: Database, identity: string) => Promise<T>): Promise<T> {
    const { database, file, identity } = await this.#current();
    try {
      // The connection may have been lost, and the database made again.
      const isSame = file !== undefined;
      return await work(database, isSame ? identity : await identify(database));
    } catch (error) {
      throw await this.#troubleOf(error);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.database[Symbol.asyncDispose]();
  }

  /** The open database. It is opened if it is not open, or if another file has taken its place. */
  async #current(): Promise<Opened> {
    const { file } = this.connection;
    const opened = this.#opened?.file;
    if (file !== undefined && opened !== undefined) {
      if (await pathChangeOf(file, opened) !== undefined) await this[Symbol.asyncDispose]();
    }
    return this.#opened ??= await this.#open();
  }

  async #open(): Promise<Opened> {
    const { file } = this.connection;
    const found = file === undefined ? undefined : await fileIdentity(file);
    if (file !== undefined && found === undefined) {
      throw new DataError("gone", "The file of the database does not exist.");
    }
    let database: Database | undefined;
    try {
      database = await this.#connect();
      await checkVersion(database);
      return { database, file: found, identity: await identify(database, found) };
    } catch (error) {
      await database?.[Symbol.asyncDispose]();
      if (error instanceof InputError && database !== undefined) {
        throw new DataError("schema", this.#shown(error));
      }
      throw await this.#troubleOf(error);
    }
  }

  async #connect(): Promise<Database> {
    const { name, file, postgres, password, certificate } = this.connection;
    if (file !== undefined) {
      return openSqlite(file, { readOnly: true, isMapped: false, busyMs: BUSY_MS });
    }
    return await openPostgres(postgres!, name, password, certificate);
  }

  /** The message of an error for pages: with the name of the file, without its folder. */
  #shown({ message }: Error): string {
    const { file } = this.connection;
    const shown = file === undefined
      ? message
      : message.replaceAll(file, nodePath().basename(file));
    return `${shown}.`;
  }

  /** The error for an error of a database, which is closed unless the next call can use it. */
  async #troubleOf(error: unknown): Promise<unknown> {
    if (error instanceof DataError || error instanceof Deno.errors.NotCapable) return error;
    const { code = "", message: reason } = ((error as Error).cause ?? {}) as {
      readonly code?: string;
      readonly message?: string;
    };
    const [trouble, message] = TROUBLES[code] ?? [];
    if (trouble === "slow") return new DataError(trouble, message!);
    if (trouble === "denied") return new DataError(trouble, `${message}: ${reason}.`);
    const isOpen = this.#opened !== undefined;
    if (isOpen && error instanceof InputError) return error; // a wrong question
    await this[Symbol.asyncDispose]();
    const isFile = this.connection.file !== undefined;
    const isLocked = isFile && error instanceof Unavailable;
    if (isLocked) return new DataError("locked", "Another program has locked the database.");
    if (isFile) return isOpen ? error : new DataError("schema", this.#shown(error as Error));
    if (trouble !== undefined) return new DataError(trouble, message!);
    return isOpen && !(error instanceof Unavailable)
      ? error
      : new DataError("unreachable", UNREACHABLE);
  }
}
