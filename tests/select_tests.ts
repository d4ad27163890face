/** Which test files a change concerns, which contain long tests, and how a group runs some of its files. */
import { reach } from "./import_graph.ts";

type Graph = ReadonlyMap<string, readonly string[]>;

/** Runs only the tests that `longTest()` registers. */
export const LONG_FILTER = "--filter=(deno task test:long)";

const isTest = (path: string) => path.endsWith("_test.ts");

/** The modules that import `longTest()`. */
export function longFiles(texts: ReadonlyMap<string, string>): string[] {
  return [...texts].filter(([, text]) => /\bimport \{[^}]*\blongTest\b/.test(text))
    .map(([path]) => path);
}

/**
 * The test files that load a changed file, and those directly in `tests/`, which check the whole tree. A
 * file that is no module counts as loaded by the modules whose text contains its name.
 *
 * @param changed Paths from the root of the project.
 * @param texts The texts of all modules, by path.
 */
export function affectedFiles(
  changed: readonly string[],
  texts: ReadonlyMap<string, string>,
  graph: Graph,
): string[] {
  if (changed.length === 0) return [];
  const names = changed.filter((path) => !texts.has(path)).map((path) => path.split("/").at(-1)!);
  const named = [...texts].filter(([, text]) => names.some((name) => text.includes(name)));
  const roots = new Set([...changed, ...named.map(([path]) => path)]);
  return [...graph.keys()].filter((path) =>
    isTest(path) &&
    (/^tests\/[^/]+$/.test(path) || !roots.isDisjointFrom(reach(path, graph)))
  );
}

/** Whether a word of a command is a test file, a folder of tests or the folder of the sources. */
const isPath = (word: string) => /^(tests|src)(\/|$)/.test(word);

/**
 * The words of a group's command with those of its files that are selected, or `undefined` without any.
 *
 * @param command The command of the group's task: `deno test`, options, and paths.
 * @param folder The folder of the group's JUnit file.
 */
export function commandFor(
  command: string,
  files: readonly string[],
  folder: string,
): string[] | undefined {
  const words = command.split(" ");
  const paths = words.filter(isPath);
  const own = files.filter((file) =>
    paths.some((path) => file === path || file.startsWith(`${path}/`))
  );
  if (own.length === 0) return undefined;
  const options = words.filter((word) => !isPath(word))
    .map((word) => word.replace(/^--junit-path=reports\/tests\//, `--junit-path=${folder}/`));
  return [...options, ...own];
}

/** A command that runs only long tests: the environment variable that they read can be read. */
export function withLongTests(words: readonly string[]): string[] {
  const isGranted = words.includes("--allow-env");
  return [...words, LONG_FILTER, ...isGranted ? [] : ["--allow-env=BLOCKSWEEP_LONG"]];
}
