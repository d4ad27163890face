/**
 * Files that are written as a whole: a program that is killed leaves the old content at the path.
 *
 * @module
 */

/** A new file beside a path. It takes the place of the path when it is complete. */
export interface WholeFile {
  /** The path of the new file, which exists and is empty. */
  readonly partialPath: string;
  /** Syncs the closed file to the disk, and renames it. */
  complete(): Promise<void>;
  /** Removes the closed file. The path keeps its old content. */
  discard(): Promise<void>;
}

/**
 * Begins to write a file as a whole. The new file has the mode of the old one.
 *
 * @param path The path. Symbolic links are followed.
 * @returns `undefined`: the path has to be opened itself. It is a pipe, a device or a hard link, or its
 * folder cannot be written to; or it cannot be opened, for the reason that opening it gives.
 */
export async function beginWholeFile(path: string): Promise<WholeFile | undefined> {
  try {
    return await begin(path);
  } catch {
    return undefined;
  }
}

async function begin(path: string): Promise<WholeFile | undefined> {
  const old = await orUndefined(Deno.stat(path));
  const isOrdinary = old === undefined
    ? await orUndefined(Deno.lstat(path)) === undefined // a link that leads nowhere
    : old.isFile && (old.nlink ?? 1) === 1;
  if (!isOrdinary) return undefined;
  if (old !== undefined) (await Deno.open(path, { write: true })).close(); // it may be read-only
  const target = old === undefined ? path : await Deno.realPath(path);
  const partialPath = `${target}.part`;
  await orUndefined(Deno.remove(partialPath)); // of a program that was killed
  (await Deno.open(partialPath, { write: true, createNew: true })).close();
  if (old !== undefined && old.mode !== null) await Deno.chmod(partialPath, old.mode & 0o7777);
  return {
    partialPath,
    async complete() {
      {
        using file = await Deno.open(partialPath, { write: true });
        await file.sync(); // otherwise a system crash could leave an empty file at the path
      }
      await Deno.rename(partialPath, target);
    },
    async discard() {
      await orUndefined(Deno.remove(partialPath));
    },
  };
}

/** The result, or `undefined` if there is no such file. */
async function orUndefined<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

export async function writeWholeText(path: string, text: string): Promise<void> {
  const whole = await beginWholeFile(path);
  if (whole === undefined) return await Deno.writeTextFile(path, text);
  try {
    await Deno.writeTextFile(whole.partialPath, text);
    await whole.complete();
  } catch (error) {
    await whole.discard();
    throw error;
  }
}
