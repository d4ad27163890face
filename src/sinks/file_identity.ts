/**
 * Detects that an open output file was deleted, renamed or replaced. Rows that are written to such a
 * file would be lost.
 *
 * @module
 */

/** Device and inode number, which identify a file independently of its path. */
export type FileIdentity = Pick<Deno.FileInfo, "dev" | "ino">;

/**
 * The identity of the file at a path. Symbolic links are followed. `undefined` when there is no
 * file.
 */
export async function identityOf(path: string): Promise<FileIdentity | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Compares the file at a path with the file that was opened there. Follows symbolic links.
 *
 * @param opened The identity of the opened file.
 * @returns A description of the change; `undefined` when the path still leads to the opened file, or when
 * this program lacks the permission to read the path.
 */
export async function pathChangeOf(
  path: string,
  opened: FileIdentity,
): Promise<string | undefined> {
  const { state } = await Deno.permissions.query({ name: "read", path });
  if (state !== "granted") return undefined;
  const found = await identityOf(path);
  if (found === undefined) return "it was deleted or renamed since it was opened";
  return found.dev === opened.dev && found.ino === opened.ino
    ? undefined
    : "another file has taken its place since it was opened";
}
