/** Options of a benchmark: all of them take a value and have a usual one. */
import { parseArgs } from "@std/cli";

/**
 * Reads the command line.
 *
 * @param usual The options' values where they are not given.
 * @throws TypeError for an option that does not exist.
 */
export function readOptions<Name extends string>(
  usual: Readonly<Record<Name, string>>,
): Record<Name, string> {
  const names = Object.keys(usual);
  const { _, ...given } = parseArgs(Deno.args, {
    string: names,
    unknown: (arg) => {
      throw new TypeError(`Unknown option ${arg}; there are --${names.join(", --")}`);
    },
  });
  return { ...usual, ...given as Partial<Record<Name, string>> };
}
