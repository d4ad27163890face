import { assertEquals, assertRejects } from "@std/assert";
import { InputError } from "../../../src/core/errors.ts";
import { parseDatabaseLocation } from "../../../src/store/database_location.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { openDashboardData } from "../../../src/web/data/open_dashboard_data.ts";
import { fillServers } from "../oracle.ts";

const ENVIRONMENT = {
  resolve: (path: string) => path,
  password: () => Promise.resolve(undefined),
};

Deno.test("the data of a SQLite file is read, and a missing file is an error", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const location = parseDatabaseLocation(`${folder}/servers.db`)!;
    await assertRejects(() => openDashboardData(location, ENVIRONMENT), InputError, "no such file");
    {
      await using database = openSqlite(location.file);
      await createTables(database);
      await fillServers(database);
    }
    await using data = await openDashboardData(location, ENVIRONMENT);
    assertEquals((await data.servers({ filters: {}, sort: "new", limit: 3 })).servers.length, 3);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
