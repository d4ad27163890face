/**
 * The file operations that checkpoints use, as an interface: tests replace it to simulate a crash
 * between any two operations.
 *
 * @module
 */

import { pathChangeOf } from "./file_identity.ts";

/** An open file, read and written at given positions. */
export interface DiskFile extends AsyncDisposable {
  /** Reads the whole file. */
  read(): Promise<Uint8Array>;
  /** Writes bytes at an offset. After an error, some of the bytes may be written. */
  write(at: number, bytes: Uint8Array): Promise<void>;
  /** Truncates the file to a length in bytes. */
  truncate(length: number): Promise<void>;
  sync(): Promise<void>;
  /**
   * Describes how the path changed since the file was opened; `undefined`: the path still leads to
   * this file.
   */
  pathChange(): Promise<string | undefined>;
  /** Locks the file until it is closed. `false`: another process has locked it. */
  lock(): Promise<boolean>;
}

/** The operations of a file system. */
export interface Disk {
  /**
   * Opens a file: an existing one for reading (`read`) or for writing too (`edit`). The mode `make`
   * also creates a missing file, with permissions 0600.
   */
  open(path: string, how: "read" | "edit" | "make"): Promise<DiskFile>;
  /** Renames a file atomically; replaces a file that exists at the new path. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file. Does nothing when there is none; fails for a folder. */
  remove(path: string): Promise<void>;
}

/** The system's error message for an operation on a folder. */
const FOLDER = "Is a directory";

/** The file system of this machine. */
export const systemDisk: Disk = {
  async open(path, how) {
    const write = how !== "read";
    const create = how === "make";
    return new OpenFile(await Deno.open(path, { read: true, write, create, mode: 0o600 }), path);
  },
  rename: (from, to) => Deno.rename(from, to),
  async remove(path) {
    try {
      // Deno.remove() and Node's unlink() in Deno remove an empty folder too.
      if ((await Deno.lstat(path)).isDirectory) throw new Deno.errors.IsADirectory(FOLDER);
      await Deno.remove(path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  },
};

class OpenFile implements DiskFile {
  #isLocked = false;
  /** The position of the file, bytes; `undefined`: it is unknown, because an operation failed. */
  #position: number | undefined = 0;

  constructor(private readonly file: Deno.FsFile, private readonly path: string) {}

  async read(): Promise<Uint8Array> {
    const { size } = await this.file.stat();
    const bytes = new Uint8Array(size);
    this.#position = undefined;
    await this.file.seek(0, Deno.SeekMode.Start);
    for (let at = 0; at < size;) {
      const read = await this.file.read(bytes.subarray(at));
      if (read === null) return bytes.subarray(0, at);
      at += read;
    }
    return bytes;
  }

  async write(at: number, bytes: Uint8Array): Promise<void> {
    if (this.#position !== at) await this.file.seek(at, Deno.SeekMode.Start);
    this.#position = undefined;
    const end = at + bytes.length;
    while (bytes.length > 0) bytes = bytes.subarray(await this.file.write(bytes));
    this.#position = end;
  }

  truncate(length: number): Promise<void> {
    return this.file.truncate(length);
  }

  sync(): Promise<void> {
    return this.file.sync();
  }

  async pathChange(): Promise<string | undefined> {
    return await pathChangeOf(this.path, await this.file.stat());
  }

  async lock(): Promise<boolean> {
    return this.#isLocked = await this.file.tryLock(true);
  }

  /**
   * Unlocks before it closes: a child process that is starting still has a copy of the descriptor.
   * Does nothing the second time.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    using file = this.file;
    const isLocked = this.#isLocked;
    this.#isLocked = false;
    if (isLocked) await file.unlock();
  }
}

/**
 * Replaces a file's content atomically: a reader sees either the old bytes or the new ones.
 *
 * @param chunk The path of the new file before it is renamed. Two writers of a file need two paths.
 * @throws Error when the file cannot be written. The old file stays, and no other one.
 */
export async function replaceFile(
  disk: Disk,
  path: string,
  bytes: Uint8Array,
  chunk = `${path}.part`,
): Promise<void> {
  await disk.remove(chunk); // the file is new, because an existing file would keep its mode
  try {
    await writeSynced(disk, chunk, bytes);
    await disk.rename(chunk, path);
  } catch (error) {
    await disk.remove(chunk).catch(() => {}); // the first error is the reason
    throw error;
  }
}

async function writeSynced(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  await using file = await disk.open(path, "make");
  await file.write(0, bytes);
  // The sync comes before the rename. Otherwise a system crash could leave an empty file at the
  // path.
  await file.sync();
}
