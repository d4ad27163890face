/**
 * Options of programs as the texts that a user of the command line would write. Both are then read in
 * the same way, with the same defaults and checks.
 *
 * @module
 */
import type { Command } from "../app/options/commands.ts";
import { PATH_IN_VALUE } from "../app/outputs/path_conflicts.ts";
import type { GivenOptions } from "../app/options/given_options.ts";
import { type Option, programName } from "../app/options/option.ts";
import { optionsOf } from "../app/options/option_table.ts";
import { InputError } from "../core/errors.ts";
import { redactUrl } from "../core/redact.ts";
import { resolvePath } from "../core/node_modules.ts";
import { parseDatabaseLocation } from "../store/database_location.ts";

/**
 * The words and options of a command.
 *
 * @throws InputError for a value of a wrong type.
 */
export function givenOptions(
  command: Command,
  words: readonly string[],
  options: object,
): GivenOptions {
  const given = new Map<string, readonly string[]>();
  const values: Readonly<Record<string, unknown>> = { ...options };
  for (const option of optionsOf(command)) {
    if (option.forPrograms === false) continue;
    const value = values[programName(option)];
    const texts = value === undefined ? [] : textsOf(option, value);
    if (texts.length === 0) continue;
    given.set(option.name, texts.map((text) => withAbsolutePath(option, text)));
  }
  return { words, given };
}

/** The name of a command's option in a program. */
export function programNameOf(command: Command): (option: string) => string {
  return (option) => programName(optionsOf(command).find(({ name }) => name === option)!);
}

function textsOf(option: Option, value: unknown): readonly string[] {
  const { takes, repeat } = option;
  const wrong = (wanted: string) => {
    const shown = redactUrl(String(value));
    return new InputError(`Cannot use ${programName(option)} ${shown}: expected ${wanted}`);
  };
  if (takes === undefined) {
    if (typeof value !== "boolean") throw wrong("true or false");
    return value ? ["true"] : [];
  }
  if (repeat) {
    if (!Array.isArray(value)) throw wrong("a list");
    return value.map(String);
  }
  const textOf = takes.textOf as ((value: unknown) => string) | undefined;
  const isText = typeof value === "string" || typeof value === "number" || Array.isArray(value);
  if (!isText && textOf === undefined) throw wrong("a text or a number");
  if (takes.unit !== undefined && typeof value !== "number") throw wrong("a number");
  return [textOf === undefined ? String(value) : textOf(value)];
}

/** The text of an option, in which a path is absolute. */
function withAbsolutePath({ takes }: Option, text: string): string {
  if (takes?.isPath) return absolutePath(text);
  if (!takes?.mayHavePath) return text;
  return text.replace(PATH_IN_VALUE, absolutePath);
}

/**
 * An absolute path: paths of a program are relative to its current folder, not to that of a task. `-`
 * and the URLs of databases stay as they are.
 */
export function absolutePath(path: string): string {
  if (path === "-" || parseDatabaseLocation(path)?.postgres !== undefined) return path;
  return path.startsWith("sqlite:")
    ? `sqlite:${absolutePath(path.slice("sqlite:".length))}`
    : resolvePath(path);
}
