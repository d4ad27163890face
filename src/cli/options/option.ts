/**
 * What the table of options holds for each of them, and the types of the values that follow from it.
 *
 * @module
 */
import type { OptionForm } from "../../app/settings/given_options.ts";
import type { Command } from "./commands.ts";
import type { ProtocolText } from "./protocol_help.ts";
import type { ValueType } from "./value_types.ts";

/** An option of the command line, with its help. */
export interface Option extends OptionForm {
  /** Which commands have it. */
  readonly commands: readonly Command[];
  /** The one-letter name, without the dash. */
  readonly short?: string;
  /** Aliases, as other tools name the option. */
  readonly aliases?: readonly string[];
  /** What it takes. Default: nothing, it is given or not. */
  readonly takes?: ValueType<unknown>;
  /** What holds without it, as a user would write it: for all commands, or for each. */
  readonly default?: PerCommand;
  /** What holds without it, in words, where that depends on more than the command. */
  readonly defaultText?: PerCommand | ProtocolText;
  /** What it does, in one line. */
  readonly help: ProtocolText;
  /** Whether a configuration file may hold it. Default: yes. */
  readonly inConfig?: false;
}

/** A text for all commands, or one for each of some. */
export type PerCommand = string | Partial<Readonly<Record<Command, string>>>;

/** Options under one heading of the help. */
export interface OptionGroup {
  /** The heading in the help. */
  readonly title: string;
  /** The options, in the order in which help lists them. */
  readonly options: readonly Option[];
}

/** `max-runtime` as a name in code: `maxRuntime`. */
export type CamelCase<Name extends string> = Name extends `${infer Head}-${infer Rest}`
  ? `${Head}${Capitalize<CamelCase<Rest>>}`
  : Name;

/** Those of some options that a command has. */
export type OptionsOfCommand<Row extends Option, Name extends Command> = Row extends Option
  ? Name extends Row["commands"][number] ? Row : never
  : never;

/** The value of an option: that of its type, or `undefined` where it has no default and is not given. */
export type OptionValue<Row extends Option, Name extends Command> = Row extends
  { readonly takes: ValueType<infer Value> }
  ? Row extends { readonly repeat: true } ? readonly Value[]
  : Row extends { readonly default: string | { readonly [_ in Name]: string } } ? Value
  : Value | undefined
  : boolean;

/** `max-runtime` as a name in code: `maxRuntime`. */
export function camelCase(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** What an option has for a command: one thing for all, or one for each. */
export function textOf<Text extends ProtocolText>(
  text: Text | Partial<Readonly<Record<Command, Text>>> | undefined,
  command: Command,
): Text | undefined {
  return typeof text === "object" ? text[command] : text;
}

/** How an option is typed: `--rate`; of nmap's names `-oD`. */
export function dashed(name: string): string {
  return `${/^[a-z][A-Z]$/.test(name) ? "-" : "--"}${name}`;
}
