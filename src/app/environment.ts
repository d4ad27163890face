/**
 * The environment of the process: variables, and files by the paths that a user wrote.
 *
 * @module
 */
import { resolvePath } from "../core/node_modules.ts";
import { InputError } from "../core/errors.ts";
import { decodeTextFile } from "../core/text.ts";
import { fileError, withoutCall } from "../sinks/file_errors.ts";

/** Whether the program is the bundle in the npm package. */
export const IS_NPM_PACKAGE: boolean = import.meta.url.endsWith(".js");

/** The variables that the program reads, with their purposes. */
export const ENVIRONMENT_VARIABLES = {
  NO_COLOR: "any value: no colours, as with `--no-color`",
  TERM: "the value `dumb`: no live display, as with `--plain`, and no colours",
  INIT_CWD: "the folder from which relative paths start; tasks of Deno set this variable",
  HOME: "the folder that contains `.config/blocksweep` and `.pgpass`",
  XDG_CONFIG_HOME: "the folder that contains `blocksweep/`, in place of `~/.config`",
  APPDATA: "the folder that contains `blocksweep/` on Windows",
  USERPROFILE: "the home folder on Windows",
  NOTIFY_SOCKET: "the socket of systemd, or of another service manager (sd_notify)",
  WATCHDOG_USEC: "the time of its watchdog, microseconds",
  PGPASSWORD: "the password for PostgreSQL",
  BLOCKSWEEP_PROBE_TOKEN: "the token that clients of `/probe` send",
  PGPASSFILE: "the file of passwords for PostgreSQL, in place of `~/.pgpass`",
  "BLOCKSWEEP_*": "secrets of a webhook, by the names in options such as `--webhook env:NAME`",
} as const satisfies Readonly<Record<string, string>>;

/** An environment variable; `undefined` without permission to read it. */
export function env(name: keyof typeof ENVIRONMENT_VARIABLES): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  return state === "granted" ? Deno.env.get(name) : undefined;
}

/**
 * Resolves a path against the folder in which the user typed the command. A task of Deno itself
 * always runs in the project's folder.
 */
export function userPath(path: string): string {
  const folder = env("INIT_CWD");
  return folder === undefined ? path : resolvePath(folder, path);
}

/**
 * Reads a text file, `-` for standard input.
 *
 * @throws InputError that names the file.
 */
export async function readTextFile(path: string): Promise<string> {
  if (path === "-") return decodeTextFile(await new Response(standardInput()).bytes());
  try {
    return decodeTextFile(await Deno.readFile(userPath(path)));
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot read "${path}": ${readReason(error)}`);
  }
}

/**
 * Standard input, to be read at once.
 *
 * @throws InputError when it is read already.
 */
export function standardInput(): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { readable } = Deno.stdin;
  if (!readable.locked) return readable;
  throw new InputError('Cannot read "-": standard input was read already; name it once');
}

/** Why a file cannot be read. */
export function readReason(error: unknown): string {
  return error instanceof Deno.errors.NotFound ? "there is no such file" : reason(error);
}

/**
 * Writes a text file as a whole.
 *
 * @throws InputError for a wrong path; WriteError or ShortageError when the system fails.
 */
export async function writeTextFile(path: string, text: string): Promise<void> {
  try {
    const { writeWholeText } = await import("../sinks/whole_files.ts");
    await writeWholeText(userPath(path), text);
  } catch (error) {
    throw writeRefusal(path, error);
  }
}

/** The error of a file that cannot be written: see {@linkcode fileError}. */
export function writeRefusal(path: string, error: unknown): Error {
  return fileError(`write to "${path}"`, error);
}

/** The reason of an error, without the name of the failed call. */
export function reason(error: unknown): string {
  return withoutCall((error as Error).message);
}

/**
 * A word, quoted if necessary for `sh`, `zsh` and `fish`. A leading `=` is a command to zsh, and
 * a leading `%` a process to fish. fish reads backslashes between quotes.
 */
export function quoteWord(word: string): string {
  if (/^[\w@+:,./-][\w@%+=:,./-]*$/.test(word)) return word;
  return `'${word.replaceAll(/['\\]/g, (character) => `'\\${character}'`)}'`;
}
