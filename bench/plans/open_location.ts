/** Opens databases of the benchmark of query plans. */
import type { Database } from "../../src/store/database/database.ts";
import { openPostgres } from "../../src/store/database/postgres.ts";
import { parsePostgres } from "../../src/store/database/postgres_url.ts";
import { openSqlite, type SqliteOptions } from "../../src/store/database/sqlite.ts";

/** Opens the database of a URL or of a file. */
export async function openLocation(text: string, options?: SqliteOptions): Promise<Database> {
  if (!text.startsWith("postgres:")) return openSqlite(text, options);
  const location = parsePostgres(text);
  return await openPostgres(location, "PostgreSQL", location.password);
}
