/**
 * The formats of messages on standard error: text for people, or one JSON object per line for
 * programs that collect logs (`--log-format`).
 *
 * @module
 */
import { jsonText } from "../../sinks/json.ts";

/** How important a message is. */
export type LogLevel = "info" | "warning" | "error";

/** What the JSON object of a message has besides its text. */
export interface MessageDetails {
  /** Default: {@linkcode levelOf} its text. */
  readonly level?: LogLevel;
  /** Figures of the message, by the names of their keys. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/** Makes a line of a message. */
export type MessageFormat = (text: string, details?: MessageDetails) => string;

/**
 * Whether the arguments of a command name the format JSON. The arguments themselves may be refused, and
 * the message about that has this format too.
 */
export function wantsJson(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  const words = end < 0 ? args : args.slice(0, end);
  return words.some((word, i) =>
    word === "--log-format=json" || word === "json" && words[i - 1] === "--log-format"
  );
}

/** The word before errors and warnings. */
const PREFIX = "blocksweep: ";

/** The level of a message, which its first words show: see "Standard error" in docs/architecture.md. */
function levelOf(text: string): LogLevel {
  if (!text.startsWith(PREFIX)) return "info";
  return text.startsWith("Cannot ", PREFIX.length) ? "error" : "warning";
}

/**
 * A message as a JSON object on one line.
 *
 * @param at Unix milliseconds.
 */
export function messageJson(
  text: string,
  at: number,
  { level = levelOf(text), fields }: MessageDetails = {},
): string {
  const message = (text.startsWith(PREFIX) ? text.slice(PREFIX.length) : text).trim();
  return jsonText({ time: new Date(at).toISOString(), level, message, ...fields });
}
