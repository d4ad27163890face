/** Opens databases of the benchmark of query plans. */
import type { Database } from "../../src/store/database/database.ts";
import { openPostgres } from "../../src/store/database/postgres.ts";
import { parsePostgres } from "../../src/store/database/postgres_url.ts";
import { openSqlite, type SqliteOptions } from "../../src/store/database/sqlite.ts";

/** Opens the database of a URL or of a file. */
export async function openPlace(place: string, options?: SqliteOptions): Promise<Database> {
  if (!place.startsWith("postgres:")) return openSqlite(place, options);
  const location = parsePostgres(place);
  return await openPostgres(location, "PostgreSQL", location.password);
}
