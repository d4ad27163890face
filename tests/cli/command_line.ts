/** Reads arguments of the command line with the protocols of the program. */
import type { Command } from "../../src/app/options/commands.ts";
import type { GivenOptions } from "../../src/app/options/given_options.ts";
import type { OptionsOf } from "../../src/app/options/option_table.ts";
import { readOptions as readGiven } from "../../src/app/options/read_options.ts";
import {
  type CommandLine,
  readCommandLine as readCall,
} from "../../src/cli/options/command_line.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

/** Reads the arguments of a command. */
export function readCommandLine<Name extends Command>(
  command: Name,
  args: readonly string[],
): CommandLine<Name> {
  return readCall(command, { args, allProtocols: PROTOCOLS });
}

/** The values of a command's options. */
export function readOptions<Name extends Command>(
  command: Name,
  given: GivenOptions,
): OptionsOf<Name> {
  return readGiven(command, given, { allProtocols: PROTOCOLS });
}
