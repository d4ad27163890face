/**
 * Every source has a test with the same path, or a test whose first comment names the source. Every
 * exported name is declared in one source.
 */
import { assert, assertEquals } from "@std/assert";
import config from "../deno.json" with { type: "json" };
import { graphOf, loads, reach, readModules } from "./import_graph.ts";

/** The paths of sources, and of their folders, that the first comment of a test names. */
function pathsNamed(text: string): string[] {
  const [comment] = /^\/\*\*[\s\S]*?\*\//.exec(text) ?? [""];
  return comment.match(/\bsrc\/[\w/]*(?:\w\.tsx?|\/)/g) ?? [];
}

/** The folder of a file. */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

const TEXTS = await readModules();
const GRAPH = graphOf(TEXTS);
/** Whether a source has no code of its own: the `mod.ts` of a folder exports what others declare. */
function onlyExports(text: string): boolean {
  return !/\S/.test(
    text.replace(/\/\*\*[\s\S]*?\*\//g, "")
      .replace(/^export (?:type )?(?:\*|\{[^}]*\}) from "[^"]+";$/gm, ""),
  );
}
/** All sources, and those with code of their own. */
const PATHS = [...TEXTS.keys()].filter((path) => path.startsWith("src/"));
const SOURCES = PATHS.filter((path) => !onlyExports(TEXTS.get(path)!));
const TESTS = [...TEXTS.keys()].filter((path) => /^tests\/.*_test\.ts$/.test(path));
/** The sources in the first comment of each test. */
const NAMED = new Map(TESTS.map((test) => [test, pathsNamed(TEXTS.get(test)!)]));
const ALL_NAMED = new Set([...NAMED.values()].flat());
/** tests/library/entry_points_test.ts tests these sources. */
const ENTRY_POINTS = Object.values(config.exports).map((path) => path.slice(2));

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
  assertEquals(onlyExports('/** A. */\nexport {\n  a,\n  type B,\n} from "./c.ts";\n'), true);
  assertEquals(onlyExports('export { a } from "./c.ts";\nexport const d = 1;\n'), false);
  const text =
    'import { a } from "../b.ts";\nnew URL("./w.ts", import.meta.url);\n * import "./x.ts";';
  assertEquals(loads("src/a/c.ts", text), ["src/b.ts", "src/a/w.ts"]);
  const graph = new Map([["a", ["b"]], ["b", ["c", "a"]], ["d", ["e"]]]);
  assertEquals([...reach("a", graph)], ["a", "b", "c"]);
});

Deno.test("an exported name is declared in one source, so that it has one meaning", () => {
  const declared =
    /^export (?:(?:abstract|async|declare) )*(?:class|const|enum|function\*?|interface|let|type) ([\w$]+)/gm;
  const sources = new Map<string, Set<string>>();
  for (const path of SOURCES) {
    if (/^src\/protocols\/\w+\//.test(path)) continue; // namespaces with alike functions
    for (const [, name] of TEXTS.get(path)!.matchAll(declared)) {
      sources.set(name, (sources.get(name) ?? new Set()).add(path));
    }
  }
  assert(sources.size > 1000, `found only ${sources.size} names`);
  const shared = [...sources].filter(([, paths]) => paths.size > 1);
  assertEquals(shared.map(([name, paths]) => `${name}: ${[...paths].join(", ")}`), []);
});

/** The names that a module exports from other modules by name. */
function exportedFrom(text: string): string[] {
  return [...text.matchAll(/^export (?:type )?\{([^}]*)\} from/gm)].flatMap(([, names]) =>
    names.split(",").map((name) => name.trim().split(/ (?:as )?/).at(-1)!).filter((name) => name)
  );
}

Deno.test("the mod.ts of a folder exports only names that another folder uses", () => {
  const folders = PATHS.filter((path) => /\/mod\.ts$/.test(path))
    // The library exports the protocols as namespaces.
    .filter((path) => path !== "src/mod.ts" && !/^src\/protocols\//.test(path));
  assert(folders.length > 20, `found only ${folders.length} folders`);
  const unused = folders.flatMap((path) => {
    const users = PATHS.filter((user) =>
      !user.startsWith(folderOf(path)) && GRAPH.get(user)!.includes(path)
    );
    const words = new Set(users.flatMap((user) => TEXTS.get(user)!.match(/[\w$]+/g) ?? []));
    return exportedFrom(TEXTS.get(path)!).filter((name) => !words.has(name))
      .map((name) => `${path}: ${name}`);
  });
  assertEquals(unused, []);
  const text =
    'export { a, type B } from "./c.ts";\nexport type {\n  D,\n  E as F,\n} from "./g.ts";\n';
  assertEquals(exportedFrom(text), ["a", "B", "D", "F"]);
});
