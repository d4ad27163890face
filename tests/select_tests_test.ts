/** `deno task test:changed` and `deno task test:long`: tests/select_tests.ts. */
import { assert, assertEquals } from "@std/assert";
import config from "../deno.json" with { type: "json" };
import { graphOf, readModules } from "./import_graph.ts";
import {
  affectedFiles,
  commandFor,
  LONG_FILTER,
  longFiles,
  withLongTests,
} from "./select_tests.ts";

const TEXTS = new Map(Object.entries({
  "src/a.ts": "",
  "src/b.ts": 'import "./a.ts";',
  "src/c.ts": 'const DATA = "data/words.txt";',
  "tests/long.ts": "",
  "tests/lab.ts": 'import type { Register } from "./long.ts";',
  "tests/tree_test.ts": "",
  "tests/x/a_test.ts": 'import "../../src/a.ts";',
  "tests/x/b_test.ts": 'import "../../src/b.ts"; import "../lab.ts";',
  "tests/x/c_test.ts": 'import "../../src/c.ts";',
}));
const GRAPH = graphOf(TEXTS);

Deno.test("a change concerns the tests that load what changed, and those of the whole tree", () => {
  const of = (...changed: string[]) => affectedFiles(changed, TEXTS, GRAPH);
  const tree = "tests/tree_test.ts";
  assertEquals(of(), []);
  assertEquals(of("src/a.ts"), [tree, "tests/x/a_test.ts", "tests/x/b_test.ts"]);
  assertEquals(of("src/b.ts"), [tree, "tests/x/b_test.ts"]);
  assertEquals(of("tests/x/a_test.ts"), [tree, "tests/x/a_test.ts"]);
  assertEquals(of("tests/lab.ts"), [tree, "tests/x/b_test.ts"]);
  assertEquals(of("data/words.txt"), [tree, "tests/x/c_test.ts"]);
  assertEquals(of("docs/removed.md", "tests/x/removed_test.ts"), [tree]);
});

Deno.test("only test files register long tests, and all of them are found", async () => {
  const text = 'import { longTest, type Register } from "../long.ts";';
  assertEquals(longFiles(new Map([...TEXTS, ["tests/x/d_test.ts", text]])), ["tests/x/d_test.ts"]);
  const files = longFiles(await readModules());
  assert(files.length > 10, `${files.length} files`);
  assertEquals(files.filter((path) => !path.endsWith("_test.ts")), []);
});

Deno.test("some files of a group run with its permissions, and long tests may read one variable", () => {
  const { tasks } = config;
  const pure = tasks["test:pure"].command;
  const words = commandFor(pure, ["tests/core/a_test.ts", "tests/app/b_test.ts"], "reports/x")!;
  assertEquals(words.slice(0, 2), ["deno", "test"]);
  assert(words.includes("--junit-path=reports/x/pure.xml"));
  assertEquals(words.filter((word) => !word.startsWith("-")), [
    ...["deno", "test"],
    "tests/core/a_test.ts",
  ]);
  assertEquals(words.some((word) => word.startsWith("--allow")), false);
  assertEquals(withLongTests(words).slice(words.length), [
    LONG_FILTER,
    "--allow-env=BLOCKSWEEP_LONG",
  ]);
  assertEquals(commandFor(pure, ["tests/app/b_test.ts"], "reports/x"), undefined);
  const rest = commandFor(tasks["test:rest"].command, ["tests/app/b_test.ts"], "reports/x")!;
  assertEquals(withLongTests(rest).slice(rest.length), [LONG_FILTER]);
});
