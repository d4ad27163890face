/**
 * The tables of a database: makes them, and refuses databases of another version.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { type Database, insertInto } from "../database/database.ts";
import { refuseForeignObjects } from "./foreign_objects.ts";
import { withPartitions } from "./partitions.ts";
import { TABLE_COLUMNS, UNFINISHED_COPY } from "./table_columns.ts";
import { TABLE_STATEMENTS } from "./table_statements.ts";

/** The version of the tables. No release wrote the versions 1 to 15. */
export const SCHEMA_VERSION = 21;

/** The table whose only row contains the schema version. */
const VERSION_TABLE = "blocksweep_schema";

const INSERT_VERSION = insertInto(
  VERSION_TABLE,
  [["version", "integer"], ["identity", "text"], ["collector", "text"]],
  "",
);
const INSERT_SALT = insertInto("blocksweep_salt", [["salt", "bytea"]], "");

/** Random bytes, hexadecimal. */
function randomHex(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes)).toHex();
}

/** How the tables of an empty database are made. */
export interface TableOptions {
  /** Whether PostgreSQL partitions observations by month. Default: `false`. */
  readonly partitionByMonth?: boolean;
}

/**
 * Makes the tables of an empty database, in one transaction. Does nothing when they exist.
 *
 * @throws InputError when the database has another version, or is another program's.
 */
export async function createTables(
  database: Database,
  options: TableOptions = {},
): Promise<void> {
  await createOnce(database, async () => {
    if (!await hasTables(database)) await writeTables(database, options);
  });
}

/**
 * Makes the tables of an empty database into which another one is copied. Does nothing when the copy has
 * begun.
 *
 * @throws InputError when the database is not empty, or the copy was begun with another version.
 */
export async function createTablesForCopy(
  database: Database,
  options: TableOptions = {},
): Promise<void> {
  await createOnce(database, async () => {
    const { version, isUnfinished } = await readState(database);
    if (isUnfinished) refuseOther(database, version);
    else if (version !== undefined) {
      throw new InputError(
        `Cannot copy into ${database.name}: it has tables, perhaps of a complete copy; name an empty one`,
      );
    }
    await refuseForeignObjects(database);
    if (isUnfinished) return;
    await writeTables(database, options);
    await database.script(
      `create table ${UNFINISHED_COPY} ` +
        "(source text, identity text, owner text, progress text not null); " +
        `insert into ${UNFINISHED_COPY} values (null, null, null, '{}')`,
    );
  });
}

/** Runs `work` in a transaction; in PostgreSQL, in one program at a time. */
async function createOnce(database: Database, work: () => Promise<void>): Promise<void> {
  await database.transaction(async () => {
    if (database.engine === "postgres") {
      await database.script("select pg_advisory_xact_lock(7022642158)");
    }
    await work();
  });
  // The journal mode is stored in the file, so a file of another program must be refused before this.
  if (database.engine === "sqlite") await database.script("pragma journal_mode = wal");
}

async function writeTables(
  database: Database,
  { partitionByMonth = false }: TableOptions,
): Promise<void> {
  const tables = TABLE_STATEMENTS[database.engine];
  await database.script(partitionByMonth ? withPartitions(tables) : tables);
  await database.bulk(INSERT_VERSION, [[SCHEMA_VERSION, randomHex(8), randomHex(8)]]);
  await database.bulk(INSERT_SALT, [[randomHex(16)]]);
  // Of a table without statistics, PostgreSQL assumes ten pages of rows, and plans server_list for them.
  if (database.engine === "postgres") await database.script("analyze opt_outs");
}

/**
 * Checks that a database has the tables of this program's version.
 *
 * @throws InputError when the database is empty, has another version, or is another program's.
 */
export async function checkVersion(database: Database): Promise<void> {
  if (await hasTables(database)) return;
  throw new InputError(`Cannot use ${database.name}: it has no tables of blocksweep`);
}

function refuseOther({ name }: Database, version: number | undefined): void {
  if (version === undefined || version === SCHEMA_VERSION) return;
  const remedy = version > SCHEMA_VERSION
    ? "use a newer program"
    : "export its servers with the program that wrote it, and import them into a new database";
  throw new InputError(
    `Cannot use ${name}: its tables have version ${version}, and this program uses version ` +
      `${SCHEMA_VERSION}; ${remedy}`,
  );
}

/**
 * Whether a database has the tables of this program's version.
 *
 * @throws InputError when the tables have another version, tables, views or triggers of another
 * program are in conflict, or a copy is unfinished.
 */
async function hasTables(database: Database): Promise<boolean> {
  const { version, isUnfinished } = await readState(database);
  refuseOther(database, version);
  if (isUnfinished) {
    throw new InputError(
      `Cannot use ${database.name}: a copy into it is unfinished; run that command again`,
    );
  }
  await refuseForeignObjects(database);
  return version !== undefined;
}

/** The tables that a database has. */
interface State {
  /** The version of the tables; `undefined`: it has no tables of blocksweep. */
  readonly version: number | undefined;
  /** Whether a copy into the database is unfinished. */
  readonly isUnfinished: boolean;
}

async function readState(database: Database): Promise<State> {
  const tables = await readTables(database);
  const version = await storedVersion(database, tables);
  return { version, isUnfinished: tables.has(UNFINISHED_COPY) };
}

async function storedVersion(
  database: Database,
  tables: ReadonlySet<string>,
): Promise<number | undefined> {
  if (tables.has(VERSION_TABLE)) {
    await refuseForeignObjects(database, VERSION_TABLE);
    const [row] = await database.rows(`select version from ${VERSION_TABLE}`);
    if (row !== undefined) return Number(row.version);
    throw new InputError(`Cannot use ${database.name}: its table ${VERSION_TABLE} is empty`);
  }
  // A SQLite file belongs to one program. A PostgreSQL schema may contain tables of other programs too.
  const foreign = database.engine === "sqlite"
    ? [...tables]
    : TABLE_NAMES.filter((name) => tables.has(name));
  if (foreign.length === 0) return undefined;
  throw new InputError(
    `Cannot use ${database.name}: another program made it; it contains a table "${foreign[0]}"`,
  );
}

async function readTables(database: Database): Promise<ReadonlySet<string>> {
  const rows = await database.rows(LIST_TABLES[database.engine]);
  return new Set(rows.map(({ name }) => String(name)));
}

/** The tables that this program makes. */
export const TABLE_NAMES: readonly string[] = TABLE_COLUMNS.map(({ name }) => name);

const LIST_TABLES = {
  sqlite: "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
  postgres: "select table_name as name from information_schema.tables " +
    "where table_schema = current_schema()",
};
