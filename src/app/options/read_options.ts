/**
 * Converts the texts of options to typed values, with defaults.
 *
 * @module
 */
import type { Protocol } from "../../protocols/protocol.ts";
import type { Command } from "./commands.ts";
import type { GivenOptions } from "./given_options.ts";
import { camelCase, type Option, textOf } from "./option.ts";
import { type OptionsOf, optionsOf } from "./option_table.ts";

/**
 * The values of a command's options.
 *
 * @throws InputError for the first text that is wrong.
 */
export function readOptions<Name extends Command>(
  command: Name,
  { given }: GivenOptions,
  allProtocols: readonly Protocol[],
): OptionsOf<Name> {
  const entries = optionsOf(command).map((option) => [
    camelCase(option.name),
    valueOf(option, command, given.get(option.name), allProtocols),
  ]);
  return { ...Object.fromEntries(entries), allProtocols };
}

function valueOf(
  option: Option,
  command: Command,
  texts: readonly string[] = [],
  allProtocols: readonly Protocol[],
): unknown {
  const { name, takes, repeat } = option;
  if (takes === undefined) return texts.length > 0;
  const values = texts.map((text) => takes.parse(text, { option: name, allProtocols }));
  if (repeat) return values;
  const usual = textOf(option.default, command);
  return values.length > 0 || usual === undefined
    ? values[0]
    : takes.parse(usual, { option: name, allProtocols });
}
