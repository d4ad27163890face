/**
 * Opens databases from a program. Locations have the form of the command line.
 *
 * @module
 */
import { connectionEnvironment } from "../app/options/mod.ts";
import { type ConnectionEnvironment, openStore, readStore } from "../store/mod.ts";
import { InputError } from "../core/errors.ts";
import type { Database } from "../store/database/database.ts";
import { type DatabaseLocation, parseDatabaseLocation } from "../store/database_location.ts";

/**
 * Opens a database to read it.
 *
 * @param location `servers.db`, `sqlite:FILE` or `postgres://USER@HOST/DATABASE`; the password comes
 * from PGPASSWORD, PGPASSFILE or ~/.pgpass if the URL has none.
 * @throws InputError when the location is invalid, or the database does not exist or cannot be used.
 */
export async function readDatabase(location: string): Promise<Database> {
  return await readStore(locate(location), programEnvironment());
}

/**
 * Opens a database to write to it. A missing database is created. `new Store(database)` writes
 * records.
 *
 * @param location The location, in the form of {@linkcode readDatabase}.
 * @throws InputError when the location is invalid, or the database cannot be used.
 */
export async function openDatabase(location: string): Promise<Database> {
  return await openStore(locate(location), programEnvironment());
}

/**
 * The environment of a database, as for commands. Paths are relative to the current folder, as
 * everywhere in Deno.
 */
function programEnvironment(): ConnectionEnvironment {
  return { ...connectionEnvironment(() => {}), resolve: (path) => path };
}

function locate(location: string): DatabaseLocation {
  const parsed = parseDatabaseLocation(location);
  if (parsed !== undefined) return parsed;
  throw new InputError(
    `Cannot use "${location}" as a database: name one, for example servers.db or postgres://USER@HOST/DATABASE`,
  );
}
