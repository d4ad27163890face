/**
 * The progress of a copy: the table that the target has until the copy is complete.
 *
 * @module
 */
import type { Database } from "../database/database.ts";
import { UNFINISHED_COPY } from "../schema/create_tables.ts";
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

/** Stores the progress of the copy, in the transaction that writes the rows. */
export async function writeProgress(target: Database, progress: CopyProgress): Promise<void> {
  await target.run(`update ${UNFINISHED_COPY} set progress = ?`, [JSON.stringify(progress)]);
}
