/**
 * Noticing that a file which is open for rows was deleted, renamed or replaced: rows that are
 * written to it then reach nobody.
 *
 * @module
 */

/** Which file it is, as the system numbers them. */
export type FileIdentity = Pick<Deno.FileInfo, "dev" | "ino">;

/** Which file a path leads to; `undefined` where there is none. */
export async function identityOf(path: string): Promise<FileIdentity | undefined> {
  try {
    return await Deno.stat(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/**
 * Looks where a path leads now; symbolic links are followed.
 *
 * @param opened The file that it led to when it was opened.
 * @returns What became of that file; `undefined` where the path still leads to it, or may not be read.
 */
export async function fateOf(path: string, opened: FileIdentity): Promise<string | undefined> {
  const { state } = await Deno.permissions.query({ name: "read", path });
  if (state !== "granted") return undefined;
  const found = await identityOf(path);
  if (found === undefined) return "it was deleted or renamed since it was opened";
  return found.dev === opened.dev && found.ino === opened.ino
    ? undefined
    : "another file has taken its place since it was opened";
}
