/**
 * Completions for shells, made from the table of options.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import {
  type Command,
  COMMAND_NAMES as NAMES,
  COMMANDS,
  dashed,
  FIRST_WORDS,
  GROUPED_COMMANDS,
  type Option,
  OPTIONS,
  optionsOf,
  SHELL_NAMES,
  textFor,
} from "../../app/options/mod.ts";
import { EXIT } from "../../app/mod.ts";
import { type CommandCall, readCommandLine } from "../options/command_line.ts";
import { print } from "../term/console.ts";

/** Runs `completions`; returns the exit code. */
export async function runCompletions(call: CommandCall): Promise<number> {
  const { words: [word], options: { allProtocols } } = readCommandLine("completions", call);
  const shell = SHELL_NAMES.find((name) => name === word);
  if (shell === undefined) {
    const known = SHELL_NAMES.join(", ");
    throw new InputError(
      word === undefined
        ? `Cannot print completions: name a shell, one of ${known}`
        : `Cannot print completions for "${word}": expected one of ${known}`,
    );
  }
  const choices = await Promise.all(
    OPTIONS.map(async (one) => [one, await choiceFor(one, allProtocols)] as const),
  );
  await print(SHELLS[shell]({ allProtocols, choices: new Map(choices) }));
  return EXIT.done;
}

/** The forms of an option that are offered: `--rate`, `-r`; `-oD`. */
function offered({ name, short }: Option): string[] {
  return short === undefined ? [dashed(name)] : [dashed(name), `-${short}`];
}

/** Aliases of an option, which are accepted but not offered. */
function otherwise({ aliases = [] }: Option): string[] {
  return aliases.map(dashed);
}

/** What a shell completes for a value. */
type Choice =
  | { readonly kind: "one" | "some"; readonly words: readonly string[] }
  | { readonly kind: "file" | "other" };

/** The commands and options from which completions are made. */
interface CompletionSource {
  readonly allProtocols: readonly Protocol[];
  /** Completions for each option that takes a value. */
  readonly choices: ReadonlyMap<Option, Choice>;
}

async function choiceFor(
  { takes }: Option,
  allProtocols: readonly Protocol[],
): Promise<Choice> {
  const { completions } = takes ?? {};
  if (completions?.kind !== "some") return completions ?? { kind: "other" };
  const { words } = completions;
  return { kind: "some", words: typeof words === "function" ? await words(allProtocols) : words };
}

/** Completions of a command's arguments besides options. */
function wordsOf(command: Command): Choice {
  const { completions } = COMMANDS[command].words ?? {};
  if (completions === undefined) return { kind: "other" };
  return completions === "files" ? { kind: "file" } : { kind: "one", words: completions };
}

/** A shell pattern that matches the options of a command with the same completion. */
function pattern(command: Command, options: readonly Option[]): string {
  return options.flatMap((option) => [...offered(option), ...otherwise(option)])
    .map((name) => `${wordOf(command)}:${name}`).join("|");
}

/** The name of a command as one word of a script: `campaign-submit`. */
function wordOf(command: Command): string {
  return command.replace(" ", "-");
}

/** The bash code that completes a value. */
function bashAction(choice: Choice): string {
  switch (choice.kind) {
    case "file":
      return '_blocksweep_files "$word"';
    case "some":
      return `_blocksweep_some "$word" ${choice.words.join(" ")}`;
    case "one":
      return `COMPREPLY=($(compgen -W "${choice.words.join(" ")}" -- "$word"))`;
    case "other":
      return ":";
  }
}

/** The bash `case` branches for options with values; options with equal completions share a branch. */
function bashCases(command: Command, source: CompletionSource): string[] {
  const byAction = new Map<string, Option[]>();
  for (const option of optionsOf(command)) {
    if (option.takes === undefined) continue;
    const action = bashAction(source.choices.get(option)!);
    byAction.set(action, [...byAction.get(action) ?? [], option]);
  }
  return [...byAction].map(([action, options]) =>
    `    ${pattern(command, options)}) ${action}; return ;;`
  );
}

const SHELLS: Readonly<
  Record<typeof SHELL_NAMES[number], (source: CompletionSource) => string>
