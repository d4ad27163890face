/**
 * The file of an outbox: a SQLite database of one table, which one program at a time uses.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { systemDisk } from "../../sinks/file_operations.ts";
import { type Database, Unavailable } from "../../store/database/database.ts";
import { openSqlite } from "../../store/mod.ts";

/** The application id of SQLite files that are outboxes: `bsob`. */
const APPLICATION_ID = 0x6273_6f62;

/**
 * The events in their order. Without `event`, the row is the id of an event that the receiver of `webhook`
 * accepted at `sent`, Unix milliseconds.
 */
const TABLE = "create table outbox " +
  "(seq integer primary key, id text not null unique, event text, webhook text, sent integer)";

/** An open file. */
export interface OutboxFile {
  readonly database: Database;
  /** Closes the file, and removes it. */
  readonly remove: () => Promise<void>;
}

/**
 * Opens the file of an outbox, or creates it. Removed events are overwritten.
 *
 * @throws InputError when another program uses the file, or when it is not an outbox; errors of the file
 * system.
 */
export async function openOutboxFile(path: string): Promise<OutboxFile> {
  createMissing(path);
  try {
    await using stack = new AsyncDisposableStack();
    const database = stack.use(openSqlite(path, { busyMs: 0 }));
    await prepareOutbox(database);
    stack.move();
    return { database, remove: () => removeFile(database, path) };
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    throw new InputError(
      `Cannot use "${path}": another watch uses it; name another file with --webhook-outbox`,
    );
  }
}

/** Locks a database until it is closed, and creates the table in an empty one. */
export async function prepareOutbox(database: Database): Promise<void> {
  const [{ id }] = await database.rows("select application_id as id from pragma_application_id");
  const [{ n }] = await database.rows("select count(*) as n from sqlite_master");
  if (n !== 0 && id !== APPLICATION_ID) {
    throw new InputError(`Cannot use ${database.name}: it is not an outbox of webhook events`);
  }
  await database.script("pragma locking_mode = exclusive; begin immediate; commit"); // takes the lock
  await database.script("pragma journal_mode = wal; pragma secure_delete = on");
  if (n !== 0) return;
  await database.script(`begin; ${TABLE}; pragma application_id = ${APPLICATION_ID}; commit`);
}

/** Creates a file that other users cannot read. SQLite gives its log the same mode. */
function createMissing(path: string): void {
  try {
    Deno.openSync(path, { write: true, createNew: true, mode: 0o600 }).close();
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
  }
}

async function removeFile(database: Database, path: string): Promise<void> {
  await database.script("pragma journal_mode = delete"); // closing would remove the next watch's log
  const isRemovable = Deno.build.os !== "windows"; // Windows removes no open file
  if (isRemovable) await systemDisk.remove(path);
  await database[Symbol.asyncDispose]();
  if (!isRemovable) await systemDisk.remove(path);
}
