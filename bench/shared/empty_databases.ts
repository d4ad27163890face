/** Empty databases for benchmarks. */
import type { Database } from "../../src/store/database/database.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import { startPostgres } from "../../tests/postgres/server.ts";
import { connect } from "../../tests/store/databases.ts";

/**
 * Runs a measurement once for each engine, with an empty database. For PostgreSQL, a server with
 * the usual settings is started.
 *
 * @param engines `sqlite`, `postgres`, or both with a comma between them.
 */
export async function onEmptyDatabases(
  engines: string,
  measure: (database: Database) => Promise<void>,
): Promise<void> {
  for (const engine of engines.split(",")) {
    if (engine === "sqlite") {
      const folder = await Deno.makeTempDir();
      {
        await using database = openSqlite(`${folder}/servers.db`);
        await measure(database);
      }
      await Deno.remove(folder, { recursive: true });
    } else {
      await using server = await startPostgres("on");
      await using database = await connect(`${server.url}postgres`);
      await measure(database);
    }
  }
}
