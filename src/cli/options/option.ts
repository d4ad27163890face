/**
 * What an option of the command line is, and how the table of options writes it.
 *
 * @module
 */
import type { OptionForm } from "../../app/settings/option_values.ts";
import type { ProtocolText } from "./protocol_help.ts";

/** A command. */
export type Command = typeof ALL[number];

/** An option. */
export interface Option extends OptionForm {
  /** What it does, in one line. */
  readonly help: ProtocolText;
  /** What holds without it: for all commands, or for each. */
  readonly usual?: string | Partial<Readonly<Record<Command, string>>>;
  /** Under which heading help lists it. */
  readonly group: string;
  /** Which commands have it. */
  readonly commands: readonly Command[];
  /** Its one-letter name. */
  readonly short?: string;
  /** Other names that users of other tools know. */
  readonly aliases?: readonly string[];
}

/** Name and value, help, and what is not as in the rest of the group. */
export type OptionRow = readonly [usage: string, help: ProtocolText, rest?: Partial<Option>];

/** The options of a heading; `commands` holds where a row does not say otherwise. */
export function group(
  name: string,
  commands: readonly Command[],
  rows: readonly OptionRow[],
): Option[] {
  return rows.map(([usage, help, rest]) => {
    const [option, value] = usage.split(" ");
    return { name: option, value, help, group: name, commands, ...rest };
  });
}

/** Every command. */
export const ALL = [
  ...["scan", "query", "lan", "watch", "list", "history", "export", "import"] as const,
  "thin" as const,
  ...["fleet", "demo", "schema", "completions"] as const,
];
