/**
 * Opens databases for reading or writing.
 *
 * @module
 */
import { InputError } from "../core/errors.ts";
import { sleep, systemClock } from "../net/clock.ts";
import { type Database, StoreError, Unavailable } from "./database/database.ts";
import {
  checkVersion,
  createTables,
  createTablesForCopy,
  type TableOptions,
} from "./schema/create_tables.ts";
import { addMonths, checkPartitions } from "./schema/partitions.ts";
import { createTextIndex } from "./schema/text_index.ts";
import { openPostgres } from "./database/postgres.ts";
import type { DatabaseLocation } from "./database_location.ts";
import type { PostgresLocation } from "./database/postgres_url.ts";
import { SERVER_WAITS } from "./database/responding_server.ts";
import { openSqlite, type SqliteOptions } from "./database/sqlite.ts";

/** How to resolve paths and passwords, which depend on the process. */
export interface ConnectionEnvironment {
  /** Resolves a path that the user named to an absolute path. */
  readonly resolve: (path: string) => string;
  /** Looks up the password of a server whose URL has none. `undefined`: no password. */
  readonly password: (location: PostgresLocation) => Promise<string | undefined>;
}

/** How long to wait for a file that another program has locked, milliseconds. */
const OPEN_MS = 5000;
/** Pause between two attempts to open a locked file, milliseconds. */
const PAUSE_MS = 100;
/** A {@linkcode LockWait} is reported after this time, milliseconds. */
const REPORT_MS = 1000;

/** A wait without a time limit for a file that another program has locked. */
export interface LockWait {
  /** Cancels the wait for the lock. */
  readonly signal: AbortSignal;
  /** Receives one message when the wait lasts longer than a second. */
  readonly report: (line: string) => void;
}

/** Options for opening a database that is written to; see {@linkcode SqliteOptions} too. */
export interface OpenOptions extends Pick<SqliteOptions, "busyMs" | "clock">, TableOptions {
  /** Waits for a locked file without a time limit. Default: waits for 5 seconds. */
  readonly lockWait?: LockWait;
  /** Makes the index for searches in texts, if the database has none. Default: `false`. */
  readonly textIndex?: boolean;
  /** Limits the waits for a PostgreSQL server; see `ServerWaits.cancelled`. */
  readonly cancelled?: AbortSignal;
}

/**
 * Opens a database for writing. Creates a missing SQLite file, and the tables of an empty database.
 *
 * @throws InputError when the database cannot be used, or stays locked for 5 seconds; StoreError when
 * the engine fails, on a full disk for example.
 */
export async function openStore(
  location: DatabaseLocation,
  environment: ConnectionEnvironment,
  options: OpenOptions = {},
): Promise<Database> {
  const create = (database: Database) => createTables(database, options);
  return await openWhenFree(location, environment, options, withOptions(create, options));
}

/**
 * Opens an existing database for writing.
 *
 * @throws InputError when the database does not exist, when {@linkcode LockWait.signal} cancels the
 * wait, and for the reasons of {@linkcode openStore}.
 */
export async function openExisting(
  location: DatabaseLocation,
  environment: ConnectionEnvironment,
  options: OpenOptions = {},
): Promise<Database> {
  const prepare = withOptions(checkVersion, options);
  return await openWhenFree(location, environment, { ...options, mustExist: true }, prepare);
}

/** Prepares the tables of a database, its partitions, and its text index if it is wanted. */
function withOptions(
  prepare: (database: Database) => Promise<void>,
  { textIndex = false, partitionByMonth = false }: OpenOptions,
): (database: Database) => Promise<void> {
  return async (database) => {
    await prepare(database);
    if (partitionByMonth) await checkPartitions(database);
    await addMonths(database, database.now());
    if (textIndex) await createTextIndex(database);
  };
}

/**
 * Opens an existing database for reading.
 *
 * @throws InputError when the database does not exist or cannot be used; StoreError when the engine
 * fails.
 */
export async function readStore(
  location: DatabaseLocation,
  environment: ConnectionEnvironment,
): Promise<Database> {
  return await openWhenFree(location, environment, { readOnly: true }, checkVersion);
}

/**
 * Opens an empty database, or one with an unfinished copy, as the target of a copy. Creates a missing
 * SQLite file.
 *
 * @throws InputError when the database has other tables or cannot be used; StoreError when the engine
 * fails.
 */
export async function openCopyTarget(
  location: DatabaseLocation,
  environment: ConnectionEnvironment,
  options: OpenOptions = {},
): Promise<Database> {
  const create = (database: Database) => createTablesForCopy(database, options);
  return await openWhenFree(location, environment, options, withOptions(create, options));
}

async function openWhenFree(
  location: DatabaseLocation,
  environment: ConnectionEnvironment,
  options: SqliteOptions & OpenOptions,
  prepare: (database: Database) => Promise<void>,
): Promise<Database> {
  const { clock = systemClock, lockWait, partitionByMonth = false } = options;
  const began = clock.now();
  const name = location.postgres === undefined
    ? `"${environment.resolve(location.file)}"`
    : location.path;
  if (partitionByMonth && location.postgres === undefined) {
    throw new InputError(
      `Cannot partition ${name} by month: --partition-by-month needs PostgreSQL`,
    );
  }
  const maxWaitMs = lockWait === undefined ? OPEN_MS : Infinity;
  let reported = lockWait === undefined;
  for (;;) {
    try {
      return await prepareOrClose(await open(location, environment, options), prepare);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      const waited = clock.now() - began;
      if (location.postgres !== undefined || waited >= maxWaitMs || lockWait?.signal.aborted) {
        throw new InputError(`Cannot open ${name}: ${error.message}`, { cause: error });
      }
      if (!reported && waited >= REPORT_MS) {
        reported = true;
        lockWait?.report(`${name}: ${error.message}; waiting until the lock is released`);
      }
    }
    await sleep(clock, PAUSE_MS, lockWait?.signal);
  }
}

async function open(
  { file, path, postgres }: DatabaseLocation,
  { resolve, password }: ConnectionEnvironment,
  options: SqliteOptions & Pick<OpenOptions, "cancelled">,
): Promise<Database> {
  if (postgres === undefined) return openSqlite(resolve(file), options);
  const { rootCertificate } = postgres;
  const certificate = rootCertificate === undefined
    ? undefined
    : await readCertificate(resolve(rootCertificate));
  const secret = postgres.password ?? await password(postgres);
  return await openPostgres(postgres, path, secret, certificate, {
    ...SERVER_WAITS,
    cancelled: options.cancelled,
  });
}

async function readCertificate(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot read "${path}", the file of sslrootcert`);
  }
}

/** Prepares an open database; closes it when that fails. */
async function prepareOrClose(
  database: Database,
  prepare: (database: Database) => Promise<void>,
): Promise<Database> {
  try {
    await prepare(database);
    return database;
  } catch (error) {
    await database[Symbol.asyncDispose]();
    // Engines throw plain errors: for a full disk, a corrupt file, no permission for the schema.
    if (!(error instanceof Error) || error.name !== "Error") throw error;
    throw new StoreError(`Cannot open ${database.name}: ${error.message}`, { cause: error });
  }
}
