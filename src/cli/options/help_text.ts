/**
 * Help texts, made from the table of options.
 *
 * @module
 */
import { EXIT_CODES } from "../../app/mod.ts";
import {
  type Command,
  COMMANDS,
  dashed,
  FIRST_WORDS,
  GROUPED_COMMANDS,
  type Option,
  OPTION_GROUPS,
  type OptionGroup,
  optionsOf,
  protocolLines,
  textFor,
  textOf,
} from "../../app/options/mod.ts";
import type { Protocol } from "../../protocols/protocol.ts";

/** The help without a command: all commands, and where to read on. */
export function overview(allProtocols: readonly Protocol[]): string {
  const commands = [...FIRST_WORDS].map(([word, purpose]) => `  ${word.padEnd(13)}${purpose}`);
  return [
    "blocksweep finds game servers in address ranges, and reads their status.",
    "",
    "Usage: blocksweep COMMAND [options]",
    "",
    "Commands:",
    ...commands,
    "",
    "Protocols:",
    ...protocolLines(allProtocols),
    "",
    "Try:",
    "  blocksweep demo                    a scan of simulated servers, checked row by row",
    "  blocksweep scan 192.168.1.0/24     servers in a range",
    "  blocksweep COMMAND --help          all options of a command",
    "",
    `Exit codes: ${EXIT_CODES.map(({ code, meaning }) => `${code} ${meaning}`).join(", ")}.`,
    "Scan only networks that you are responsible for, or whose owners agreed.",
  ].join("\n");
}

/** The help on a group of commands. */
export function groupOverview(group: string): string {
  const commands = [...GROUPED_COMMANDS.get(group) ?? []]
    .map(([word, name]) => `  ${word.padEnd(13)}${COMMANDS[name].purpose}`);
  return [
    `blocksweep ${group}: ${FIRST_WORDS.get(group)}`,
    "",
    `Usage: blocksweep ${group} COMMAND [options]`,
    "",
    "Commands:",
    ...commands,
    "",
    "Try:",
    `  blocksweep ${group} COMMAND --help    all options of a command`,
  ].join("\n");
}

export function commandHelp(
  command: Command,
  allProtocols: readonly Protocol[],
): string {
  const { usage, purpose, note, examples } = COMMANDS[command];
  return [
    `blocksweep ${command}: ${purpose}`,
    "",
    `Usage: blocksweep ${usage}`,
    ...groupsOf(command).flatMap(({ title, options }) => [
      "",
      `${title}:`,
      ...options.map((option) => optionLine(option, command, allProtocols)),
    ]),
    ...(note === undefined ? [] : ["", textFor(note, allProtocols)]),
    "",
    "Examples:",
    ...examples.flatMap((one) => typeof one === "string" ? one : one(allProtocols))
      .map((example) => `  blocksweep ${example}`),
  ].join("\n");
}

/** The options of a command, by heading. The options that most people need come first. */
export function groupsOf(command: Command): readonly OptionGroup[] {
  const mostUsed = (COMMANDS[command].mostUsed ?? []).map((name) =>
    optionsOf(command).find((option) => option.name === name)!
  );
  const others = OPTION_GROUPS.map(({ title, options }) => ({
    title,
    options: options.filter((option) =>
      option.commands.includes(command) && !mostUsed.includes(option)
    ),
  }));
  return [{ title: "Most used", options: mostUsed }, ...others]
    .filter(({ options }) => options.length > 0);
}

/** The default of an option for a command, as help shows it. */
export function defaultOf(
  option: Option,
  command: Command,
  allProtocols: readonly Protocol[],
): string | undefined {
  const text = textOf(option.default, command) ?? textOf(option.defaultText, command);
  return text === undefined ? undefined : textFor(text, allProtocols);
}

/** The usage of an option: `-p, --ports PORTS`. */
export function usageOf({ name, short, takes }: Option): string {
  const letter = short === undefined ? "" : `-${short}, `;
  return `${letter}${dashed(name)}${takes === undefined ? "" : ` ${takes.placeholder}`}`;
}

/** Maximum number of columns of a line about an option. */
const LINE_WIDTH = 100;
/** Columns of an option's name, before its meaning. */
const NAME_WIDTH = 29;

/** The option with its meaning and its default, wrapped between words. The default is not wrapped. */
function optionLine(
  option: Option,
  command: Command,
  allProtocols: readonly Protocol[],
): string {
  const indent = " ".repeat(option.short === undefined ? 6 : 2);
  const usage = `${indent}${usageOf(option)}`.padEnd(NAME_WIDTH);
  const usual = defaultOf(option, command, allProtocols);
  const help = textFor(option.help, allProtocols);
  const words = usual === undefined
    ? help.split(" ")
    : [...`${help};`.split(" "), `default: ${usual}`];
  const lines = [usage];
  for (const word of words) {
    const longer = `${lines.at(-1)} ${word}`;
    if (longer.length <= LINE_WIDTH) lines[lines.length - 1] = longer;
    else lines.push(`${" ".repeat(NAME_WIDTH)} ${word}`);
  }
  return lines.join("\n");
}
