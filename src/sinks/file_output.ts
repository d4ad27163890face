/**
 * Outputs of rows: files, named pipes and standard output.
 *
 * @module
 */
import { InputError } from "../core/errors.ts";
import { systemClock } from "../net/clock.ts";
import { fileError } from "./file_errors.ts";
import { pathChangeOf } from "./file_identity.ts";
import { isPipe, openPipe, type ReaderWait } from "./named_pipe.ts";
import type { Format, Output } from "./sink.ts";

/**
 * Standard output. It cannot be truncated or synced.
 *
 * @param write Writes some of the bytes, and returns their number.
 */
export function standardOutput(write: Output["write"]): Output {
  return {
    name: "standard output",
    write,
    truncate: () => Promise.resolve(),
    sync: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/**
 * Options of an output file. Files are opened for appending: after another program truncates the file,
 * the next write must not fill a gap with zeros. Windows cannot truncate a file that is open for
 * appending.
 */
const WRITING = { write: true, append: Deno.build.os !== "windows" };

const UNREPORTED: ReaderWait = { clock: systemClock, report: () => {} };

/** The result of {@linkcode openFile}. */
export interface OpenedFile {
  /** The file, open for writing at the end of its kept rows. */
  readonly output: Output;
  /** Number of bytes to keep: 0 unless rows are appended. */
  readonly length: number;
  /**
   * Text to write before the first row: a line feed if the last line of the file does not end with
   * one, otherwise empty.
   */
  readonly separator: string;
  /** Whether the output is a regular file. Pipes and devices cannot be truncated. */
  readonly regular: boolean;
}

/**
 * Opens a file for rows; creates a missing one. The file keeps its old content until the caller
 * truncates it to the returned length.
 *
 * @param append Keeps the file's rows, except an incomplete last row.
 * @param wait How to wait for the reader of a named pipe. Default: without limit.
 * @throws InputError when the path is wrong, or the file has other columns than `format`; WriteError or
 * ShortageError when the system fails; the signal's reason when the signal cancels the wait.
 */
export async function openFile(
  path: string,
  format: Format,
  append: boolean,
  wait: ReaderWait = UNREPORTED,
): Promise<OpenedFile> {
  let file: Deno.FsFile;
  try {
    file = await isPipe(path)
      ? await openPipe(path, wait)
      : await Deno.open(path, { ...WRITING, create: true, read: append });
  } catch (error) {
    throw wait.signal?.aborted ? error : fileError(`write to "${path}"`, error);
  }
  try {
    const kept = append ? await findKeptRows(file, path, format) : NOTHING;
    const { isFile: regular } = await file.stat();
    return { output: await fileOutput(file, path), regular, ...kept };
  } catch (error) {
    file.close();
    throw error;
  }
}

/** The result of {@linkcode reopenFile}. */
export interface ReopenedFile {
  /** The file, open for writing at the end of its kept rows. */
  readonly output: Output;
  /** Size of the file, bytes; `null` when it is not a regular file. */
  readonly length: number | null;
  /** The text to write between the first `length` bytes and the next row: a line feed or nothing. */
  readonly separatorAfter: (length: number, format: Format) => Promise<string>;
}

/**
 * Opens an existing output of an interrupted scan, which the resumed scan continues.
 *
 * @param wait How to wait for the reader of a named pipe. Default: without limit.
 * @throws InputError when the file is missing or the path is wrong; WriteError or ShortageError when the
 * system fails; the signal's reason when the signal cancels the wait.
 */
export async function reopenFile(
  path: string,
  wait: ReaderWait = UNREPORTED,
): Promise<ReopenedFile> {
  try {
    const { isFile, isFifo, size } = await Deno.stat(path);
    const file = isFifo
      ? await openPipe(path, wait)
      : await Deno.open(path, { ...WRITING, read: isFile });
    return {
      output: await fileOutput(file, path),
      length: isFile ? size : null,
      separatorAfter: async (length, { appendable }) => {
        if (length === 0 || !appendable) return "";
        const last = new Uint8Array(1);
        await file.seek(length - 1, Deno.SeekMode.Start);
        await readFully(file, last);
        return last[0] === 0x0a ? "" : "\n";
      },
    };
  } catch (error) {
    throw wait.signal?.aborted ? error : fileError(`continue "${path}"`, error);
  }
}

async function fileOutput(file: Deno.FsFile, path: string): Promise<Output> {
  const opened = await file.stat();
  return {
    name: `"${path}"`,
    write: (bytes) => file.write(bytes),
    truncate: async (length) => {
      if (!opened.isFile) return; // pipes and devices cannot be truncated
      await file.truncate(length);
      await file.seek(length, Deno.SeekMode.Start);
    },
    sync: async () => {
      if (opened.isFile) await file.syncData();
    },
    currentSize: opened.isFile
      ? async () => await pathChangeOf(path, opened) ?? (await file.stat()).size
      : undefined,
    [Symbol.asyncDispose]: () => {
      file.close();
      return Promise.resolve();
    },
  };
}

type KeptRows = Pick<OpenedFile, "length" | "separator">;

const NOTHING: KeptRows = { length: 0, separator: "" };

/** Finds the complete rows of a file. Reads the first and the last line only. */
async function findKeptRows(
  file: Deno.FsFile,
  path: string,
  format: Format,
): Promise<KeptRows> {
  const { size, isFile } = await file.stat();
  if (!isFile || size === 0) return NOTHING;
  if (!format.appendable) {
    throw new InputError(
      `Cannot append to "${path}": a JSON array cannot be continued; use .ndjson or .csv`,
    );
  }
  const end = await endOfLastLine(file, size);
  const first = await readLine(file, 0);
  // the file has only an incomplete header
  if (end === 0 && format.head.startsWith(first)) return NOTHING;
  const isTorn = end < size && !format.isComplete?.(await readLine(file, end));
  const length = isTorn ? end : size;
  if (length === 0 && format.head === "") return NOTHING; // the file has a single, incomplete row
  const isAccepted = format.canFollow?.(first) ??
    (format.head === "" || format.head === `${first}\n`);
  if (!isAccepted) {
    throw new InputError(
      `Cannot append to "${path}": it does not start with the columns that would be written`,
    );
  }
  return { length, separator: end < length ? "\n" : "" };
}

const CHUNK = 65536;

/** Offset after the last line feed; 0 when there is none. */
async function endOfLastLine(file: Deno.FsFile, size: number): Promise<number> {
  for (let end = size; end > 0; end -= CHUNK) {
    const start = Math.max(0, end - CHUNK);
    const chunk = new Uint8Array(end - start);
    await file.seek(start, Deno.SeekMode.Start);
    await readFully(file, chunk);
    const found = chunk.lastIndexOf(0x0a);
    if (found >= 0) return start + found + 1;
  }
  return 0;
}

/** Maximum number of bytes that {@linkcode readLine} reads. No row of this program is as long. */
const MAX_LINE_BYTES = 1 << 20;

/** Reads the line at an offset, without its line feed. */
async function readLine(file: Deno.FsFile, start: number): Promise<string> {
  const { size } = await file.stat();
  const bytes = new Uint8Array(Math.min(MAX_LINE_BYTES, size - start));
  await file.seek(start, Deno.SeekMode.Start);
  await readFully(file, bytes);
  const end = bytes.indexOf(0x0a);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

async function readFully(file: Deno.FsFile, into: Uint8Array): Promise<void> {
  for (let at = 0; at < into.length;) {
    const read = await file.read(into.subarray(at));
    if (read === null) return;
    at += read;
  }
}
