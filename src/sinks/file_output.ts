/**
 * Files and standard output.
 *
 * @module
 */
import { InputError } from "../core/errors.ts";
import { systemClock } from "../net/clock.ts";
import { fateOf } from "./file_identity.ts";
import { isPipe, openPipe, type ReaderWait } from "./named_pipe.ts";
import type { Format, Output } from "./sink.ts";

/**
 * Standard output: what was written stays written.
 *
 * @param beforeWrite Called before something is written.
 */
export function standardOutput(beforeWrite: () => void = () => {}): Output {
  return {
    name: "standard output",
    write: (bytes) => {
      beforeWrite();
      return Deno.stdout.write(bytes);
    },
    truncate: () => Promise.resolve(),
    sync: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/**
 * Rows always go to the end of a file: a file that another program truncates stays too short, in place
 * of being filled up with zeros. (Windows lets nobody truncate a file that is open for appending.)
 */
const WRITING = { write: true, append: Deno.build.os !== "windows" };

const UNREPORTED: ReaderWait = { clock: systemClock, report: () => {} };

/** A file that was opened for rows. */
export interface OpenedFile {
  /** The file. */
  readonly output: Output;
  /** How much of it stays: 0 unless rows are appended. */
  readonly length: number;
  /** What goes between that and the first row: a line feed, where the last line lacks its own. */
  readonly joint: string;
  /** Whether it is a regular file: a pipe or a device has no way back. */
  readonly regular: boolean;
}

/**
 * Opens a file for rows. What it holds stays until {@linkcode Output.truncate} is called with the
 * length that is returned.
 *
 * @param append Keeps what it holds, but for a torn last row.
 * @param wait How to wait for the reader of a named pipe. Default: as long as it takes.
 * @throws InputError when it cannot be written, or holds other columns than would be appended; the
 * reason of the signal that ends the wait.
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
    if (error instanceof Deno.errors.NotCapable || wait.signal?.aborted) throw error;
    const reason = (error as Error).message.replace(/: \w+ '.*$/, "");
    throw new InputError(`Cannot write to "${path}": ${reason}`);
  }
  try {
    const kept = append ? await keptPart(file, path, format) : NOTHING;
    const { isFile: regular } = await file.stat();
    return { output: await fileOutput(file, path), regular, ...kept };
  } catch (error) {
    file.close();
    throw error;
  }
}

/** A file that is gone on with. */
export interface ReopenedFile {
  /** The file. */
  readonly output: Output;
  /** How long it is; `null`: it is no regular file. */
  readonly length: number | null;
  /** What goes between a part of it and the next row. */
  readonly jointBehind: (length: number, format: Format) => Promise<string>;
}

/**
 * Opens a file that holds rows, to go on behind some of them.
 *
 * @param wait How to wait for the reader of a named pipe. Default: as long as it takes.
 * @throws InputError when it is not there, or cannot be written; the reason of the signal that ends
 * the wait.
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
      jointBehind: async (length, { appendable }) => {
        if (length === 0 || !appendable) return "";
        const last = new Uint8Array(1);
        await file.seek(length - 1, Deno.SeekMode.Start);
        await readFully(file, last);
        return last[0] === 0x0a ? "" : "\n";
      },
    };
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable || wait.signal?.aborted) throw error;
    const reason = (error as Error).message.replace(/: \w+ '.*$/, "");
    throw new InputError(`Cannot continue "${path}": ${reason}`);
  }
}

async function fileOutput(file: Deno.FsFile, path: string): Promise<Output> {
  const opened = await file.stat();
  return {
    name: `"${path}"`,
    write: (bytes) => file.write(bytes),
    truncate: async (length) => {
      if (!opened.isFile) return; // a pipe or a device has no way back
      await file.truncate(length);
      await file.seek(length, Deno.SeekMode.Start);
    },
    sync: async () => {
      if (opened.isFile) await file.syncData();
    },
    ...opened.isFile
      ? { look: async () => await fateOf(path, opened) ?? (await file.stat()).size }
      : {},
    [Symbol.asyncDispose]: () => {
      file.close();
      return Promise.resolve();
    },
  };
}

type Kept = Pick<OpenedFile, "length" | "joint">;

const NOTHING: Kept = { length: 0, joint: "" };

/** How much of a file is whole rows, after a look at its first line and its last. */
async function keptPart(file: Deno.FsFile, path: string, format: Format): Promise<Kept> {
  const { size, isFile } = await file.stat();
  if (!isFile || size === 0) return NOTHING;
  if (!format.appendable) {
    throw new InputError(
      `Cannot append to "${path}": a JSON array has an end; use .ndjson or .csv`,
    );
  }
  const end = await endOfLastLine(file, size);
  const first = await readLine(file, 0);
  if (end === 0 && format.head.startsWith(first)) return NOTHING; // a torn head
  const torn = end < size && !format.whole?.(await readLine(file, end));
  const length = torn ? end : size;
  if (length === 0 && format.head === "") return NOTHING; // a torn row, and no other
  const fits = format.fits?.(first) ?? (format.head === "" || format.head === `${first}\n`);
  if (!fits) {
    throw new InputError(
      `Cannot append to "${path}": it does not start with the columns that would be written`,
    );
  }
  return { length, joint: end < length ? "\n" : "" };
}

const CHUNK = 65536;

/** The length up to and with the last line feed. */
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

/** Longer than any row of ours: a line of which this much is not its end is not read further. */
const LONGEST_LINE = 1 << 20;

/** The line that starts there, without its line feed. */
async function readLine(file: Deno.FsFile, start: number): Promise<string> {
  const { size } = await file.stat();
  const bytes = new Uint8Array(Math.min(LONGEST_LINE, size - start));
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
