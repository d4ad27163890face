/** A test of the two databases that runs in a temporary folder, as two tests with real processes. */
import type { Database } from "../../src/store/database/database.ts";
import { openSqlite } from "../../src/store/database/sqlite.ts";
import { connect, postgresTest } from "../store/databases.ts";

/** Where a test has its database. */
export interface TestedDatabase {
  /** First address of the servers: each database has a range of its own. */
  readonly first: number;
  /** A folder that is removed after the test. */
  readonly folder: string;
  /** The database as a command is given it: a path or a URL. */
  readonly database: string;
  /** Opens the database beside the processes of the test. */
  readonly open: () => Promise<Database>;
}

/** Registers a test for SQLite, and for PostgreSQL; it is ignored where there is no PostgreSQL. */
export function onEngines(
  name: string,
  first: { readonly sqlite: number; readonly postgres: number },
  test: (tested: TestedDatabase) => Promise<void>,
): void {
  Deno.test(`SQLite: ${name}`, () =>
    withFolder((folder) => {
      const database = `${folder}/servers.db`;
      const open = () => Promise.resolve(openSqlite(database));
      return test({ first: first.sqlite, folder, database, open });
    }));
  postgresTest(
    `PostgreSQL: ${name}`,
    (database) =>
      withFolder((folder) =>
        test({ first: first.postgres, folder, database, open: () => connect(database) })
      ),
  );
}

async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
