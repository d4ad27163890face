// deno-lint-ignore-file no-console
/**
 * Runs the groups of tests one after the other, whatever failed before. Prints the result of each group,
 * failures in full, and a summary. What a group prints is in `reports/FOLDER/GROUP.txt`, its results for
 * programs in `reports/FOLDER/GROUP.xml`.
 *
 * - `deno task test`: all tests except the long ones.
 * - `deno task test:long [GROUP...]`: the long tests.
 * - `deno task test:changed [REF]`: the tests of what differs from a commit, main by default.
 */
import config from "../deno.json" with { type: "json" };
import { graphOf, readModules } from "./import_graph.ts";
import { affectedFiles, commandFor, longFiles, withLongTests } from "./select_tests.ts";
import { readJunit, summaryOf, type TestResult } from "./summary.ts";

/** The groups with their tasks, in order. */
const GROUPS = {
  types: "types",
  pure: "test:pure",
  doc: "test:doc",
  rest: "test:rest",
  sockets: "test:sockets",
} as const;
type Group = keyof typeof GROUPS;
/** Between the folders of the PATH. */
const DELIMITER = Deno.build.os === "windows" ? ";" : ":";
const NAMES = Object.keys(GROUPS) as Group[];

/**
 * What a reader needs of the output of a group: Deno's line of counts, after all errors if the group has
 * failed. If Deno lists no errors then, that is the whole output.
 */
export function resultOf(name: string, output: string, isOk: boolean): string {
  if (isOk) return `${name}: ${output.match(/^ok \| .*$/gm)?.at(-1) ?? "ok"}`;
  const start = output.search(/^ *ERRORS *$/m);
  const errors = (start < 0 ? output : output.slice(start)).trimEnd();
  return `${errors}\n${name}: FAILED`;
}

/** Shows on a terminal how many tests of a group have ended. */
function showProgress(name: string, output: string): void {
  if (!Deno.stdout.isTerminal()) return;
  const ended = output.match(/ \.\.\. .*(?:ok|FAILED|ignored) \(/g)?.length ?? 0;
  Deno.stdout.writeSync(new TextEncoder().encode(`\r${name}: ${ended} tests …\x1b[K\r`));
}

/**
 * Runs a command, and prints its result.
 *
 * @param name The name of the group, which is that of its files in the folder too.
 * @returns Whether it has succeeded.
 */
export async function runGroup(
  name: string,
  command: Deno.Command,
  folder: string,
): Promise<boolean> {
  const child = command.spawn();
  using file = await Deno.open(`${folder}/${name}.txt`, { create: true, write: true });
  let output = "";
  const readers = [child.stdout, child.stderr].map(async (stream) => {
    for await (const text of stream.pipeThrough(new TextDecoderStream())) {
      output += text;
      file.writeSync(new TextEncoder().encode(text));
      showProgress(name, output);
    }
  });
  const [{ success }] = await Promise.all([child.status, ...readers]);
  console.log(resultOf(name, output, success));
  return success;
}

/** The tests in the file that a group has written. `undefined`: it has written none. */
async function testsOf(name: string, folder: string): Promise<readonly TestResult[] | undefined> {
  try {
    return readJunit(await Deno.readTextFile(`${folder}/${name}.xml`));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** The words of the command of each group that runs. */
type Commands = Map<Group, readonly string[]>;

const wholeGroup = (name: Group) => ["deno", "task", "--quiet", GROUPS[name]];

/** The groups with the files that are selected. */
function someFiles(files: readonly string[], folder: string): Commands {
  const words = NAMES.map((name) =>
    [name, commandFor(config.tasks[GROUPS[name]].command, files, folder)] as const
  );
  return new Map(words.flatMap(([name, command]) => command ? [[name, command]] : []));
}

/** The long tests of groups: of all groups if none is named. */
async function longTests(named: readonly string[], folder: string): Promise<Commands> {
  const commands = someFiles(longFiles(await readModules()), folder);
  const chosen = [...commands].filter(([name]) => named.length === 0 || named.includes(name));
  return new Map(chosen.map(([name, words]) => [name, withLongTests(words)]));
}

/** The paths that git prints. */
async function git(...args: string[]): Promise<string[]> {
  const { success, stdout, stderr } = await new Deno.Command("git", { args }).output();
  if (!success) throw new Error(`Cannot run git ${args.join(" ")}: ${decode(stderr)}`);
  return decode(stdout).split("\0").filter((path) => path !== "");
}

const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** The tests of the files that differ from the commit where this branch left another one. */
async function changedTests([ref = "main"]: readonly string[], folder: string): Promise<Commands> {
  const changed = [
    ...await git("diff", "-z", "--name-only", "--merge-base", ref),
    ...await git("ls-files", "-z", "--others", "--exclude-standard"),
  ];
  const texts = await readModules();
  const files = affectedFiles(changed, texts, graphOf(texts));
  console.log(`Changed files: ${changed.length}. Test files that they concern: ${files.length}.`);
  const commands: Commands = new Map();
  if (changed.some((path) => /\.tsx?$/.test(path))) commands.set("types", wholeGroup("types"));
  if (changed.some((path) => path.startsWith("src/"))) commands.set("doc", wholeGroup("doc"));
  return new Map([...commands, ...someFiles(files, folder)]);
}

/** Runs groups one after the other. Returns their tests. */
async function runGroups(commands: Commands, folder: string, env: Record<string, string>) {
  const results = new Map<string, readonly TestResult[] | undefined>();
  for (const [name, [, ...args]] of commands) {
    const options: Deno.CommandOptions = { args, env, stdout: "piped", stderr: "piped" };
    const isOk = await runGroup(name, new Deno.Command("deno", options), folder);
    if (!isOk) Deno.exitCode = 1;
    if (name !== "types") results.set(name, await testsOf(name, folder));
  }
  return results;
}

/** What runs all groups, and what runs other tests, by the first argument. */
const MODES = {
  tests: () => Promise.resolve<Commands>(new Map(NAMES.map((name) => [name, wholeGroup(name)]))),
  long: longTests,
  changed: changedTests,
};

if (import.meta.main) {
  const [mode, ...words] = Deno.args as [keyof typeof MODES, ...string[]];
  const folder = `reports/${mode}`;
  await Deno.remove(folder, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  await Deno.mkdir(folder, { recursive: true });
  const env = {
    NO_COLOR: "1",
    // Under npx, the first `deno` of the PATH can be a script that passes no signals on.
    PATH: `${Deno.execPath().replace(/[^\\/]*$/, "")}${DELIMITER}${Deno.env.get("PATH")}`,
    // Many tests wait for programs and timers, so twice as many files as cores run at once.
    DENO_JOBS: Deno.env.get("DENO_JOBS") ?? String(2 * navigator.hardwareConcurrency),
    ...mode === "long" ? { BLOCKSWEEP_LONG: "1" } : {},
  };
  const results = await runGroups(await MODES[mode](words, folder), folder, env);
  console.log(summaryOf(results).join("\n"));
  console.log(`The whole output is in ${folder}/.`);
}
