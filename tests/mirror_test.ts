/** Every source has a test with the same path, or a test whose first comment names the source. */
import { assertEquals } from "@std/assert";

const ROOT = new URL("../", import.meta.url);
const CONFIG = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
/** Import names of modules of this project: `blocksweep` and its subpaths. */
const OWN: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries<string>(CONFIG.imports).filter(([, path]) => path.startsWith("./"))
    .map(([name, path]) => [name, path.slice(2)]),
);

/** The TypeScript files below a folder, as paths from the root of the project. */
async function filesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(new URL(folder, ROOT))) {
    if (isDirectory) found.push(...await filesIn(`${folder}${name}/`));
    else if (/\.tsx?$/.test(name)) found.push(`${folder}${name}`);
  }
  return found.sort();
}

/** The modules that a module loads or starts, as imports, workers and programs. */
function loads(path: string, text: string): string[] {
  const code = text.replace(/^\s*\/?\*.*$/gm, "");
  const named = code.matchAll(/(?:\bfrom |\bimport |\bimport\(|new URL\()"([^"]+)"/g);
  return [...named].flatMap(([, name]) => {
    if (name in OWN) return [OWN[name]];
    const isFile = name.startsWith(".") && /\.tsx?$/.test(name);
    return isFile ? [new URL(name, `file:///${path}`).pathname.slice(1)] : [];
  });
}

/** The paths of sources, and of their folders, that the first comment of a test names. */
function pathsNamed(text: string): string[] {
  const [comment] = /^\/\*\*[\s\S]*?\*\//.exec(text) ?? [""];
  return comment.match(/\bsrc\/[\w/]*(?:\w\.tsx?|\/)/g) ?? [];
}

/** The folder of a file. */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

/** The modules that a module loads directly and indirectly. */
function reach(path: string, graph: ReadonlyMap<string, readonly string[]>): Set<string> {
  const reached = new Set([path]);
  for (const one of reached) for (const next of graph.get(one) ?? []) reached.add(next);
  return reached;
}

const SOURCES = await filesIn("src/");
const TESTS = (await filesIn("tests/")).filter((path) => path.endsWith("_test.ts"));
const TEXTS = new Map<string, string>();
for (const path of [...SOURCES, ...await filesIn("tests/"), "main.ts"]) {
  TEXTS.set(path, await Deno.readTextFile(new URL(path, ROOT)));
}
const GRAPH = new Map([...TEXTS].map(([path, text]) => [path, loads(path, text)]));
/** The sources in the first comment of each test. */
const NAMED = new Map(TESTS.map((test) => [test, pathsNamed(TEXTS.get(test)!)]));
const ALL_NAMED = new Set([...NAMED.values()].flat());
/** tests/library/entry_points_test.ts tests these sources. */
const ENTRY_POINTS = Object.values<string>(CONFIG.exports).map((path) => path.slice(2));

/**
 * Whether a source has a test of its own: a test with the same path, or a test that names only this
 * source.
 */
function hasOwnTest(path: string): boolean {
  const test = path.replace(/^src\//, "tests/").replace(/\.tsx?$/, "_test.ts");
  return TESTS.includes(test) || ALL_NAMED.has(path) || ENTRY_POINTS.includes(path);
}

Deno.test("a source has a test with its path, or one whose first comment names it or its folder", () => {
  const untested = SOURCES.filter((path) => !hasOwnTest(path) && !ALL_NAMED.has(folderOf(path)));
  assertEquals(untested, []);
});

Deno.test("a test loads the sources in its first comment", () => {
  const unloaded = TESTS.flatMap((test) => {
    const reached = reach(test, GRAPH);
    const names = NAMED.get(test)!;
    const others = SOURCES.filter((path) => names.includes(folderOf(path)) && !hasOwnTest(path));
    const files = names.filter((name) => /\.tsx?$/.test(name));
    return [...files, ...others].filter((path) => !reached.has(path))
      .map((path) => `${test}: ${path}`);
  });
  assertEquals(unloaded, []);
});

Deno.test("the rule about tests finds violations", () => {
  assertEquals(pathsNamed("/** Of src/a/b.ts and `src/c/`. */"), ["src/a/b.ts", "src/c/"]);
  assertEquals(pathsNamed("const a = 1;\n/** src/a/b.ts */"), []);
  assertEquals(folderOf("src/a/b.ts"), "src/a/");
  const text =
    'import { a } from "../b.ts";\nnew URL("./w.ts", import.meta.url);\n * import "./x.ts";';
  assertEquals(loads("src/a/c.ts", text), ["src/b.ts", "src/a/w.ts"]);
  const graph = new Map([["a", ["b"]], ["b", ["c", "a"]], ["d", ["e"]]]);
  assertEquals([...reach("a", graph)], ["a", "b", "c"]);
});
