/**
 * Every option of the command line: parsing, help, completions, the configuration file, resuming and
 * the reference all read this table.
 *
 * @module
 */
import type { Protocol } from "../../protocols/protocol.ts";
import type { Command } from "./commands.ts";
import { CAMPAIGN } from "./groups/campaign.ts";
import { CONTROL, GENERAL, WATCH } from "./groups/control.ts";
import { DASHBOARD } from "./groups/dashboard.ts";
import { FLEET } from "./groups/fleet.ts";
import { OUTPUT } from "./groups/output.ts";
import { SELECTION } from "./groups/selection.ts";
import { SPEED } from "./groups/speed.ts";
import { ADAPTIVE, OPT_OUTS, ORDER, TARGETS } from "./groups/targets.ts";
import type {
  CamelCase,
  Option,
  OptionGroup,
  OptionsOfCommand,
  OptionValue,
  ProgramName,
} from "./option.ts";

const TABLE = [
  TARGETS,
  ORDER,
  ADAPTIVE,
  SPEED,
  SELECTION,
  OUTPUT,
  CONTROL,
  WATCH,
  CAMPAIGN,
  OPT_OUTS,
  DASHBOARD,
  FLEET,
  GENERAL,
] as const;

type TableRow = typeof TABLE[number]["options"][number];

/** The values of a command's options, by their names in code, and the protocols of the program. */
export type OptionsOf<Name extends Command> =
  & {
    readonly [Row in OptionsOfCommand<TableRow, Name> as CamelCase<Row["name"]>]: OptionValue<
      Row,
      Name
    >;
  }
  & {
    /** Every protocol of the program, in order of rank. */
    readonly allProtocols: readonly Protocol[];
  };

/** The names of a command's options in a program. */
export type ProgramNamesOf<Name extends Command> = {
  [Row in OptionsOfCommand<TableRow, Name> as Row["name"]]: Row extends { forPrograms: false }
    ? never
    : ProgramName<Row>;
}[OptionsOfCommand<TableRow, Name>["name"]];

/** The options by heading, in the order in which help lists them. */
export const OPTION_GROUPS: readonly OptionGroup[] = TABLE;

/** The options of all commands, in the order of the help. */
export const OPTIONS: readonly Option[] = OPTION_GROUPS.flatMap(({ options }) => options);

/** The options of the commands that were requested. */
const byCommand = new Map<Command, readonly Option[]>();

/** The options of a command. */
export function optionsOf(command: Command): readonly Option[] {
  const found = byCommand.get(command) ??
    OPTIONS.filter(({ commands }) => commands.includes(command));
  byCommand.set(command, found);
  return found;
}
