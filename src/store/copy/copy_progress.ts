/**
 * The progress of a copy: the table that the target has until the copy is complete.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { nodeCrypto } from "../../core/node_modules.ts";
import { type Database, StoreError } from "../database/database.ts";
import { readSalt } from "../forget/tombstones.ts";
import { readVersion, UNFINISHED_COPY } from "../schema/create_tables.ts";
import { readDatabaseIdentity } from "../spill_file.ts";
import type { Position } from "./copied_table.ts";

/** What a copy has written. */
export interface CopyProgress {
  /** The tables that are complete. */
  readonly done: readonly string[];
  /** The table that is copied. */
  readonly table?: string;
  /** The position of the last row of this table. */
  readonly after?: Position;
}

/** Reads the progress of the copy into a database. */
export async function readProgress(target: Database): Promise<CopyProgress> {
  const [{ progress }] = await target.rows(`select progress from ${UNFINISHED_COPY}`);
  return { done: [], ...JSON.parse(String(progress)) };
}

/** The first version whose databases have a salt, and the first with a table for it. */
const FIRST_SALTED = 5;
const FIRST_SALT_TABLE = 7;
/** The first version whose tables have the current form. */
export const FIRST_CURRENT = 4;

/** Reads the salt of a database of any version; `undefined` if it has none. */
export async function readSourceSalt(source: Database): Promise<string | undefined> {
  const version = await readVersion(source);
  if (version < FIRST_SALTED) return undefined;
  return await readSalt(source, version < FIRST_SALT_TABLE ? "blocksweep_schema" : undefined);
}

/**
 * Reads the identity of a database, which does not depend on the name by which the user opens it. In
 * an earlier version it is a hash of the salt. A database without a salt is recognised by its first
 * scan, or else by the time at which its first server was found.
 */
export async function readSourceIdentity(source: Database): Promise<string> {
  const version = await readVersion(source);
  if (version >= FIRST_SALT_TABLE) return await readDatabaseIdentity(source);
  const salt = await readSourceSalt(source);
  if (salt !== undefined) {
    return nodeCrypto().hash("sha256", `${salt} spill file`, "hex").slice(0, 16);
  }
  const [scan] = await source.rows(
    version >= FIRST_CURRENT
      ? "select uuid as id from scans order by id limit 1"
      : "select id from scans order by started_at, id limit 1",
  );
  const [{ id }] = scan === undefined
    ? await source.rows("select min(first_seen) as id from servers")
    : [scan];
  return nodeCrypto().hash("sha256", String(id), "hex").slice(0, 16);
}

/**
 * Begins or continues the copy into a database. Another program that copies into it gets an error at
 * its next write.
 *
 * @returns The owner of the copy, for {@linkcode writeProgress}: random text.
 * @throws InputError when the target contains an unfinished copy of another database.
 */
export async function takeOver(target: Database, source: Database): Promise<string> {
  const owner = crypto.randomUUID();
  const identity = await readSourceIdentity(source);
  await target.transaction(async () => {
    await target.run(`update ${UNFINISHED_COPY} set owner = ?`, [owner]);
    const [begun] = await target.rows(`select source, identity from ${UNFINISHED_COPY}`);
    if (begun.identity !== null && begun.identity !== identity) {
      throw new InputError(
        `Cannot copy ${source.name} (database ${identity}) into ${target.name}: it contains an ` +
          `unfinished copy of ${begun.source} (database ${begun.identity}); name that database, ` +
          "or an empty target",
      );
    }
    await target.run(`update ${UNFINISHED_COPY} set source = ?, identity = ?`, [
      source.name,
      identity,
    ]);
  });
  return owner;
}

/**
 * Stores the progress of the copy, in the transaction that writes the rows.
 *
 * @throws StoreError when another program has taken the copy over.
 */
export async function writeProgress(
  target: Database,
  owner: string,
  progress: CopyProgress,
): Promise<void> {
  const sql = `update ${UNFINISHED_COPY} set progress = ? where owner = ?`;
  const isOwner = await target.run(sql, [JSON.stringify(progress), owner]).catch((error) => {
    // The other program has finished the copy, and dropped the table.
    if ((error as Error).message.includes(UNFINISHED_COPY)) return 0;
    throw error;
  });
  if (isOwner === 1) return;
  throw new StoreError(`Cannot copy into ${target.name}: another program copies into it`);
}
