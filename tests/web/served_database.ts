/** A SQLite database with servers, opened as `serve` opens it. */
import { openSqlite } from "../../src/store/database/sqlite.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { parseDatabaseLocation } from "../../src/store/database_location.ts";
import { systemClock } from "../../src/net/clock.ts";
import { type DashboardData, DataError } from "../../src/web/queries/dashboard_data.ts";
import { openDashboardData } from "../../src/web/data/open_dashboard_data.ts";
import { fillServers } from "./oracle.ts";

/** Runs a test with the data of a SQLite database, and its path. */
export async function withDatabase(
  test: (data: DashboardData, file: string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const location = parseDatabaseLocation(`${folder}/servers.db`)!;
    {
      await using database = openSqlite(location.file);
      await createTables(database);
      await fillServers(database);
    }
    await using data = await openDashboardData(location, {
      resolve: (path) => path,
      password: () => Promise.resolve(undefined),
    }, (line) => {
      throw new Error(line);
    });
    await untilCounted(data);
    await test(data, location.file);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Waits until all servers are counted, which threads do after the start. */
async function untilCounted(data: DashboardData): Promise<void> {
  for (;;) {
    try {
      await data.facets({});
      return;
    } catch (error) {
      if (!(error instanceof DataError)) throw error;
      await systemClock.pollSockets();
    }
  }
}
