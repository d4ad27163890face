/**
 * Detects that the file of an open SQLite database was deleted, renamed or replaced. SQLite would continue
 * to read and write the file that it has opened, which other programs no longer find.
 *
 * @module
 */
import { fileIdentity, pathChangeOf } from "../../sinks/file_identity.ts";
import type { DatabaseLocation } from "../../store/database_location.ts";
import { userPath } from "../environment.ts";

/** Describes how the file of a database changed since it was opened; `undefined`: it did not. */
export type FileChange = () => Promise<string | undefined>;

/**
 * Identifies the file of a database that was just opened. A database in PostgreSQL has no file, and
 * never changes in this way.
 */
export async function fileChangeOf({ postgres, file }: DatabaseLocation): Promise<FileChange> {
  const path = userPath(file);
  const opened = postgres === undefined ? await fileIdentity(path) : undefined;
  return async () => opened && await pathChangeOf(path, opened);
}

/**
 * Checks that the file of a database is still where it was opened.
 *
 * @throws Error with the description of the change, as the database engines throw it.
 */
export async function checkFile(fileChange: FileChange): Promise<void> {
  const change = await fileChange();
  if (change !== undefined) throw new Error(change);
}
