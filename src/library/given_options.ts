/**
 * Options of programs as the texts that a user of the command line would write. Both are then read in
 * the same way, with the same defaults and checks.
 *
 * @module
 */
import {
  camelCase,
  type Command,
  type GivenOptions,
  type Option,
  optionsOf,
  PATH_IN_VALUE,
  propertyName,
} from "../app/options/mod.ts";
import { closestName } from "../core/closest_name.ts";
import { InputError } from "../core/errors.ts";
import { redactUrl } from "../core/redact.ts";
import { resolvePath } from "../core/node_modules.ts";
import { parseDatabaseLocation } from "../store/database_location.ts";

/** The options that every function has besides those of its command, and what each has to be. */
const COMMON: Readonly<Record<string, readonly [is: (value: unknown) => boolean, text: string]>> = {
  onNote: [(value) => typeof value === "function", "a function"],
  signal: [(value) => value instanceof AbortSignal, "an AbortSignal"],
  network: [(value) => isObject(value) && "clock" in value, "a network"],
};

/**
 * The words and options of a command.
 *
 * @param further Names of options that only the function has.
 * @throws InputError for an option that the function does not have, and for a value of a wrong type.
 */
export function givenOptions(
  command: Command,
  words: readonly string[],
  options: object,
  further: readonly string[] = [],
): GivenOptions {
  if (!isObject(options)) throw wrongType(`the options of ${command}()`, options, "an object");
  const rows = rowsOf(command);
  const values: Readonly<Record<string, unknown>> = { ...options };
  for (const name in values) {
    if (rows.has(name) || Object.hasOwn(COMMON, name) || further.includes(name)) continue;
    throw unknownOption(command, name, [...rows.keys(), ...further, ...Object.keys(COMMON)]);
  }
  for (const name in COMMON) {
    const [is, wanted] = COMMON[name];
    const value = values[name];
    if (value !== undefined && !is(value)) throw wrongType(name, value, wanted);
  }
  const given = new Map<string, readonly string[]>();
  for (const [name, option] of rows) {
    const value = values[name];
    if (value === undefined) continue;
    const texts = textsOf(option, value);
    if (texts.includes("")) throw new InputError(`Cannot use ${name}: it is empty`);
    if (texts.length === 0) continue;
    given.set(option.name, texts.map((text) => withAbsolutePath(option, text)));
  }
  return { words, given };
}

/** The options of the functions that were called, by their names in a program. */
const byCommand = new Map<Command, ReadonlyMap<string, Option>>();

/** The options of a command that programs have, by their names. */
function rowsOf(command: Command): ReadonlyMap<string, Option> {
  const kept = byCommand.get(command);
  if (kept !== undefined) return kept;
  const rows = optionsOf(command).filter(({ forPrograms = true }) => forPrograms);
  const named = new Map(rows.map((option) => [propertyName(option), option]));
  byCommand.set(command, named);
  return named;
}

/** The error of an option that a function does not have, with the name that was probably meant. */
function unknownOption(command: Command, name: string, names: readonly string[]): InputError {
  const word = camelCase(name);
  const meant = closestName(word, names) ?? names.find((one) => one === `${word}Ms`);
  const hint = meant === undefined ? "see docs/library.md" : `did you mean ${meant}?`;
  return new InputError(`Unknown option ${name} of ${command}(); ${hint}`);
}

/**
 * A list of texts from a program.
 *
 * @throws InputError for another value.
 */
export function textList(name: string, value: unknown): readonly string[] {
  const isList = Array.isArray(value) && value.every((item) => typeof item === "string");
  if (!isList) throw wrongType(name, value, "a list of texts");
  return value;
}

/** The error of a value that has not the wanted type. */
export function wrongType(name: string, value: unknown, wanted: string): InputError {
  const shown = Array.isArray(value) ? `[${value.map(String).join(", ")}]` : String(value);
  return new InputError(`Cannot use ${name} ${redactUrl(shown)}: expected ${wanted}`);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The name of a command's option in a program. */
export function programNameOf(command: Command): (option: string) => string {
  return (option) => propertyName(optionsOf(command).find(({ name }) => name === option)!);
}

function textsOf(option: Option, value: unknown): readonly string[] {
  const { takes, repeat } = option;
  const name = propertyName(option);
  if (takes === undefined) {
    if (typeof value !== "boolean") throw wrongType(name, value, "true or false");
    return value ? ["true"] : [];
  }
  if (repeat) return textList(name, value);
  if (takes.completions?.kind === "some") return [textList(name, value).join(",")];
  if (takes.unit !== undefined && typeof value !== "number") {
    throw wrongType(name, value, "a number");
  }
  if (typeof value === "string") return [value];
  const textOf = takes.textOf as ((value: unknown) => string) | undefined;
  if (typeof value !== "number" && (textOf === undefined || !isObject(value))) {
    throw wrongType(name, value, "a text or a number");
  }
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
