/** The engines that tests of stores run on. */
import type { Database, Row } from "../../src/store/database/database.ts";
import { migrate } from "../../src/store/database/migrate.ts";
import { openPostgres } from "../../src/store/database/postgres.ts";
import { parsePostgres } from "../../src/store/database/postgres_url.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";

/** Which PostgreSQL to use: `deno task postgres` says it. */
const { state } = await Deno.permissions.query({ name: "env", variable: "BLOCKSWEEP_POSTGRES" });
const SERVER = state === "granted" ? Deno.env.get("BLOCKSWEEP_POSTGRES") : undefined;

/** Tests that what is said holds on every engine, each time with an empty list. */
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

/** Runs with the URL of an empty database, which is gone afterwards. */
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

/** Connects as the URL says. */
export async function connect(url: string): Promise<Database> {
  const place = parsePostgres(url);
  return await openPostgres(place, "the test's server", place.password);
}

/** All rows of a query. */
export async function all(database: Database, sql: string): Promise<Row[]> {
  return (await database.rows(sql)).map((row) => ({ ...row }));
}
