/**
 * Checks the paths of a scan's files before any file is opened, and refuses targets that are files.
 *
 * @module
 */
import { resolvePath } from "../../core/node_modules.ts";
import { InputError } from "../../core/errors.ts";
import { parseDatabaseLocation } from "../../store/database_location.ts";
import { parseTargets } from "../../targets/parse.ts";
import { quoteWord, userPath, writeRefusal } from "../environment.ts";

/** The paths of the files that a scan or an export writes. */
export interface WrittenFiles {
  /** Outputs of rows; `-` is standard output. */
  readonly outputs: readonly string[];
  /** The path of `--status-file`. */
  readonly status?: string;
  /** The path of `--metadata-file`. */
  readonly metadata?: string;
  /** The checkpoint that the user requested. */
  readonly checkpoint?: string;
}

/**
 * Checks that no file is named twice.
 *
 * @throws InputError for the first conflict.
 */
export function checkApart({ outputs, status, metadata, checkpoint }: WrittenFiles): void {
  const rows = outputs.filter((path) => path !== "-");
  const all = [...rows, status, metadata, checkpoint].filter((path) => path !== undefined);
  const places = all.map((path) => resolvePath(userPath(path)));
  const twice = all.find((_, i) => places.indexOf(places[i]) < i);
  if (twice !== undefined) throw new InputError(`Cannot write two outputs to "${twice}"`);
}

/**
 * Checks that checkpoint, status and metadata can be written; the outputs are checked when they are opened.
 * @throws InputError for the first that cannot be written. The content of the files is not changed.
 */
export function checkWritten({ status, metadata, checkpoint }: WrittenFiles): void {
  if (checkpoint !== undefined) checkReplaceable(checkpoint);
  if (status !== undefined) checkReplaceable(status);
  if (metadata !== undefined) checkWritable(metadata);
}

/**
 * Checks a file that the program replaces by renaming another one, which ends with `.part`. A pipe or
 * a device is refused, because the rename would replace it.
 */
function checkReplaceable(path: string): void {
  checkRegular(path);
  const part = `${path}.part`;
  const isNew = lookAt(part) === undefined;
  checkRegular(part);
  if (isNew) Deno.removeSync(userPath(part));
}

function checkRegular(path: string): void {
  const existing = lookAt(path);
  if (existing !== undefined && !existing.isFile) {
    throw new InputError(`Cannot write to "${path}": it is not a regular file`);
  }
  checkWritable(path);
}

function lookAt(path: string): Deno.FileInfo | undefined {
  try {
    return Deno.lstatSync(userPath(path));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw writeRefusal(path, error);
  }
}

function checkWritable(path: string): void {
  try {
    if (lookAt(path)?.isFile === false) return; // opening a pipe would wait for its reader
    Deno.openSync(userPath(path), { write: true, create: true }).close();
  } catch (error) {
    throw writeRefusal(path, error);
  }
}

/**
 * Refuses targets that are files: their names would be looked up as those of hosts.
 *
 * @throws InputError with the option that reads a file of targets.
 */
export function refuseFiles(words: readonly string[]): void {
  for (const word of words) {
    if (isRange(word)) continue;
    if (/^(?:\.{0,2}|~)[/\\]/.test(word) && isMissing(word)) {
      throw new InputError(
        `Cannot scan "${word}": there is no such file; -iL FILE reads targets from a file`,
      );
    }
    if (!isFile(word)) continue;
    const path = quoteWord(word);
    throw new InputError(
      `Cannot scan "${word}": it is a file; ` +
        (parseDatabaseLocation(word) !== undefined
          ? `--rescan ${path} probes the servers of a database again (-iL reads lists of targets)`
          : `-iL ${path} reads targets from a file (--rescan takes a database, for example servers.db)`),
    );
  }
}

/** Whether a word can be parsed as addresses: such a word is never taken for a file. */
function isRange(word: string): boolean {
  try {
    return parseTargets(word).every((target) => "range" in target);
  } catch (error) {
    if (error instanceof InputError) return false; // perhaps a path; otherwise it is refused as a target
    throw error;
  }
}

/** Whether it is certain that no file exists at a path. */
function isMissing(word: string): boolean {
  const path = userPath(word);
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return false;
  try {
    Deno.statSync(path);
    return false;
  } catch (error) {
    return error instanceof Deno.errors.NotFound;
  }
}

/** Whether a word names a file, and not addresses, although a host might have that name too. */
export function namesFile(word: string): boolean {
  return !isRange(word) && isFile(word);
}

/** Whether a file exists, as far as granted permissions allow the check. Never prompts for a permission. */
function isFile(word: string): boolean {
  const path = userPath(word);
  if (Deno.permissions.querySync({ name: "read", path }).state !== "granted") return false;
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false; // no file: read as a host name
  }
}
