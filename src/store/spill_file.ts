/**
 * The file of records that wait for an unavailable database: NDJSON after a line that names the
 * database. `import` ignores this line, because it begins with `#`.
 *
 * @module
 */
import { parseJson } from "../core/checked_values.ts";
import {
  ATTACHMENTS,
  type Attachments,
  type RecordWithAttachments,
  type ServerRecord,
} from "../core/record.ts";
import { linesOf } from "../core/text.ts";
import type { Database } from "./database/database.ts";

/**
 * Reads the identity of a database: 16 hexadecimal digits. Copies of the database have the same
 * identity.
 */
export async function readDatabaseIdentity(database: Database): Promise<string> {
  const [row] = await database.rows("select identity from blocksweep_schema");
  return String(row?.identity);
}

/** The first line of a spill file. */
export function spillHead(identity: string): string {
  return `# rows for the database ${identity}\n`;
}

const HEAD = /^# rows for the database ([0-9a-f]{16})$/;

/**
 * The identity of the database to which a spill file belongs; `undefined` when there is no file, or
 * when a crash of the system has damaged its first line.
 */
export async function spillOwner(path: string): Promise<string | undefined> {
  for await (const line of linesIn(path)) return HEAD.exec(line)?.[1];
  return undefined;
}

/**
 * The records in a spill file; none when there is no file. A crash of the system may have left an
 * incomplete last line, or lines that are not JSON. These are skipped.
 */
export async function* spilledRecords(path: string): AsyncIterable<ServerRecord> {
  for await (const line of linesIn(path)) {
    const record = parseRecord(line);
    if (record !== undefined) yield record;
  }
}

async function* linesIn(path: string): AsyncIterable<string> {
  const file = await openSpillFile(path, { read: true });
  if (file === undefined) return;
  for await (const { line, ended } of linesOf(file.readable.pipeThrough(new TextDecoderStream()))) {
    if (ended) yield line;
  }
}

/**
 * A line of a spill file: a record and, under keys that no column has, its tags and attachments.
 *
 * @param tags The tags that an `import` of the line adds to the server. Default: none.
 */
export function spillLine(record: RecordWithAttachments, tags?: readonly string[]): string {
  return `${JSON.stringify({ ...record, tags, attachments: record[ATTACHMENTS] })}\n`;
}

/** A line of a spill file, which this program wrote. */
type SpilledRow = ServerRecord & { readonly tags?: unknown; readonly attachments: Attachments };

function parseRecord(line: string): RecordWithAttachments | undefined {
  try {
    const { attachments, tags: _, ...record } = parseJson(line) as SpilledRow;
    return { ...record, [ATTACHMENTS]: attachments };
  } catch {
    return undefined; // not JSON
  }
}

const [LINE_FEED, NUMBER_SIGN] = [10, 35];

/**
 * Counts the records that an interrupted scan has spilled, and truncates an incomplete last line. A
 * file without records is removed.
 *
 * @returns The number of records, and the size of the file.
 */
export async function recoverSpillFile(path: string): Promise<{ rows: number; bytes: number }> {
  const file = await openSpillFile(path, { read: true, write: true });
  if (file === undefined) return { rows: 0, bytes: 0 };
  const chunk = new Uint8Array(1 << 16);
  let [size, rows, whole] = [0, 0, 0];
  {
    using _closed = file;
    for (let read; (read = await file.read(chunk)) !== null; size += read) {
      const bytes = chunk.subarray(0, read);
      if (size === 0 && bytes[0] === NUMBER_SIGN) rows--; // the first line is no record
      for (let at = -1; (at = bytes.indexOf(LINE_FEED, at + 1)) >= 0; whole = size + at + 1) rows++;
    }
    if (whole < size) await file.truncate(whole);
  }
  if (rows > 0) return { rows, bytes: whole };
  await Deno.remove(path);
  return { rows: 0, bytes: 0 };
}

/** Opens a spill file; `undefined` when there is none. */
async function openSpillFile(
  path: string,
  options: Deno.OpenOptions,
): Promise<Deno.FsFile | undefined> {
  try {
    return await Deno.open(path, options);
  } catch (error) {
    const { NotCapable, NotFound } = Deno.errors;
    if (error instanceof NotFound || error instanceof NotCapable) return undefined;
    throw error;
  }
}
