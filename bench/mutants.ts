// deno-lint-ignore-file no-console
/**
 * Makes small faults in the sources, one at a time, and runs the tests of the source: do they find it?
 *
 *     deno run -A --no-lock bench/mutants.ts [--folders src/store,src/watch,…] [--count 40] [--seed 1]
 *         [--jobs 2] [--survivors FILE]
 *
 * It downloads TypeScript (23 MB), which is not in the lock file, because a task downloads all of that.
 * The tests of a source are the one with its path, and those whose first comment names the source or
 * its folder. Of all mutations of a folder with its subfolders, `--count` are drawn by the seed; 0:
 * all. A mutation is killed if a test fails, or does not end within ten times its usual duration.
 * Tests that need a database server are not run, and sources that only these test count as `untested`.
 * `share` is the share of killed mutations that are
 * not equivalent (bench/shared/equivalent_mutants.ts), with its 95 % interval. `--survivors` writes
 * the other ones as lines.
 */
import { Random } from "../src/fleet/random.ts";
import { EQUIVALENT } from "./shared/equivalent_mutants.ts";
import { lineAt, loadParser, mutate, type Mutation } from "./shared/mutations.ts";
import { readOptions } from "./shared/options.ts";
import { table } from "./shared/table.ts";

const options = readOptions("faults in sources that their tests find", {
  folders: "src/store,src/watch,src/app,src/scan,src/inspect,src/sweep,src/web/data",
  count: "40",
  seed: "1",
  jobs: "2",
  survivors: "",
});
const ROOT = new URL("../", import.meta.url).pathname;
/** What the tests need of the project. */
const COPIED = ["src", "tests", "data", "std", "bench", "docs", "examples", "install", "main.ts"];
const CONFIG = ["deno.json", "deno.lock", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"];

/** One fault in one source. */
interface Mutant extends Mutation {
  readonly path: string;
}

/** What became of a mutant. */
type Fate = "killed" | "survived" | "equivalent" | "untested";

/** The TypeScript files below a folder, as paths from the root of the project. */
async function filesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(ROOT + folder)) {
    if (isDirectory) found.push(...await filesIn(`${folder}/${name}`));
    else if (/\.tsx?$/.test(name)) found.push(`${folder}/${name}`);
  }
  return found.sort();
}

/** The sources that the first comment of each test names. */
const named = new Map<string, readonly string[]>();
for (const path of await filesIn("tests")) {
  if (!path.endsWith("_test.ts")) continue;
  const [comment] = /^\/\*\*[\s\S]*?\*\//.exec(await Deno.readTextFile(ROOT + path)) ?? [""];
  named.set(path, comment.match(/\bsrc\/[\w/]*(?:\w\.tsx?|\/)/g) ?? []);
}

