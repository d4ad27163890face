/**
 * Options from a JSON file, and back: `--config` and `--echo-config`.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { closestName } from "../../core/closest_name.ts";
import type { GivenOptions } from "./given_options.ts";
import type { Command } from "./commands.ts";
import type { Option } from "./option.ts";
import { optionsOf } from "./option_table.ts";

/**
 * Reads a file of options: `{ "targets": ["10.0.0.0/24"], "rate": "10k", "append": true }`. The
 * keys are the long names of options. Values are texts or numbers, or lists of them for options
 * that may be repeated. The value of a switch is `true`.
 *
 * @param source The name of the file, for errors.
 */
export function parseConfig(command: Command, text: string, source: string): GivenOptions {
  const fail = (what: string) => new InputError(`Cannot use ${source}: ${what}`);
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch (error) {
    // V8's message quotes a part of the text, which may contain a password.
    throw fail((error as Error).message.replace(/, (?:"|\.\.\.).* is not valid JSON$/s, ""));
  }
  if (typeof config !== "object" || config === null || Array.isArray(config)) {
    throw fail("it must contain one JSON object");
  }
  const options = optionsOf(command).filter(({ inConfig }) => inConfig !== false);
  const given = new Map<string, readonly string[]>();
  let words: readonly string[] = [];
  for (const [name, value] of Object.entries(config)) {
    if (name === "targets") {
      words = texts(value) ?? [];
      if (words.length === 0) throw fail('"targets" must be a text or a list of texts');
      continue;
    }
    const option = options.find((other) => other.name === name);
    if (option === undefined) throw fail(unknown(name, options));
    const values = valuesOf(option, value);
    if (values === undefined) throw fail(`"${name}" must be ${wanted(option)}`);
    if (values.length > 0) given.set(name, values);
  }
  return { words, given };
}

function unknown(name: string, options: readonly Option[]): string {
  const meant = closestName(name, ["targets", ...options.map((option) => option.name)]);
  return `there is no option "${name}"${meant === undefined ? "" : `; did you mean "${meant}"?`}`;
}

function valuesOf({ takes, repeat }: Option, given: unknown): readonly string[] | undefined {
  if (takes === undefined) {
    return given === true ? ["true"] : given === false ? [] : undefined;
  }
  const list = texts(given);
  return list !== undefined && (repeat || list.length === 1) ? list : undefined;
}

function texts(value: unknown): readonly string[] | undefined {
  const list = Array.isArray(value) ? value : [value];
  const valid = list.every((one) =>
    typeof one === "string" && one !== "" || typeof one === "number"
  );
  return valid ? list.map(String) : undefined;
}

function wanted({ takes, repeat }: Option): string {
  if (takes === undefined) return "true or false";
  const { placeholder } = takes;
  return repeat
    ? `a text or a list of texts (${placeholder})`
    : `a text or a number (${placeholder})`;
}

/** Merges the options of a file with those of the command line, which take precedence. */
export function mergeOptions(file: GivenOptions, line: GivenOptions): GivenOptions {
  return {
    words: line.words.length > 0 ? line.words : file.words,
    given: new Map([...file.given, ...line.given]),
  };
}

/** Formats options as a file for {@linkcode parseConfig}. */
export function formatConfig(command: Command, { words, given }: GivenOptions): string {
  const config: Record<string, unknown> = words.length === 0 ? {} : { targets: words };
  for (const { name, takes, repeat, inConfig } of optionsOf(command)) {
    const values = given.get(name);
    if (values === undefined || inConfig === false) continue;
    config[name] = takes === undefined ? true : repeat ? values : values[0];
  }
  return JSON.stringify(config, null, 2);
}
