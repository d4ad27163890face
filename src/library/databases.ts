/**
 * Opening databases from a program, as the command line names them.
 *
 * @module
 */
import { connectionEnvironment } from "../app/databases/connection_environment.ts";
import { InputError } from "../core/errors.ts";
import type { Database } from "../store/database/database.ts";
import { type DatabaseLocation, parseDatabaseLocation } from "../store/database_location.ts";
import { type ConnectionEnvironment, openStore, readStore } from "../store/open_store.ts";

/**
 * Opens a database to read it.
 *
 * @param location `servers.db`, `sqlite:FILE` or `postgres://USER@HOST/DATABASE`; the password comes
 * from PGPASSWORD, PGPASSFILE or ~/.pgpass if the URL has none.
 * @throws InputError when it names no database, there is none, or it cannot be used.
 */
export async function readDatabase(location: string): Promise<Database> {
  return await readStore(locate(location), programEnvironment());
}

/**
 * Opens a database to write to it: it is made if there is none, and brought to the schema of this
 * version. `new Store(database)` takes records.
 *
 * @param location As {@linkcode readDatabase} takes it.
 * @throws InputError when it names no database, or it cannot be used.
 */
export async function openDatabase(location: string): Promise<Database> {
  return await openStore(locate(location), programEnvironment());
}

/** As for commands, but with paths relative to the program's own folder, as everywhere in Deno. */
function programEnvironment(): ConnectionEnvironment {
  return { ...connectionEnvironment(() => {}), resolve: (path) => path };
}

function locate(location: string): DatabaseLocation {
  const place = parseDatabaseLocation(location);
  if (place !== undefined) return place;
  throw new InputError(
    `Cannot use "${location}" as a database: name one, for example servers.db or postgres://USER@HOST/DATABASE`,
  );
}
