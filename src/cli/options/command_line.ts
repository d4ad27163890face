/**
 * Parses the arguments of a command into typed values, by the table of options.
 *
 * @module
 */
import {
  type Command,
  type GivenOptions,
  type OptionsOf,
  readOptions,
} from "../../app/options/mod.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { readArgs, typedNames } from "./parse_arguments.ts";

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
  const context = { allProtocols, nameOf: typedNames(command, args) };
  return { words: given.words, options: readOptions(command, given, context), given };
}