> = {
  // The code also runs in bash 3.2 of macOS, which lacks `mapfile` and `compopt`. A file name may
  // contain spaces and asterisks, and must not be split into words. bash treats the text after a
  // `=` as a separate word.
  bash: (source) =>
    [
      "_blocksweep_files() {",
      '  local file quote="printf %q"',
      '  if type compopt >/dev/null 2>&1; then compopt -o filenames 2>/dev/null; quote="printf %s"; fi',
      "  while IFS= read -r file; do",
      '    COMPREPLY[${#COMPREPLY[@]}]="$($quote "$file")"',
      '  done < <(compgen -f -- "$1")',
      "}",
      "_blocksweep_some() {",
      '  local word="$1" before=""; shift',
      '  case "$word" in *,*) before="${word%,*},"; word="${word##*,}" ;; esac',
      '  COMPREPLY=($(compgen -P "$before" -W "$*" -- "$word"))',
      "}",
      "_blocksweep() {",
      '  local at=$COMP_CWORD word="${COMP_WORDS[COMP_CWORD]}" options=""',
      '  if [ "$word" = "=" ]; then word=""; elif [ "${COMP_WORDS[at-1]}" = "=" ]; then at=$((at - 1)); fi',
      '  local before="${COMP_WORDS[at-1]}"',
      "  COMPREPLY=()",
      `  if [ "$COMP_CWORD" -eq 1 ]; then`,
      `    COMPREPLY=($(compgen -W "${
        [...FIRST_WORDS.keys()].join(" ")
      } --help --version" -- "$word"))`,
      "    return",
      "  fi",
      '  local command="${COMP_WORDS[1]}"',
      ...[...GROUPED_COMMANDS].flatMap(([group, commands]) => [
        `  if [ "$command" = ${group} ]; then`,
        '    if [ "$COMP_CWORD" -eq 2 ]; then',
        `      COMPREPLY=($(compgen -W "${[...commands.keys()].join(" ")} --help" -- "$word"))`,
        "      return",
        "    fi",
        `    command="${group}-\${COMP_WORDS[2]}"`,
        "  fi",
      ]),
      '  case "$command:$before" in',
      ...NAMES.flatMap((name) => bashCases(name, source)),
      "  esac",
      '  case "$command:$word" in',
      ...NAMES.map((name) => {
        const words = `"${optionsOf(name).flatMap(offered).join(" ")}"`;
        return `    ${wordOf(name)}:-*) COMPREPLY=($(compgen -W ${words} -- "$word")) ;;`;
      }),
      ...NAMES.map((name) => `    ${wordOf(name)}:*) ${bashAction(wordsOf(name))} ;;`),
      "  esac",
      "}",
      "complete -F _blocksweep blocksweep",
    ].join("\n"),
  // zsh loads a file from $fpath as the body of the completion function. A sourced file has to
  // register the function itself.
  zsh: (source) =>
    [
      "#compdef blocksweep",
      "_blocksweep() {",
      ...zshWords(FIRST_WORDS),
      ...[...GROUPED_COMMANDS].flatMap(([group, commands]) => [
        `  if [[ $words[1] == ${group} ]]; then`,
        ...zshWords(purposes(commands)),
        `  words[1]="${group}-$words[1]"`,
        "  fi",
      ]),
      "  case $words[1] in",
      ...NAMES.map((name) => {
        const options = optionsOf(name).flatMap((option) => zshOptions(option, source));
        // After words without completions, zsh offers options only if the specification has an
        // action.
        const rest = `*:word:${zshAction(wordsOf(name)) || "{:}"}`;
        return `    ${wordOf(name)}) _arguments ${[...options, rest].map(quoted).join(" ")} ;;`;
      }),
      "  esac",
      "}",
      'if [[ $funcstack[1] == _blocksweep ]]; then _blocksweep "$@"; else',
      "  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }",
      "  compdef _blocksweep blocksweep",
      "fi",
    ].join("\n"),
  fish: (source) =>
    [
      "function __blocksweep_some",
      "  set -l word (commandline -ct | string replace -r '^-[^=]*=' '')",
      "  set -l before (string match -r '^.*,' -- $word)",
      '  printf "%s\\n" "$before"$argv',
      "end",
      "complete -c blocksweep -f",
      ...fishWords("__fish_use_subcommand", FIRST_WORDS),
      ...[...GROUPED_COMMANDS].flatMap(([group, commands]) =>
        fishWords(
          `'${seen(group)}; and not ${seen([...commands.keys()].join(" "))}'`,
          purposes(commands),
        )
      ),
      ...NAMES.flatMap((name) => optionsOf(name).map((option) => fishOption(name, option, source))),
      ...NAMES.map((name) =>
        `complete -c blocksweep -n '${isCalled(name)}' ${fishAction(wordsOf(name))}`
      ),
    ].join("\n"),
};

