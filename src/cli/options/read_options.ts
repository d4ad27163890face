/**
 * Parses the arguments of a command into typed values, by the table of options.
 *
 * @module
 */
import type { GivenOptions } from "../../app/settings/given_options.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { Command } from "./commands.ts";
import { camelCase, type Option, textOf } from "./option.ts";
import { type OptionsOf, optionsOf } from "./option_table.ts";
import { readArgs } from "./parse_arguments.ts";

/** How a command was called. */
export interface CommandCall {
  /** The arguments after the name of the command. */
  readonly args: readonly string[];
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
}

/** The arguments of a command. */
export interface CommandLine<Name extends Command> {
  /** Words that belong to no option. */
  readonly words: readonly string[];
  /** The values of all options of the command, defaults included. */
  readonly options: OptionsOf<Name>;
  /** The options as the user wrote them. */
  readonly given: GivenOptions;
}

/**
 * Reads the arguments of a command.
 *
 * @throws InputError for the first wrong argument.
 */
export function readCommandLine<Name extends Command>(
  command: Name,
  { args, allProtocols }: CommandCall,
): CommandLine<Name> {
  const given = readArgs(command, args);
  return { words: given.words, options: readOptions(command, given, allProtocols), given };
}

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
