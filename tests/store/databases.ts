/** The engines that tests of stores run on. */
import type { Database, Row } from "../../src/store/database/database.ts";
import { migrate } from "../../src/store/database/migrate.ts";
import { openPostgres } from "../../src/store/database/postgres.ts";
import { parsePostgres } from "../../src/store/database/postgres_url.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";

/** URL of the PostgreSQL server, which `deno task postgres` sets. */
const { state } = await Deno.permissions.query({ name: "env", variable: "BLOCKSWEEP_POSTGRES" });
const SERVER = state === "granted" ? Deno.env.get("BLOCKSWEEP_POSTGRES") : undefined;

/** Registers a test for each engine. Each run has an empty database. */
export function onEngines(name: string, work: (database: Database) => Promise<void>): void {
  Deno.test(`SQLite: ${name}`, async () => {
    await using database = openSqlite(":memory:");
    await migrate(database);
    await work(database);
  });
  Deno.test({
    name: `PostgreSQL: ${name}${SERVER === undefined ? " (skipped: deno task postgres)" : ""}`,
    ignore: SERVER === undefined,
    fn: () =>
      withPostgres(SERVER!, async (url) => {
        await using database = await connect(url);
        await migrate(database);
        await work(database);
      }),
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
  const place = parsePostgres(url);
  return await openPostgres(place, "the test's server", place.password);
}

/** Reads all rows of a query. */
export async function all(database: Database, sql: string): Promise<Row[]> {
  return (await database.rows(sql)).map((row) => ({ ...row }));
}
