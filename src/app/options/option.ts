/**
 * A row of the table of options, and the types of values that follow from it.
 *
 * @module
 */
import type { OptionForm } from "./given_options.ts";
import type { Command } from "./commands.ts";
import type { ProtocolText } from "./protocol_help.ts";
import type { ValueType } from "./value_types.ts";

/** An option of the command line, with its help. */
export interface Option extends OptionForm {
  readonly commands: readonly Command[];
  /** The one-letter name, without the dash. */
  readonly short?: string;
  /** Aliases, as other tools name the option. */
  readonly aliases?: readonly string[];
  /** The type of its value. Default: none, the option is a switch. */
  readonly takes?: ValueType<unknown>;
  /** The name of the option with which the command reads the file that it would write otherwise. */
  readonly readWith?: string;
  /** The default value as a user would write it: one for all commands, or one for each. */
  readonly default?: PerCommand;
  /** Description of the default, if it depends on more than the command. */
  readonly defaultText?: PerCommand | ProtocolText;
  /** What the option does, in one line. */
  readonly help: ProtocolText;
  /** Whether a configuration file may contain the option. Default: yes. */
  readonly inConfig?: false;
  /**
   * Whether functions of the library have the option. Default: yes. Those without it are for
   * terminals, or have another form in a program.
   */
  readonly forPrograms?: false;
}

/** A text for all commands, or texts for some of the commands. */
export type PerCommand = string | Partial<Readonly<Record<Command, string>>>;

/** Options under one heading of the help. */
export interface OptionGroup {
  /** The heading in the help. */
  readonly title: string;
  /** The options, in the order in which help lists them. */
  readonly options: readonly Option[];
}

/** The name of an option in code: `max-runtime` is `maxRuntime`. */
export type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Rest}`
  ? `${Head}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** Selects the options of a command from a union of options. */
export type OptionsOfCommand<Row extends Option, Name extends Command> = Row extends Option
  ? Name extends Row["commands"][number] ? Row : never
  : never;

/** The value of an option; `undefined` if it has no default and was not given. */
export type OptionValue<Row extends Option, Name extends Command> = Row extends
  { readonly takes: ValueType<infer Value> }
  ? Row extends { readonly repeat: true } ? readonly Value[]
  : Row extends { readonly default: string | { readonly [_ in Name]: string } } ? Value
  : Value | undefined
  : boolean;

/**
 * The name of an option in a program: the name in code, and the unit of a time, as in
 * `maxRuntimeMs`.
 */
export type ProgramName<Row extends Option> = Row extends
  { readonly takes: { readonly unit: infer Unit extends string } }
  ? `${CamelCase<Row["name"]>}${Unit}`
  : CamelCase<Row["name"]>;

/** The name of an option in code: `max-runtime` is `maxRuntime`. */
export function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The name of an option in a program. */
export function propertyName({ name, takes }: Pick<Option, "name" | "takes">): string {
  return `${camelCase(name)}${takes?.unit ?? ""}`;
}

export function textOf<Text extends ProtocolText>(
  text: Text | Partial<Readonly<Record<Command, Text>>> | undefined,
  command: Command,
): Text | undefined {
  return typeof text === "object" ? text[command] : text;
}

/** An option with its dashes: `--rate`, or `-oD` for names of nmap's style. */
export function dashed(name: string): string {
  return `${/^[a-z][A-Z]$/.test(name) ? "-" : "--"}${name}`;
}
