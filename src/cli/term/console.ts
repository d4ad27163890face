/**
 * The streams of the command line: results go to standard output, everything else to standard error.
 *
 * @module
 */
import { env, reason } from "../../app/mod.ts";
import { WriteError } from "../../sinks/sink.ts";
import { redact } from "../../core/redact.ts";
import { harmlessText } from "../../core/text.ts";
import type { MessageDetails, MessageFormat } from "./log_format.ts";

const encoder = new TextEncoder();

/** Lines at the bottom of the terminal, below everything that is printed. */
export interface BottomLines {
  /** Erases the lines: text can be printed in their place. */
  erase(): void;
  /** Draws the erased lines below the printed text. */
  restore(): void;
}

/** The lines at the bottom of the terminal now. */
let bottom: BottomLines | undefined;

/** Keeps lines below everything that is printed, until the result is disposed. */
export function keepAtBottom(lines: BottomLines): Disposable {
  bottom = lines;
  return {
    [Symbol.dispose]: () => {
      if (bottom === lines) bottom = undefined;
    },
  };
}

/** The format of messages as JSON; `undefined`: they are text. */
let messageFormat: MessageFormat | undefined;

/** Whether messages are JSON: then nothing is redrawn in place. */
export function logsJson(): boolean {
  return messageFormat !== undefined;
}

/** Sets the format of all following messages; `undefined`: text. */
export function formatMessages(format: MessageFormat | undefined): void {
  messageFormat = format;
}

/** The lines that have to be erased before text is written to a stream. */
function linesBelow(to: { isTerminal(): boolean }): BottomLines | undefined {
  return bottom !== undefined && to.isTerminal() ? bottom : undefined;
}

async function writeAll(to: { write(bytes: Uint8Array): Promise<number> }, text: string) {
  for (let bytes = encoder.encode(text); bytes.length > 0;) {
    bytes = bytes.subarray(await to.write(bytes));
  }
}

/**
 * Prints a result as it is: JSON, or text that the program has formatted.
 *
 * @throws WriteError when standard output cannot be written.
 */
export async function print(text: string): Promise<void> {
  const below = linesBelow(Deno.stdout);
  below?.erase();
  try {
    await writeAll(Deno.stdout, `${text}\n`);
  } catch (error) {
    throw new WriteError(`Cannot write to standard output: ${reason(error)}`, { cause: error });
  }
  below?.restore();
}

/**
 * Prints the lines of a result. They may quote files, databases and what other programs have sent: each
 * is escaped.
 *
 * @throws WriteError when standard output cannot be written.
 */
export async function printLines(lines: readonly string[]): Promise<void> {
  await print(lines.map(harmlessText).join("\n"));
}

const LINE_FEED = 10;

/** Writes bytes of rows to standard output; returns the number of written bytes. */
export async function writeRows(bytes: Uint8Array): Promise<number> {
  const below = linesBelow(Deno.stdout);
  below?.erase();
  const written = await Deno.stdout.write(bytes);
  if (bytes[written - 1] === LINE_FEED) below?.restore();
  return written;
}

/**
 * Prints a message to standard error as it is: only for texts of several lines that quote nothing from
 * outside the program. If that fails (a full disk, a closed terminal), the failure is ignored, because
 * results go elsewhere.
 *
 * @param details What the message has besides its text as JSON.
 */
export function reportRaw(text: string, details?: MessageDetails): void {
  if (messageFormat !== undefined) {
    if (text.trim() !== "") writeMessage(`${messageFormat(text, details)}\n`);
    return;
  }
  const below = linesBelow(Deno.stderr);
  below?.erase();
  writeMessage(text);
  below?.restore();
}

/** Writes to standard error, as {@linkcode reportRaw}, also while lines are at the bottom. */
export function writeMessage(text: string): void {
  try {
    writeSync(Deno.stderr, text);
  } catch (error) {
    if (!isSystemError(error)) throw error;
  }
}

/** Draws on the terminal at standard output. A closed terminal is ignored. */
export function draw(text: string): void {
  try {
    writeSync(Deno.stdout, text);
  } catch (error) {
    const gone = error instanceof Deno.errors.BrokenPipe ||
      (error as { code?: string }).code === "EIO"; // the error of a terminal whose session has ended
    if (!gone) throw error;
  }
}

function writeSync(to: { writeSync(bytes: Uint8Array): number }, text: string): void {
  for (let bytes = encoder.encode(text); bytes.length > 0;) {
    bytes = bytes.subarray(to.writeSync(bytes));
  }
}

/** Whether an error comes from the system, and not from this program. */
function isSystemError(error: unknown): boolean {
  return error instanceof Deno.errors.BrokenPipe ||
    typeof (error as { code?: unknown }).code === "string";
}

/**
 * Prints a line for the user. It may quote files, databases and what other programs have sent: its text
 * is escaped.
 */
export function reportLine(text: string): void {
  reportRaw(`${harmlessText(text)}\n`);
}

/** Prints a line for the user, as {@linkcode reportLine}. As JSON it has figures too. */
export function reportFigures(text: string, fields: Readonly<Record<string, unknown>>): void {
  reportRaw(`${harmlessText(text)}\n`, { fields });
}

/** Maximum length of a word, and of a line, of an error; longer ones are shortened. */
const LONGEST = { word: 100, line: 1000 };

/**
 * Prints an error in one line. The message may quote any file: its text is escaped, and truncated
 * if it is long. Passwords in URLs are not shown.
 *
 * @param details What the message has besides its text as JSON.
 */
export function reportError(message: string, details?: MessageDetails): void {
  const words = redact(message).replace(/\S+/g, (word) => shorten(word, LONGEST.word));
  reportRaw(`blocksweep: ${harmlessText(shorten(words, LONGEST.line))}\n`, details);
}

/** A text without its middle: the ends of a path or a sentence are the most useful parts. */
function shorten(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = Math.floor(most / 3);
  return `${text.slice(0, most - 1 - end)}…${text.slice(-end)}`;
}

export interface TerminalSize {
  /** Width, columns. */
  readonly columns: number;
  /** Height, rows. */
  readonly rows: number;
}

/** The size of the terminal, or the usual size if it is unknown. */
export function terminalSize(): TerminalSize {
  const usual = { columns: 80, rows: 24 };
  try {
    const size = Deno.consoleSize();
    return size.columns > 0 && size.rows > 0 ? size : usual;
  } catch {
    return usual; // the terminal does not report its size
  }
}

/** Width of the terminal at standard output, columns; `undefined`: it is not a terminal. */
export function outputColumns(): number | undefined {
  return Deno.stdout.isTerminal() ? terminalSize().columns : undefined;
}

/** Whether the terminal has no escape sequences, as far as the environment may be read. */
export function isDumb(): boolean {
  return env("TERM") === "dumb";
}

/** The command by which the user called the program. */
export function programName(): string {
  return env("INIT_CWD") === undefined ? "blocksweep" : "deno task";
}
