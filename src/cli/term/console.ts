/**
 * The outside of the command line: streams, paths, the environment. Results go to standard output,
 * everything else to standard error.
 *
 * @module
 */
import { resolve } from "node:path";
import { InputError } from "../../core/errors.ts";
import { WriteError } from "../../sinks/sink.ts";
import { redact } from "../../core/redact.ts";
import { harmlessText } from "../../core/text.ts";

const encoder = new TextEncoder();

/** Writes all of a text. */
async function writeAll(to: { write(bytes: Uint8Array): Promise<number> }, text: string) {
  for (let bytes = encoder.encode(text); bytes.length > 0;) {
    bytes = bytes.subarray(await to.write(bytes));
  }
}

/**
 * Prints a result.
 *
 * @throws WriteError where standard output takes no more.
 */
export async function print(text: string): Promise<void> {
  try {
    await writeAll(Deno.stdout, `${text}\n`);
  } catch (error) {
    throw new WriteError(`Cannot write to standard output: ${reason(error)}`, { cause: error });
  }
}

/**
 * Prints a message. Where standard error takes nothing (a full disk, a terminal that went away), there
 * is nobody to report that to, and it is no reason to stop: results go elsewhere.
 */
export function tell(text: string): void {
  try {
    writeSync(Deno.stderr, text);
  } catch (error) {
    if (!isSystemError(error)) throw error;
  }
}

/** Draws results on a terminal. A terminal that went away is no reason to stop. */
export function draw(text: string): void {
  try {
    writeSync(Deno.stdout, text);
  } catch (error) {
    const gone = error instanceof Deno.errors.BrokenPipe ||
      (error as { code?: string }).code === "EIO"; // what a terminal says whose session was lost
    if (!gone) throw error;
  }
}

function writeSync(to: { writeSync(bytes: Uint8Array): number }, text: string): void {
  for (let bytes = encoder.encode(text); bytes.length > 0;) {
    bytes = bytes.subarray(to.writeSync(bytes));
  }
}

/** Whether the system reported an error, and not this program. */
function isSystemError(error: unknown): boolean {
  return error instanceof Deno.errors.BrokenPipe ||
    typeof (error as { code?: unknown }).code === "string";
}

/** Errors of a device: nothing on the command line mends them. */
const DEVICE_ERRORS = new Set(["ENOSPC", "EDQUOT", "EIO", "EFBIG"]);

/** What it means that a file cannot be written: a failure of its device, or a wrong path. */
export function writeRefusal(path: string, error: unknown): Error {
  if (error instanceof Deno.errors.NotCapable) return error;
  const message = `Cannot write to "${path}": ${reason(error)}`;
  return DEVICE_ERRORS.has((error as { code?: string }).code ?? "")
    ? new WriteError(message, { cause: error })
    : new InputError(message);
}

/** Tells the user a line. */
export function tellLine(text: string): void {
  tell(`${text}\n`);
}

/** The longest word, and the longest line, of an error that is shown whole. */
const LONGEST = { word: 100, line: 1000 };

/**
 * Tells the user in one line what went wrong. It may hold whatever stood in a file: that is made
 * harmless, and cut where it is long. Passwords in URLs are not shown.
 */
export function tellError(message: string): void {
  const words = redact(message).replace(/\S+/g, (word) => shorten(word, LONGEST.word));
  tellLine(`blocksweep: ${harmlessText(shorten(words, LONGEST.line))}`);
}

/** A text without its middle: what stands at its ends tells most, of a path and of a sentence. */
function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = Math.floor(most / 3);
  return `${text.slice(0, most - 1 - end)}…${text.slice(-end)}`;
}

/** A variable of the environment, where it may be read. */
export function env(name: string): string | undefined {
  const { state } = Deno.permissions.querySync({ name: "env", variable: name });
  return state === "granted" ? Deno.env.get(name) : undefined;
}

/** The size of the terminal, or what it is mostly. */
export function terminalSize(): { columns: number; rows: number } {
  const usual = { columns: 80, rows: 24 };
  try {
    const size = Deno.consoleSize();
    return size.columns > 0 && size.rows > 0 ? size : usual;
  } catch {
    return usual; // a terminal that does not tell
  }
}

/** Whether the terminal knows no escape sequences, as far as the environment may be read. */
export function isDumb(): boolean {
  return env("TERM") === "dumb";
}

/** A path as the user meant it: a task runs in the project's folder, wherever it was called. */
export function userPath(path: string): string {
  const folder = env("INIT_CWD");
  return folder === undefined ? path : resolve(folder, path);
}

/** How the user called the program. */
export function programName(): string {
  return env("INIT_CWD") === undefined ? "blocksweep" : "deno task";
}

/**
 * Reads a text file, `-` for standard input.
 *
 * @throws InputError that names it.
 */
export async function readText(path: string): Promise<string> {
  if (path === "-") return await new Response(Deno.stdin.readable).text();
  try {
    // Some editors of Windows put a byte order mark in front, which JSON does not know.
    return (await Deno.readTextFile(userPath(path))).replace(/^\ufeff/, "");
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) throw error;
    throw new InputError(`Cannot read "${path}": ${reason(error)}`);
  }
}

/**
 * Writes a text file at once.
 *
 * @throws InputError, or WriteError where its device is full, that names it.
 */
export async function writeText(path: string, text: string): Promise<void> {
  try {
    await Deno.writeTextFile(userPath(path), text);
  } catch (error) {
    throw writeRefusal(path, error);
  }
}

/** What went wrong, without the call that it went wrong in. */
export function reason(error: unknown): string {
  return (error as Error).message.replace(/: (open|readfile|writefile|rename|mkdir) '.*$/, "");
}

/** A word as a shell takes it. */
export function quoteWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
