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

/** What a command takes besides options, where that is a list. */
function words(command: Command): string[] {
  return command === "completions" ? Object.keys(SHELLS) : [];
}

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

/** How an option may be typed: `--rate`, `-r`; `-oD`. */
function dashed({ name, short }: Option): string[] {
  const long = /^o[A-Z]$/.test(name) ? `-${name}` : `--${name}`;
  return short === undefined ? [long] : [long, `-${short}`];
}

/** How else it may be typed: understood, but not offered. */
function otherwise({ aliases = [] }: Option): string[] {
  return aliases.map((alias) => /^[a-z][A-Z]$/.test(alias) ? `-${alias}` : `--${alias}`);
}

/** Options whose values are files. */
function fileOptions(command: Command): string[] {
  return optionsOf(command).filter(({ value }) => value === "FILE").flatMap((option) => [
    ...dashed(option),
    ...otherwise(option),
  ]);
}

const SHELLS: Readonly<Record<string, () => string>> = {
  // For bash 3.2 too, which macOS has: no mapfile, and no compopt, which has readline quote names.
  // A name may hold spaces and asterisks: it must not be split into words as the options are.
  bash: () =>
    [
      "_blocksweep_files() {",
      '  local file quote="printf %q"',
      '  if type compopt >/dev/null 2>&1; then compopt -o filenames 2>/dev/null; quote="printf %s"; fi',
      "  while IFS= read -r file; do",
      '    COMPREPLY[${#COMPREPLY[@]}]="$($quote "$file")"',
      '  done < <(compgen -f -- "$1")',
      "}",
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
        '_blocksweep_files "$word"; return ;;'
      ),
      "  esac",
      '  case "${COMP_WORDS[1]}" in',
      ...NAMES.map((name) =>
        `    ${name}) options="${
          [...optionsOf(name).flatMap(dashed), ...words(name)].join(" ")
        }" ;;`
      ),
      "  esac",
      '  COMPREPLY=($(compgen -W "$options" -- "$word"))',
      "}",
      "complete -o default -F _blocksweep blocksweep",
    ].join("\n"),
  // A file of $fpath is the body of the function that it defines; one that is sourced is not.
  zsh: () =>
    [
      "#compdef blocksweep",
      "_blocksweep() {",
      "  if (( CURRENT == 2 )); then",
      "    local -a commands",
      `    commands=(${
        NAMES.map((name) => quoted(`${name}:${COMMANDS[name].purpose}`)).join(" ")
      })`,
      "    _describe command commands",
      "    return",
      "  fi",
      "  shift words; (( CURRENT-- ))",
      "  case $words[1] in",
      ...NAMES.map((name) => {
        const rest = words(name).length > 0 ? `1:word:(${words(name).join(" ")})` : "*: :_default";
        return `    ${name}) _arguments ${
          [...optionsOf(name).flatMap(zshOptions), rest].map(quoted).join(" ")
        } ;;`;
      }),
      "  esac",
      "}",
      'if [[ $funcstack[1] == _blocksweep ]]; then _blocksweep "$@"; else',
      "  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }",
      "  compdef _blocksweep blocksweep",
      "fi",
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
      ...NAMES.filter((name) => words(name).length > 0).map((name) =>
        `complete -c blocksweep -n '__fish_seen_subcommand_from ${name}' -a '${
          words(name).join(" ")
        }'`
      ),
    ].join("\n"),
};

/** One for each form of an option; those that are given already are not offered again. */
function zshOptions(option: Option): string[] {
  const { value, help, repeat } = option;
  const escape = (text: string) => text.replace(/[\\[\]:]/g, "\\$&");
  const action = value === "FILE" ? "_files" : "";
  const rest = `[${escape(help)}]${value === undefined ? "" : `:${escape(value)}:${action}`}`;
  const forms = [...dashed(option), ...otherwise(option)];
  const before = repeat ? "*" : forms.length > 1 ? `(${forms.join(" ")})` : "";
  return forms.map((form) => `${dashed(option).includes(form) ? "" : "!"}${before}${form}${rest}`);
}

/** A word as bash and zsh take it. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
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
