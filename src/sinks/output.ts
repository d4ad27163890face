/**
 * Files and standard output.
 *
 * @module
 */
import { InputError } from "../errors.ts";
import type { Format, Output } from "./sink.ts";

/** Standard output: what was written stays written. */
export function standardOutput(): Output {
  return {
    name: "standard output",
    write: (bytes) => Deno.stdout.write(bytes),
    truncate: () => Promise.resolve(),
    sync: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/**
 * Opens a file for rows.
 *
 * @param append Keeps what it holds; a torn last line is cut off. Otherwise it starts empty.
 * @returns The output, and how long it is.
 * @throws InputError when it cannot be written, or holds other columns than would be appended.
 */
export async function openFile(
  path: string,
  format: Format,
  append: boolean,
): Promise<{ output: Output; length: number }> {
  if (append && !format.appendable) {
    throw new InputError(
      `Cannot append to "${path}": ${format.name} has an end; use ndjson or csv`,
    );
  }
  let file: Deno.FsFile;
  try {
    file = await Deno.open(path, { write: true, create: true, read: append, truncate: !append });
  } catch (error) {
    throw error instanceof Deno.errors.NotCapable
      ? error
      : new InputError(`Cannot write to "${path}": ${(error as Error).message}`);
  }
  try {
    const length = append ? await wholeLength(file, path, format) : 0;
    return { output: fileOutput(file, path), length };
  } catch (error) {
    file.close();
    throw error;
  }
}

function fileOutput(file: Deno.FsFile, path: string): Output {
  return {
    name: `"${path}"`,
    write: (bytes) => file.write(bytes),
    truncate: async (length) => {
      await file.truncate(length);
      await file.seek(length, Deno.SeekMode.Start);
    },
    sync: () => file.syncData(),
    [Symbol.asyncDispose]: () => {
      file.close();
      return Promise.resolve();
    },
  };
}

/** Cuts a torn last line off, checks the first line, and goes to the end. */
async function wholeLength(file: Deno.FsFile, path: string, format: Format): Promise<number> {
  const { size, isFile } = await file.stat();
  if (!isFile || size === 0) return 0;
  const length = await endOfLastLine(file, size);
  const head = new TextEncoder().encode(format.head);
  const start = new Uint8Array(head.length);
  await file.seek(0, Deno.SeekMode.Start);
  await readFully(file, start);
  if (length > 0 && start.toHex() !== head.toHex()) {
    throw new InputError(
      `Cannot append to "${path}": it does not start with the columns of ${format.name}`,
    );
  }
  await file.truncate(length);
  await file.seek(length, Deno.SeekMode.Start);
  return length;
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

async function readFully(file: Deno.FsFile, into: Uint8Array): Promise<void> {
  for (let at = 0; at < into.length;) {
    const read = await file.read(into.subarray(at));
    if (read === null) return;
    at += read;
  }
}
