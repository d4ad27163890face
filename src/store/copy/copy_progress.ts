/**
 * The progress of a copy: the table that the target has until the copy is complete.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { type Database, StoreError } from "../database/database.ts";
import { UNFINISHED_COPY } from "../schema/table_columns.ts";
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

export async function readProgress(target: Database): Promise<CopyProgress> {
  const [{ progress }] = await target.rows(`select progress from ${UNFINISHED_COPY}`);
  return { done: [], ...JSON.parse(String(progress)) };
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
  const identity = await readDatabaseIdentity(source);
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
