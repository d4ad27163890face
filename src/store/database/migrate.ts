/**
 * Schema versions: brings the tables of a database to the version of this program. A migration is one
 * SQL file.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Database } from "./database.ts";
import first from "./migrations/0001.sql" with { type: "text" };
import second from "./migrations/0002.sql" with { type: "text" };
import third from "./migrations/0003.sql" with { type: "text" };

/** SQL migrations in order. Migration n leads from schema version n to n + 1; version 0 has no tables. */
export const MIGRATIONS: readonly string[] = [first, second, third];

/** The table whose only row holds the schema version. */
const VERSION_TABLE = "blocksweep_schema";

/**
 * Migrates a database to this program's schema version, in one transaction. An empty database receives
 * its tables.
 *
 * @throws InputError when a newer blocksweep wrote the database, or another program.
 */
export async function migrate(
  database: Database,
  migrations: readonly string[] = MIGRATIONS,
): Promise<void> {
  await database.transaction(async () => {
    if (database.engine === "postgres") {
      // An advisory lock: two programs that start at the same time migrate one after the other.
      await database.script("select pg_advisory_xact_lock(7022642158)");
    }
    const version = await readVersion(database);
    refuseNewer(database, version, migrations);
    if (version === 0) {
      await database.script(`create table ${VERSION_TABLE} (version integer not null)`);
    }
    for (const sql of migrations.slice(version)) await database.script(sql);
    if (version === migrations.length) return;
    await database.run(`delete from ${VERSION_TABLE}`);
    await database.run(`insert into ${VERSION_TABLE} (version) values (?)`, [migrations.length]);
  });
  // The journal mode is stored in the file, so a file of another program must be refused before this.
  if (database.engine === "sqlite") await database.script("pragma journal_mode = wal");
}

/**
 * Migrates a database that already has blocksweep's tables.
 *
 * @throws InputError when the database is empty, or as {@linkcode migrate}.
 */
export async function upgrade(database: Database): Promise<void> {
  if (await readVersion(database) === 0) throw emptyDatabaseError("use", database);
  await migrate(database);
}

function emptyDatabaseError(verb: string, { name }: Database): InputError {
  return new InputError(`Cannot ${verb} ${name}: it has no tables of blocksweep`);
}

/**
 * Checks that a database has exactly this program's schema version, so that reading needs no migration.
 *
 * @throws InputError when the database is empty, has another version, or belongs to another program.
 */
export async function checkVersion(
  database: Database,
  migrations: readonly string[] = MIGRATIONS,
): Promise<void> {
  const version = await readVersion(database);
  refuseNewer(database, version, migrations);
  if (version === 0) throw emptyDatabaseError("read", database);
  if (version === migrations.length) return;
  throw new InputError(
    `Cannot read ${database.name}: its schema has version ${version}, and this program reads ` +
      `version ${migrations.length}; a scan or an import into the database migrates it`,
  );
}

function refuseNewer(
  { name }: Database,
  version: number,
  { length }: readonly string[],
): void {
  if (version <= length) return;
  throw new InputError(
    `Cannot use ${name}: its schema has version ${version}, and this program supports version ` +
      `${length}; a newer blocksweep wrote it`,
  );
}

/**
 * Reads the schema version of a database; 0 when the database has no tables of blocksweep.
 *
 * @throws InputError when tables of another program are in conflict.
 */
async function readVersion(database: Database): Promise<number> {
  const rows = await database.rows(LIST_TABLES[database.engine]);
  const tables = new Set(rows.map(({ name }) => String(name)));
  if (tables.has(VERSION_TABLE)) {
    const [row] = await database.rows(`select version from ${VERSION_TABLE}`);
    if (row !== undefined) return Number(row.version);
    throw new InputError(`Cannot use ${database.name}: its table ${VERSION_TABLE} is empty`);
  }
  // A SQLite file belongs to one program. A PostgreSQL schema may hold tables of other programs too.
  const foreign = database.engine === "sqlite"
    ? [...tables]
    : TABLE_NAMES.filter((name) => tables.has(name));
  if (foreign.length === 0) return 0;
  throw new InputError(
    `Cannot use ${database.name}: another program made it; it holds a table "${foreign[0]}"`,
  );
}

/** Tables that the migrations create. */
const TABLE_NAMES = "scans scan_shards servers observations favicons replies opt_outs".split(" ");

const LIST_TABLES = {
  sqlite: "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
  postgres: "select table_name as name from information_schema.tables " +
    "where table_schema = current_schema()",
};
