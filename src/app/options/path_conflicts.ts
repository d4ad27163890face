/**
 * Checks the paths of files before a command opens one: refuses outputs that are inputs, files that cannot
 * be written, and targets that are files.
 *
 * @module
 */
import { nodeFs, resolvePath } from "../../core/node_modules.ts";
import { InputError } from "../../core/errors.ts";
import { redactUrl } from "../../core/redact.ts";
import { fileKey, inodeKey } from "../../sinks/file_identity.ts";
import { parseDatabaseLocation } from "../../store/database_location.ts";
import { parseTargets } from "../../targets/parse.ts";
import { quoteWord, userPath, writeRefusal } from "../environment.ts";
import { configurationPath } from "../opt_outs/opt_out_file.ts";
import { type Command, COMMANDS } from "./commands.ts";
import type { GivenOptions } from "./given_options.ts";
import type { Option } from "./option.ts";
import { optionsOf } from "./option_table.ts";

/** A file that a command reads or writes. */
interface NamedFile {
  /** The path as the user wrote it, `-` for standard input or output. */
  readonly path: string;
  /** The option or command that uses the file, for errors. */
  readonly user: string;
  readonly isWritten: boolean;
  /** The option that names the file; `undefined`: an argument, or no option. */
  readonly option?: string;
}

/** The options of a command, and the names of options for errors. */
export interface NamedFiles extends GivenOptions {
  readonly nameOf: (option: string) => string;
  /** Files that are written besides those that the options name. */
  readonly written?: readonly string[];
}

/**
 * Checks that the command writes no file that it also reads, and no file twice. All paths of a file count:
 * other spellings, symbolic links and hard links.
 *
 * @throws InputError for the first such file. Nothing is opened.
 */
export function checkFilesApart(command: Command, named: NamedFiles): void {
  if (named.written === undefined && !mayWrite(command, named)) return;
  const files = [...filesOf(command, named)];
  const written = files.filter(({ isWritten }) => isWritten);
  if (written.length === 0) return;
  const seen = new Map<string, NamedFile>();
  for (const file of files) if (!file.isWritten) seen.set(keyOfPath(file), file);
  for (const side of written.flatMap(sideFiles)) {
    const read = seen.get(keyOfPath(side));
    if (read !== undefined) throw conflict(side, read);
  }
  for (const file of written) {
    const other = seen.get(keyOfPath(file));
    if (other === undefined) seen.set(keyOfPath(file), file);
    else if (!isUpdate(file, other)) throw conflict(file, other);
  }
}

/** Whether a given option or an argument of a command may name a file that is written. */
function mayWrite(command: Command, { given }: GivenOptions): boolean {
  return COMMANDS[command].words?.written !== undefined ||
    optionsOf(command).some(({ name, takes }) => takes?.isWritten && given.has(name));
}

/** The files that the program or SQLite writes and removes beside an output. */
function sideFiles(file: NamedFile): NamedFile[] {
  const location = parseDatabaseLocation(file.path);
  if (file.path === "-" || location?.postgres !== undefined) return [];
  const path = location?.file ?? file.path;
  const ends = location === undefined ? [".part"] : ["-wal", "-shm", "-journal"];
  return ends.map((end) => ({ ...file, path: path + end }));
}

function* filesOf(command: Command, named: NamedFiles): Generator<NamedFile> {
  for (const option of optionsOf(command)) yield* filesOfOption(option, named);
  const { completions, written } = COMMANDS[command].words ?? {};
  if (completions === "files") {
    yield* named.words.map((path, i) => ({ path, user: command, isWritten: i === written }));
  }
  for (const path of named.written ?? []) yield { path, user: command, isWritten: true };
  const unnamed = { "opt-out-file": "opt-out.txt", contact: "contact.txt" };
  for (const [option, file] of Object.entries(unnamed)) {
    if (named.given.has(option) || optionsOf(command).every(({ name }) => name !== option)) {
      continue;
    }
    yield { path: configurationPath(file), user: command, isWritten: false };
  }
}

function* filesOfOption(
  { name, takes, readWith = "" }: Option,
  { given, nameOf }: NamedFiles,
): Generator<NamedFile> {
  const isWritten = takes?.isWritten === true && !given.has(readWith);
  for (const text of given.get(name) ?? []) {
    const path = takes?.isPath ? text : takes?.mayHavePath && PATH_IN_VALUE.exec(text)?.[0];
    if (path) yield { path, user: nameOf(name), isWritten, option: name };
  }
}

/** The path in a value such as `@FILE` or `NAME=@FILE`. */
export const PATH_IN_VALUE = /(?<=^(?:[^@=/]+=)?@).+$/s;

/** A text that is equal for two files if they are one. */
function keyOfPath({ path, isWritten }: NamedFile): string {
  const location = parseDatabaseLocation(path);
  if (location?.postgres !== undefined) return location.path;
  if (path !== "-") return fileKey(resolvePath(userPath(location?.file ?? path)));
  const stream = isWritten ? 1 : 0;
  return keyOfStream(stream) ?? `descriptor ${stream}`;
}

/** The key of the file that standard input or output is redirected to; `undefined`: it is no file, or closed. */
function keyOfStream(descriptor: number): string | undefined {
  try {
    const info = nodeFs().fstatSync(descriptor);
    return inodeKey({ dev: info.dev, ino: info.ino, isFile: info.isFile() });
  } catch {
    return undefined;
  }
}

/** Whether a file may be read and written: a database, and the checkpoint of a resumed scan. */
function isUpdate(file: NamedFile, other: NamedFile): boolean {
  if (other.isWritten) return false;
  if (file.option === "checkpoint") return other.option === "resume";
  return file.option === "output" &&
    [file, other].every(({ path }) => parseDatabaseLocation(path) !== undefined);
}

function conflict(file: NamedFile, other: NamedFile): InputError {
  const differs = shown(file) !== shown(other);
  if (other.isWritten) {
    const reason = differs ? `: it is the same file as ${shown(other)}` : "";
    return new InputError(`Cannot write two outputs to ${shown(file)}${reason}`);
  }
  const spelled = differs ? `, as ${shown(other)}` : "";
  return new InputError(`Cannot write to ${shown(file)}: ${other.user} reads it${spelled}`);
}

function shown({ path, isWritten }: NamedFile): string {
  if (path === "-") return isWritten ? "standard output" : "standard input";
  return `"${redactUrl(parseDatabaseLocation(path)?.path ?? path)}"`;
}

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
    if (/^(?:\.{0,2}|~|[a-z]:)[/\\]/i.test(word) && isMissing(word)) {
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
