/**
 * Which paths lead to one file. Detects that an open output file was deleted, renamed or replaced: rows
 * that are written to such a file would be lost.
 *
 * @module
 */
import { nodePath, resolvePath } from "../core/node_modules.ts";

/** Device and inode number, which identify a file independently of its path. */
export type FileIdentity = Pick<Deno.FileInfo, "dev" | "ino">;

/**
 * The identity of the file at a path. Symbolic links are followed. `undefined` when there is no
 * file.
 */
export async function fileIdentity(path: string): Promise<FileIdentity | undefined> {
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
  const found = await fileIdentity(path);
  if (found === undefined) return "it was deleted or renamed since it was opened";
  return found.dev === opened.dev && found.ino === opened.ino
    ? undefined
    : "another file has taken its place since it was opened";
}

/**
 * A text that is equal for all paths of one file: other spellings, symbolic links and hard links. For a
 * file that does not exist yet, and without the permission to read the path, it is a path.
 *
 * @param path An absolute path.
 */
export function fileKey(path: string): string {
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return path;
  try {
    return inodeKey(Deno.statSync(path)) ?? Deno.realPathSync(path);
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? newFileKey(path) : path;
  }
}

/** Device and inode number as a text; `undefined` unless a regular file has both. */
export function inodeKey(
  { dev, ino, isFile }: Pick<Deno.FileInfo, "dev" | "ino" | "isFile">,
): string | undefined {
  return isFile && ino !== null ? `${dev}:${ino}` : undefined;
}

/** The path at which a write would create a file: it follows links, also those that lead to no file. */
function newFileKey(path: string): string {
  try {
    const { dir, base } = nodePath().parse(path);
    const folder = Deno.realPathSync(dir);
    const created = resolvePath(folder, base);
    const target = linkTarget(created);
    return target === undefined ? created : fileKey(resolvePath(folder, target));
  } catch {
    return path; // no such folder: opening the file reports it
  }
}

/** Where a symbolic link leads; `undefined` when there is no link. */
function linkTarget(path: string): string | undefined {
  try {
    return Deno.readLinkSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}
