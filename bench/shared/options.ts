/** Options of a benchmark. Each option has a value and a default. */
import { parseArgs } from "@std/cli";

/**
 * Reads the command line. With `--help` it prints the purpose and the options, and ends.
 *
 * @param purpose What the benchmark shows, on one line.
 * @param usual The defaults of the options.
 * @param words The words before the options, for the usage line.
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

/** Prints what a benchmark shows, and its usage line. */
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