/** The tests of a source. */
function testsOf(path: string): string[] {
  const own = path.replace(/^src\//, "tests/").replace(/\.tsx?$/, "_test.ts");
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  return [...named].filter(([test, names]) =>
    test === own || names.includes(path) || names.includes(folder)
  ).map(([test]) => test);
}

/** Runs tests in a copy of the project. */
async function passes(copy: string, tests: readonly string[], limitMs: number): Promise<boolean> {
  const child = new Deno.Command(Deno.execPath(), {
    args: ["test", "-A", "--no-check", "--quiet", "--fail-fast", ...tests],
    cwd: copy,
    env: { DENO_NO_UPDATE_CHECK: "1" },
    ...{ stdin: "null", stdout: "null", stderr: "null" },
  }).spawn();
  const timer = setTimeout(() => child.kill("SIGKILL"), limitMs);
  const { success } = await child.status;
  clearTimeout(timer);
  return success;
}

/** The durations of passing tests, milliseconds; of tests that fail without a fault, `undefined`. */
const usual = new Map<string, Promise<number | undefined>>();

/** Runs the tests of a mutant's source. */
async function fateOf(copy: string, mutant: Mutant, text: string): Promise<Fate> {
  const mutated = mutate(text, mutant);
  const line = lineAt(mutated, mutant.start).trim();
  if (EQUIVALENT.some((one) => one.path === mutant.path && one.line === line)) return "equivalent";
  const tests: string[] = [];
  let usualMs = 0;
  for (const test of testsOf(mutant.path)) {
    if (!usual.has(test)) usual.set(test, durationOf(copy, test));
    const duration = await usual.get(test);
    if (duration === undefined) continue;
    tests.push(test);
    usualMs += duration;
  }
  if (tests.length === 0) return "untested";
  await Deno.writeTextFile(`${copy}/${mutant.path}`, mutated);
  const isPassed = await passes(copy, tests, 10_000 + 10 * usualMs);
  await Deno.writeTextFile(`${copy}/${mutant.path}`, text);
  return isPassed ? "survived" : "killed";
}

async function durationOf(copy: string, test: string): Promise<number | undefined> {
  const start = performance.now();
  const isPassed = await passes(copy, [test], 300_000);
  if (!isPassed) console.error(`${test} fails without a fault, and is left out`);
  return isPassed ? performance.now() - start : undefined;
}

/** The mutants of a folder: all, or as many as drawn. */
async function mutantsOf(folder: string): Promise<Mutant[]> {
  const all: Mutant[] = [];
  for (const path of await filesIn(folder)) {
    const text = await Deno.readTextFile(ROOT + path);
    all.push(...parse(path, text).map((mutation) => ({ ...mutation, path })));
  }
  const count = Number(options.count) || all.length;
  const random = new Random(Number(options.seed));
  const drawn: Mutant[] = [];
  while (drawn.length < count && all.length > 0) {
    drawn.push(...all.splice(random.below(all.length), 1));
  }
  return drawn;
}

/** The interval of a share, by Wilson's method, percent. */
function interval(hits: number, count: number): string {
  if (count === 0) return "";
  const z = 1.96, p = hits / count, base = 1 + z ** 2 / count;
  const middle = (p + z ** 2 / (2 * count)) / base;
  const half = z * Math.sqrt(p * (1 - p) / count + z ** 2 / (4 * count ** 2)) / base;
  return `${Math.round(100 * (middle - half))} to ${Math.round(100 * (middle + half))} %`;
}

async function run(copies: readonly string[]): Promise<void> {
  const rows: (string | number)[][] = [];
  for (const folder of options.folders.split(",")) {
    const mutants = await mutantsOf(folder);
    const fates: Record<Fate, number> = { killed: 0, survived: 0, equivalent: 0, untested: 0 };
    const next = mutants.values();
    await Promise.all(copies.map(async (copy) => {
      for (const mutant of next) {
        const text = await Deno.readTextFile(ROOT + mutant.path);
        const fate = await fateOf(copy, mutant, text);
        fates[fate]++;
        if (fate !== "survived" || options.survivors === "") continue;
        const number = text.slice(0, mutant.start).split("\n").length;
        const [before, after] = [text.slice(mutant.start, mutant.end), mutant.replacement]
          .map((part) => part.replaceAll(/\s+/g, " "));
        const fault = `${mutant.path}:${number} ${mutant.operator}: ${before} -> ${after}\n`;
        await Deno.writeTextFile(options.survivors, fault, { append: true });
      }
    }));
    const { killed, survived, equivalent, untested } = fates;
    const share = `${Math.round(100 * killed / (killed + survived))} %`;
    rows.push([folder, mutants.length, killed, survived, equivalent, untested, share]);
    rows.at(-1)!.push(interval(killed, killed + survived));
    console.error(`${folder}: ${killed} of ${killed + survived} killed`);
  }
  const counts = ["mutants", "killed", "survived", "equivalent", "untested"];
  console.log(table(["folder", ...counts, "share", "interval"], rows));
}

const parse = await loadParser();
const copies: string[] = [];
try {
  for (let i = 0; i < Number(options.jobs); i++) {
    const copy = await Deno.makeTempDir({ prefix: "blocksweep-mutants-" });
    copies.push(copy);
    const sources = [...COPIED, ...CONFIG].map((name) => ROOT + name);
    await new Deno.Command("cp", { args: ["-r", ...sources, copy] }).output();
  }
  await run(copies);
} finally {
  for (const copy of copies) await Deno.remove(copy, { recursive: true });
}
