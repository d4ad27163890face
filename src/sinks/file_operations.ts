/**
 * The few operations of a file system that a checkpoint is made of, so that tests can end a program
 * between any two of them.
 *
 * @module
 */

import { fateOf } from "./file_identity.ts";

/** A file that is open. */
export interface DiskFile extends AsyncDisposable {
  /** All that it holds. */
  read(): Promise<Uint8Array>;
  /** Writes all of the bytes from there on; where that fails, some of them may be written. */
  write(at: number, bytes: Uint8Array): Promise<void>;
  /** Cuts it to a length. */
  truncate(length: number): Promise<void>;
  /** Hands it on to the disk. */
  sync(): Promise<void>;
  /** What became of it since it was opened; `undefined` where its path still leads to it. */
  fate(): Promise<string | undefined>;
  /** Keeps it from other processes until it is closed; false where another one has it. */
  lock(): Promise<boolean>;
}

/** A file system. */
export interface Disk {
  /**
   * Opens a file: an existing one to read or to edit, or one that is made where it is missing, and
   * may be read by its owner alone.
   */
  open(path: string, how: "read" | "edit" | "make"): Promise<DiskFile>;
  /** Puts a file into the place of another, at once. */
  rename(from: string, to: string): Promise<void>;
  /** Removes a file, if there is one; a folder is refused. */
  remove(path: string): Promise<void>;
}

/** Why a folder is not removed, as the system says it. */
const FOLDER = "Is a directory";

/** The machine's own. */
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
  constructor(private readonly file: Deno.FsFile, private readonly path: string) {}

  async read(): Promise<Uint8Array> {
    const { size } = await this.file.stat();
    const bytes = new Uint8Array(size);
    await this.file.seek(0, Deno.SeekMode.Start);
    for (let at = 0; at < size;) {
      const read = await this.file.read(bytes.subarray(at));
      if (read === null) return bytes.subarray(0, at);
      at += read;
    }
    return bytes;
  }

  async write(at: number, bytes: Uint8Array): Promise<void> {
    await this.file.seek(at, Deno.SeekMode.Start);
    while (bytes.length > 0) bytes = bytes.subarray(await this.file.write(bytes));
  }

  truncate(length: number): Promise<void> {
    return this.file.truncate(length);
  }

  sync(): Promise<void> {
    return this.file.sync();
  }

  async fate(): Promise<string | undefined> {
    return await fateOf(this.path, await this.file.stat());
  }

  lock(): Promise<boolean> {
    return this.file.tryLock(true);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.file.close();
    return Promise.resolve();
  }
}

/** Puts bytes into the place of a file: whoever reads it finds the old ones or the new ones. */
export async function replaceFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const part = `${path}.part`;
  await disk.remove(part); // its mode would stay
  {
    await using file = await disk.open(part, "make");
    await file.write(0, bytes);
    await file.sync(); // or a crash of the system could leave the new name and no bytes
  }
  await disk.rename(part, path);
}