/** Completes the second word of zsh's `words` with some words, or removes the first word. */
function zshWords(words: ReadonlyMap<string, string>): string[] {
  const described = [...words].map(([word, purpose]) => quoted(`${word}:${purpose}`));
  return [
    "  if (( CURRENT == 2 )); then",
    "    local -a commands",
    `    commands=(${described.join(" ")})`,
    "    _describe command commands",
    "    return",
    "  fi",
    "  shift words; (( CURRENT-- ))",
  ];
}

/** The purposes of a group's commands, by their second words. */
function purposes(commands: ReadonlyMap<string, Command>): ReadonlyMap<string, string> {
  return new Map([...commands].map(([word, name]) => [word, COMMANDS[name].purpose]));
}

/** The `_arguments` specifications of an option: forms that were given are not offered again. */
function zshOptions(option: Option, source: CompletionSource): string[] {
  const { takes, help, repeat } = option;
  const escape = (text: string) => text.replace(/[\\[\]:]/g, "\\$&");
  const action = zshAction(source.choices.get(option)!);
  const rest = `[${escape(textFor(help, source.allProtocols))}]${
    takes === undefined ? "" : `:${escape(takes.placeholder)}:${action}`
  }`;
  const forms = [...offered(option), ...otherwise(option)];
  const before = repeat ? "*" : forms.length > 1 ? `(${forms.join(" ")})` : "";
  return forms.map((form) => `${offered(option).includes(form) ? "" : "!"}${before}${form}${rest}`);
}

/** The zsh action that completes a value. */
function zshAction(choice: Choice): string {
  switch (choice.kind) {
    case "file":
      return "_files";
    case "some":
      return ` _values -s , word ${choice.words.join(" ")}`;
    case "one":
      return `(${choice.words.join(" ")})`;
    case "other":
      return "";
  }
}

/** A word quoted for bash and zsh. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** The fish condition that one of some words was written. */
function seen(words: string): string {
  return `__fish_seen_subcommand_from ${words}`;
}

/** The fish condition that a command is called. */
function isCalled(command: Command): string {
  return command.split(" ").map(seen).join("; and ");
}

/** The fish commands that complete some words under a condition. */
function fishWords(condition: string, words: ReadonlyMap<string, string>): string[] {
  return [...words].map(([word, purpose]) =>
    `complete -c blocksweep -n ${condition} -a ${word} -d ${fishText(purpose)}`
  );
}

/** The fish arguments that complete a value. */
function fishAction(choice: Choice): string {
  switch (choice.kind) {
    case "file":
      return "-F";
    case "some":
      return `-f -a '(__blocksweep_some ${choice.words.join(" ")})'`;
    case "one":
      return `-f -a '${choice.words.join(" ")}'`;
    case "other":
      return "-f";
  }
}

function fishOption(
  command: Command,
  option: Option,
  source: CompletionSource,
): string {
  const { name, short, takes, help } = option;
  const action = fishAction(source.choices.get(option)!);
  const old = !dashed(name).startsWith("--");
  return [
    `complete -c blocksweep -n '${isCalled(command)}'`,
    old ? `-o ${name}` : `-l ${name}`,
    ...(short === undefined ? [] : [`-s ${short}`]),
    ...(takes === undefined ? [] : [`-r ${action}`]),
    `-d ${fishText(textFor(help, source.allProtocols))}`,
  ].join(" ");
}

function fishText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
