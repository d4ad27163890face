/**
 * The versions of the schema: plain SQL, run once each, in their order.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Database } from "./database.ts";
import first from "./migrations/0001.sql" with { type: "text" };
import second from "./migrations/0002.sql" with { type: "text" };
import third from "./migrations/0003.sql" with { type: "text" };

/** What leads from each version to the next; the first from nothing to version 1. */
export const MIGRATIONS: readonly string[] = [first, second, third];

/** Where the version stands. */
const VERSION = "blocksweep_schema";

/**
 * Brings a database to the version of this program: all the way, or not at all.
 *
 * @throws InputError when it is newer, or not ours.
 */
export async function migrate(
  database: Database,
  migrations: readonly string[] = MIGRATIONS,
): Promise<void> {
  await database.transaction(async () => {
    if (database.engine === "postgres") {
      // Two programs that start at once migrate one after the other.
      await database.script("select pg_advisory_xact_lock(7022642158)");
    }
    const version = await versionOf(database);
    refuseNewer(database, version, migrations);
    if (version === 0) await database.script(`create table ${VERSION} (version integer not null)`);
    for (const sql of migrations.slice(version)) await database.script(sql);
    if (version === migrations.length) return;
    await database.run(`delete from ${VERSION}`);
    await database.run(`insert into ${VERSION} (version) values (?)`, [migrations.length]);
  });
  // Only of a database that is ours: the mode stays in the file.
  if (database.engine === "sqlite") await database.script("pragma journal_mode = wal");
}

/**
 * Brings a database to the version of this program, unless it is empty.
 *
 * @throws InputError when it is empty, newer, or not ours.
 */
export async function upgrade(database: Database): Promise<void> {
  if (await versionOf(database) === 0) throw emptyDatabase("use", database);
  await migrate(database);
}

function emptyDatabase(use: string, { name }: Database): InputError {
  return new InputError(`Cannot ${use} ${name}: there is no list in it`);
}

/**
 * Checks that a database can be read as it is.
 *
 * @throws InputError when it is newer, older, or not ours.
 */
export async function checkVersion(
  database: Database,
  migrations: readonly string[] = MIGRATIONS,
): Promise<void> {
  const version = await versionOf(database);
  refuseNewer(database, version, migrations);
  if (version === 0) throw emptyDatabase("read", database);
  if (version === migrations.length) return;
  throw new InputError(
    `Cannot read ${database.name}: it has version ${version} of the schema, and wants ` +
      `${migrations.length}; a scan or an import into it brings it there`,
  );
}

function refuseNewer(
  { name }: Database,
  version: number,
  { length }: readonly string[],
): void {
  if (version <= length) return;
  throw new InputError(
    `Cannot use ${name}: it has version ${version} of the schema, and this program knows ` +
      `${length}; a newer blocksweep wrote it`,
  );
}

/** The version of a database; 0 where it holds nothing that would be in our way. */
async function versionOf(database: Database): Promise<number> {
  const rows = await database.rows(TABLES[database.engine]);
  const tables = new Set(rows.map(({ name }) => String(name)));
  if (tables.has(VERSION)) {
    const [row] = await database.rows(`select version from ${VERSION}`);
    if (row !== undefined) return Number(row.version);
    throw new InputError(`Cannot use ${database.name}: it does not say which version it has`);
  }
  // A file belongs to one program; on a server, other tables may stand beside ours.
  const foreign = database.engine === "sqlite"
    ? [...tables]
    : OURS.filter((name) => tables.has(name));
  if (foreign.length === 0) return 0;
  throw new InputError(
    `Cannot use ${database.name}: it is not ours; it holds a table "${foreign[0]}"`,
  );
}

const OURS = [
  ...["scans", "scan_shards", "servers", "observations", "favicons", "replies", "opt_outs"],
];

const TABLES = {
  sqlite: "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
  postgres: "select table_name as name from information_schema.tables " +
    "where table_schema = current_schema()",
};
