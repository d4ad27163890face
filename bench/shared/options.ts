/** Options of a benchmark: all of them take a value and have a usual one. */
import { parseArgs } from "@std/cli";

/**
 * Reads the command line. With `--help` it prints the purpose and the options, and ends.
 *
 * @param purpose What the benchmark shows, in a line.
 * @param usual The options' values where they are not given.
 * @param words The words in front of the options, for the line of use.
 * @throws TypeError for an option that does not exist.
 */
export function readOptions<Name extends string>(
  purpose: string,
  usual: Readonly<Record<Name, string>>,
  words: readonly string[] = [],
): Record<Name, string> {
  const names = Object.keys(usual);
  const { _, help, ...given } = parseArgs(Deno.args.slice(words.length), {
    string: names,
    boolean: ["help"],
    unknown: (arg) => {
      throw new TypeError(`Unknown option ${arg}; there are --${names.join(", --")}`);
    },
  });
  if (help) {
    printUse(
      purpose,
      words,
      Object.entries<string>(usual).map(([name, value]) =>
        `[--${name} ${value === "" ? name.toUpperCase() : value}]`
      ),
    );
    Deno.exit(0);
  }
  return { ...usual, ...given as Partial<Record<Name, string>> };
}

/** Prints what a benchmark shows, and how it is started. */
export function printUse(
  purpose: string,
  words: readonly string[],
  options: readonly string[],
): void {
  const [script] = /bench\/[^/]*$/.exec(Deno.mainModule)!;
  const line = ["deno run -A", script, ...words, ...options].join(" ");
  // deno-lint-ignore no-console
  console.log(`${purpose}\n\n  ${line}\n\nThe first comment of the program describes the table.`);
}
