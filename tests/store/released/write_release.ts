/**
 * Writes databases with the tables of this version as a release leaves them: `tables21.db.gz` for SQLite,
 * `tables21.sql.gz` for PostgreSQL. Their servers are in `servers21.ndjson.gz`. Run it once for each version of
 * the tables, and never again after a release: the files show that later programs open such databases.
 *
 * `deno run -A tests/store/released/write_release.ts postgres://USER@HOST/EMPTY_DATABASE`
 */
import type { Database } from "../../../src/store/database/database.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { createTables, SCHEMA_VERSION } from "../../../src/store/schema/create_tables.ts";
import { connect, setClock, storedServers } from "../databases.ts";
import { happen } from "../eventful_database.ts";

const [url] = Deno.args;
/** Writes a file of this version, compressed. */
async function write(name: string, ending: string, content: string | ReadableStream<BufferSource>) {
  const file = new URL(`${name}${SCHEMA_VERSION}.${ending}.gz`, import.meta.url);
  const bytes = typeof content === "string" ? new Blob([content]).stream() : content;
  await Deno.writeFile(file, bytes.pipeThrough(new CompressionStream("gzip")));
}

/** Makes the tables and their rows. */
async function fill(database: Database): Promise<void> {
  setClock(database, 1_700_200_000_000);
  await createTables(database);
  await happen(database);
}

const folder = await Deno.makeTempDir();
{
  await using database = openSqlite(`${folder}/release.db`);
  await fill(database);
  const lines = (await storedServers(database)).map((row) => `${JSON.stringify(row)}\n`);
  await write("servers", "ndjson", lines.join(""));
  await database.script(`vacuum into '${folder}/whole.db'`);
}
await write("tables", "db", (await Deno.open(`${folder}/whole.db`)).readable);
await Deno.remove(folder, { recursive: true });

{
  await using database = await connect(url);
  await fill(database);
}
const dump = new Deno.Command("pg_dump", {
  args: ["--inserts", "--no-owner", "--no-privileges", url],
});
const text = new TextDecoder().decode((await dump.output()).stdout);
// Settings of the session, and commands of psql, which other versions of PostgreSQL lack.
const statements = text.replaceAll(/^(?:--.*|SET .*|\\.*|SELECT pg_catalog\.set_config.*)\n/gm, "")
  .replaceAll(/\n{2,}/g, "\n");
await write("tables", "sql", statements.trimStart());
