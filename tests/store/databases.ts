/** The engines that tests of stores run on. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Register } from "../long.ts";
import type { Database, Row } from "../../src/store/database/database.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { openPostgres } from "../../src/store/database/postgres.ts";
import { parsePostgres } from "../../src/store/database/postgres_url.ts";
import {
  type ListedRecord,
  RECORD_COLUMNS,
  RECORD_TABLES,
  recordOf,
} from "../../src/store/rows/stored_record.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";

/** URL of the PostgreSQL server, which `deno task postgres` sets. */
const { state } = await Deno.permissions.query({ name: "env", variable: "BLOCKSWEEP_POSTGRES" });
export const SERVER = state === "granted" ? Deno.env.get("BLOCKSWEEP_POSTGRES") : undefined;

/**
 * Registers a test that needs PostgreSQL: `deno task postgres` runs it. Without that task the test is
 * ignored, and its name gives the reason. Each run has the URL of an empty database.
 */
export function postgresTest(name: string, work: (url: string) => Promise<void>): void {
  if (SERVER !== undefined) return Deno.test(name, () => withPostgres(SERVER!, work));
  Deno.test({ name: `${name} (deno task postgres)`, ignore: true, fn: () => {} });
}

/**
 * Registers a test for SQLite. Each run has an empty database.
 *
 * @param register What registers it. Of tests that take seconds, one with few cases runs always, and
 * the others are a `longTest`.
 */
export function onSqlite(
  name: string,
  work: (database: Database) => Promise<void>,
  register: Register = Deno.test,
): void {
  register(`SQLite: ${name}`, async () => {
    await using database = openSqlite(":memory:");
    requireAwaits(database);
    await createTables(database);
    await work(database);
  });
}

const UNAWAITED = "the transaction does not wait for a statement";

/**
 * Makes a transaction of SQLite fail that goes on or ends before one of its statements. SQLite has run the
 * statement by then; PostgreSQL would not have, and its error would be lost.
 */
function requireAwaits(database: Database): void {
  const transactions = new AsyncLocalStorage<{ pending: number }>();
  const { transaction } = database;
  for (const name of ["script", "run", "rows", "bulk", "insert"] as const) {
    const statement = database[name] as (...values: unknown[]) => Promise<unknown>;
    const checked = async (...values: unknown[]) => {
      const own = transactions.getStore() ?? { pending: 0 };
      if (own.pending > 0) throw new Error(UNAWAITED);
      own.pending++;
      try {
        const result = await statement.apply(database, values);
        for (let i = 0; i < 9; i++) await undefined; // longer than a function takes to go on
        return result;
      } finally {
        own.pending--;
      }
    };
    Object.assign(database, { [name]: checked });
  }
  const checked: Database["transaction"] = (work) =>
    transaction.call(database, (attempt) => {
      const own = { pending: 0 };
      return transactions.run(own, async () => {
        const result = await work(attempt);
        if (own.pending > 0) throw new Error(UNAWAITED);
        return result;
      });
    }) as ReturnType<typeof work>;
  Object.assign(database, { transaction: checked });
}

/** Registers a test for each engine: see `onSqlite()`. */
export function onEngines(
  name: string,
  work: (database: Database) => Promise<void>,
  register: Register = Deno.test,
): void {
  onSqlite(name, work, register);
  postgresTest(`PostgreSQL: ${name}`, async (url) => {
    await using database = await connect(url);
    await createTables(database);
    await work(database);
  });
}

/** Runs `work` with the URL of an empty PostgreSQL database, and drops the database afterwards. */
export async function withPostgres(
  server: string,
  work: (url: string) => Promise<void>,
): Promise<void> {
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  await using postgres = await connect(`${server}postgres`);
  await postgres.script(`create database ${name}`);
  try {
    await work(server + name);
  } finally {
    await postgres.script(`drop database if exists ${name} with (force)`);
  }
}

/** Opens the database of a URL. */
export async function connect(url: string): Promise<Database> {
  const location = parsePostgres(url);
  return await openPostgres(location, "the test's server", location.password);
}

/** Sets the clock of a database, Unix milliseconds. */
export function setClock(database: Database, time: number): void {
  Object.assign(database, { now: () => time });
}

/** Reads all rows of a query. */
export async function all(database: Database, sql: string): Promise<Row[]> {
  return (await database.rows(sql)).map((row) => ({ ...row }));
}

/** Observations with the keys of servers and the identities of scans, for a `from` clause. */
export const SEEN =
  "(select s.key as server_id, c.uuid as scan_id, c.kind as kind, o.at as seen_at, " +
  "o.online, o.players_online, o.content from observations o join servers s on s.id = o.server " +
  "join scans c on c.id = o.scan) seen";

/** Servers with their states, for a `from` clause. */
export const STATES = "(select s.key as id, s.address as host, s.port, t.online, t.missed_scans, " +
  "t.probed_at as probed_at, t.replied_at as last_online from servers s " +
  "join server_state t on t.server = s.id) states";

/** The servers of a database, in the order of their keys. */
export async function storedServers(database: Database): Promise<ListedRecord[]> {
  const sql = `select ${RECORD_COLUMNS} from ${RECORD_TABLES} order by s.key`;
  return (await database.rows(sql)).map((row) => recordOf(row));
}
