/**
 * Where lists are, and how they are opened.
 *
 * @module
 */
import { InputError } from "../core/errors.ts";
import { redactUrl } from "../core/redact.ts";
import { sleep, systemClock } from "../net/clock.ts";
import { type Database, Unavailable } from "./database/database.ts";
import { checkVersion, migrate, upgrade } from "./database/migrate.ts";
import { openPostgres } from "./database/postgres.ts";
import { parsePostgres, type PostgresLocation } from "./database/postgres_url.ts";
import { openSqlite, type SqliteOptions } from "./database/sqlite.ts";
import { StoreError } from "./store.ts";

/** A list, as a user names it. */
export interface DatabaseLocation {
  /** What to show of it: no password. */
  readonly path: string;
  /** The file of SQLite; or as `path`. */
  readonly file: string;
  /** The database of PostgreSQL. */
  readonly postgres?: PostgresLocation;
  /** What it is, in the words of formats. */
  readonly format: { readonly name: "sqlite" | "postgres" };
}

/** What a program knows that opens lists. */
export interface ConnectionEnvironment {
  /** Where a file is that the user names. */
  readonly resolve: (path: string) => string;
  /** The password for a server, where its URL holds none. */
  readonly password: (location: PostgresLocation) => Promise<string | undefined>;
}

/**
 * The location that a text names: `servers.db`, `servers.sqlite`, `sqlite:FILE`, `postgres://…`; or
 * none.
 *
 * @throws InputError for a URL that cannot be used.
 */
export function parseDatabaseLocation(text: string): DatabaseLocation | undefined {
  if (/^\s*postgres(ql)?:/i.test(text)) {
    const path = redactUrl(text.trim());
    return { path, file: path, postgres: parsePostgres(text), format: { name: "postgres" } };
  }
  const [, named] = /^sqlite:(.+)$/s.exec(text) ?? [];
  if (named === undefined && !/\.(db|sqlite3?)$/i.test(text)) return undefined;
  const file = named ?? text;
  if (!file.includes("://")) return { path: text, file, format: { name: "sqlite" } };
  throw new InputError(`Cannot use "${redactUrl(text)}": a URL does not name a file of SQLite`);
}

/** How long to wait for a file that another program has locked, and the pause between attempts. */
const OPEN_MS = 5000;
const PAUSE_MS = 100;

/** After how long a wait that has no end is reported, milliseconds. */
const REPORT_MS = 1000;

/** How to wait for a file that another program keeps locked. */
export interface LockWait {
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** Reports it, once. */
  readonly report: (line: string) => void;
}

/** How to open a list that is written to: see {@linkcode SqliteOptions}. */
export interface OpenOptions extends Pick<SqliteOptions, "busyMs" | "clock"> {
  /** Waits for a locked file as long as it takes. Default: for 5 seconds. */
  readonly lockWait?: LockWait;
}

/**
 * Opens a list to write to it: made where there is none, and brought to the schema of this program.
 *
 * @throws InputError when it cannot be used, or is locked for more than 5 seconds; StoreError when
 * its engine fails, on a full disk for example.
 */
export async function openStore(
  location: DatabaseLocation,
  around: ConnectionEnvironment,
  options: OpenOptions = {},
): Promise<Database> {
  return await openWhenFree(location, around, options, migrate);
}

/**
 * Opens a database that exists to write to it, and brings it to the schema of this program.
 *
 * @throws InputError when there is none, or as {@linkcode openStore}; a wait that
 * {@linkcode LockWait.signal} ends is one as well.
 */
export async function openExisting(
  location: DatabaseLocation,
  around: ConnectionEnvironment,
  options: OpenOptions = {},
): Promise<Database> {
  return await openWhenFree(location, around, { ...options, mustExist: true }, upgrade);
}

/**
 * Opens a list to read it.
 *
 * @throws InputError when there is none, or it cannot be used; StoreError when its engine fails.
 */
export async function readStore(
  location: DatabaseLocation,
  around: ConnectionEnvironment,
): Promise<Database> {
  return await openWhenFree(location, around, { readOnly: true }, checkVersion);
}

async function openWhenFree(
  location: DatabaseLocation,
  around: ConnectionEnvironment,
  options: SqliteOptions & OpenOptions,
  prepare: (database: Database) => Promise<void>,
): Promise<Database> {
  const { clock = systemClock, lockWait } = options;
  const began = clock.now();
  const name = location.postgres === undefined
    ? `"${around.resolve(location.file)}"`
    : location.path;
  const most = lockWait === undefined ? OPEN_MS : Infinity;
  let reported = lockWait === undefined;
  for (;;) {
    try {
      return await prepared(await open(location, around, options), prepare);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      const waited = clock.now() - began;
      if (location.postgres !== undefined || waited >= most || lockWait?.signal.aborted) {
        throw new InputError(`Cannot open ${name}: ${error.message}`, { cause: error });
      }
      if (!reported && waited >= REPORT_MS) {
        reported = true;
        lockWait?.report(`${name}: ${error.message}; waits until it is free`);
      }
    }
    await sleep(clock, PAUSE_MS, lockWait?.signal);
  }
}

async function open(
  { file, path, postgres }: DatabaseLocation,
  { resolve, password }: ConnectionEnvironment,
  options: SqliteOptions,
): Promise<Database> {
  if (postgres === undefined) return openSqlite(resolve(file), options);
  const { rootCertificate } = postgres;
  const vouching = rootCertificate === undefined
    ? undefined
    : await readCertificate(resolve(rootCertificate));
  const secret = postgres.password ?? await password(postgres);
  return await openPostgres(postgres, path, secret, vouching);
}

async function readCertificate(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot read "${path}", which sslrootcert names`);
  }
}

async function prepared(
  database: Database,
  prepare: (database: Database) => Promise<void>,
): Promise<Database> {
  try {
    await prepare(database);
    return database;
  } catch (error) {
    await database[Symbol.asyncDispose]();
    // Engines throw plain errors: a full disk, a broken file, no permission for the schema.
    if (!(error instanceof Error) || error.name !== "Error") throw error;
    throw new StoreError(`Cannot open ${database.name}: ${error.message}`, { cause: error });
  }
}
