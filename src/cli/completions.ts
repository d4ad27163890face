/**
 * Completions for shells, made from the table of options.
 *
 * @module
 */
import { InputError } from "../errors.ts";
import { readArgs } from "./args.ts";
import { print } from "./console.ts";
import { COMMANDS } from "./help.ts";
import { type Command, type Option, optionsOf } from "./options.ts";

const NAMES = Object.keys(COMMANDS) as Command[];

/** Runs `completions`; returns the exit code. */
export async function runCompletions(args: readonly string[]): Promise<number> {
  const { words: [shell] } = readArgs("completions", args);
  const script = SHELLS[shell ?? ""];
  if (script === undefined) {
    throw new InputError(
      `Cannot complete for "${shell ?? ""}": known are ${Object.keys(SHELLS).join(", ")}`,
    );
  }
  await print(script());
  return 0;
}

/** How an option is typed: `--rate`, `-oD`. */
function dashed({ name }: Option): string {
  return /^o[A-Z]$/.test(name) ? `-${name}` : `--${name}`;
}

function words(command: Command): string[] {
  return optionsOf(command).flatMap((option) =>
    option.short === undefined ? [dashed(option)] : [dashed(option), `-${option.short}`]
  );
}

/** Options whose values are files. */
const FILES = ["FILE"];

function fileOptions(command: Command): string[] {
  return optionsOf(command).filter(({ value }) => FILES.includes(value ?? "")).flatMap((option) =>
    option.short === undefined ? [dashed(option)] : [dashed(option), `-${option.short}`]
  );
}

const SHELLS: Readonly<Record<string, () => string>> = {
  bash: () =>
    [
      "_blocksweep() {",
      '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" options=""',
      "  COMPREPLY=()",
      `  if [ "$COMP_CWORD" -eq 1 ]; then`,
      `    COMPREPLY=($(compgen -W "${NAMES.join(" ")} --help --version" -- "$word"))`,
      "    return",
      "  fi",
      '  case "${COMP_WORDS[1]}:$before" in',
      ...NAMES.filter((name) => fileOptions(name).length > 0).map((name) =>
        `    ${fileOptions(name).map((option) => `${name}:${option}`).join("|")}) ` +
        'COMPREPLY=($(compgen -f -- "$word")); return ;;'
      ),
      "  esac",
      '  case "${COMP_WORDS[1]}" in',
      ...NAMES.map((name) => `    ${name}) options="${words(name).join(" ")}" ;;`),
      "  esac",
      '  COMPREPLY=($(compgen -W "$options" -- "$word"))',
      "}",
      "complete -o default -F _blocksweep blocksweep",
    ].join("\n"),
  zsh: () =>
    [
      "#compdef blocksweep",
      "_blocksweep() {",
      "  if (( CURRENT == 2 )); then",
      `    _values command ${
        NAMES.map((name) => zshValue(name, COMMANDS[name].purpose)).join(" ")
      }`,
      "    return",
      "  fi",
      "  case $words[2] in",
      ...NAMES.map((name) =>
        `    ${name}) _arguments ${optionsOf(name).map(zshOption).join(" ")} '*:: :_default' ;;`
      ),
      "  esac",
      "}",
      "compdef _blocksweep blocksweep",
    ].join("\n"),
  fish: () =>
    [
      "complete -c blocksweep -f",
      ...NAMES.map((name) =>
        `complete -c blocksweep -n __fish_use_subcommand -a ${name} -d ${
          fishText(COMMANDS[name].purpose)
        }`
      ),
      ...NAMES.flatMap((name) => optionsOf(name).map((option) => fishOption(name, option))),
    ].join("\n"),
};

function zshValue(name: string, purpose: string): string {
  return `'${name}[${purpose.replace(/[[\]':]/g, "")}]'`;
}

function zshOption(option: Option): string {
  const value = option.value === undefined
    ? ""
    : `:${option.value}:${option.value === "FILE" ? "_files" : ""}`;
  return `'${option.repeat ? "*" : ""}${dashed(option)}[${
    option.help.replace(/[[\]':]/g, "")
  }]${value}'`;
}

function fishOption(command: Command, { name, short, value, help }: Option): string {
  const old = /^o[A-Z]$/.test(name);
  return [
    `complete -c blocksweep -n '__fish_seen_subcommand_from ${command}'`,
    old ? `-o ${name}` : `-l ${name}`,
    ...(short === undefined ? [] : [`-s ${short}`]),
    ...(value === undefined ? [] : [value === "FILE" ? "-rF" : "-r"]),
    `-d ${fishText(help)}`,
  ].join(" ");
}

function fishText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
