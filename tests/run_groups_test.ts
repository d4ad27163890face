/** `deno task test`: tests/run_groups.ts. */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { inFolder } from "./app/resume/stopped_programs.ts";
import { resultOf, runGroup } from "./run_groups.ts";

const ROOT = new URL("../", import.meta.url);
const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", ROOT)));
/** The end of what `deno test` prints after a failure. */
const ERRORS = ` ERRORS 

bad => ./a_test.ts:1:6
error: Error: no

 FAILURES 

bad => ./a_test.ts:1:6

FAILED | 1 passed (2 steps) | 1 failed (5ms)

error: Test failed`;

Deno.test("of a group that succeeds its counts are printed, of one that fails all errors too", () => {
  const green = "Check a_test.ts\na ... ok (1ms)\n\nok | 1 passed | 0 failed | 2 ignored (5ms)\n\n";
  assertEquals(resultOf("pure", green, true), "pure: ok | 1 passed | 0 failed | 2 ignored (5ms)");
  assertEquals(resultOf("types", "", true), "types: ok");
  const red = `a ... ok (1ms)\nbad ... FAILED (1ms)\n\n${ERRORS}\n`;
  assertEquals(resultOf("rest", red, false), `${ERRORS}\nrest: FAILED`);
  const crash = "a ... ok (1ms)\nSegmentation fault\n";
  assertEquals(resultOf("rest", crash, false), `${crash}rest: FAILED`);
});

Deno.test("the whole output of a group is in its file, and its exit code decides", () =>
  inFolder(async (folder) => {
    for (const code of [0, 1]) {
      const script = `echo ok one; echo ok two >&2; exit ${code}`;
      const options: Deno.CommandOptions = {
        args: ["-c", script],
        stdout: "piped",
        stderr: "piped",
      };
      assertEquals(await runGroup("a", new Deno.Command("sh", options), folder), code === 0);
      const written = (await Deno.readTextFile(`${folder}/a.txt`)).trimEnd().split("\n");
      assertEquals(written.toSorted(), ["ok one", "ok two"]);
    }
  }));

/** The numbers that `.ci/run` adds up, and the names that it prints. */
const CI = await Deno.readTextFile(new URL(".ci/run", ROOT));

Deno.test("CI counts the tests of each group, and prints the names of those that failed", async () => {
  const [, functions] = /^(failed_tests\(\) \{[^]*?\n\}\n)/m.exec(CI)!;
  const [, counting] = /counts=\$\((sed [^]*?)\)\n/.exec(CI)!;
  const printed = ["pure: ok | 7 passed | 0 failed (5ms)", resultOf("rest", ERRORS, false)];
  await inFolder(async (folder) => {
    await Deno.writeTextFile(`${folder}/log`, printed.join("\n"));
    const script = `log=${folder}/log\n${functions}\nfailed_tests\n${counting}`;
    const { stdout, stderr } = await new Deno.Command("sh", { args: ["-c", script] }).output();
    assertEquals(new TextDecoder().decode(stderr), "");
    const [name, counts] = new TextDecoder().decode(stdout).trim().split("\n");
    assertEquals(name, "failed test: bad => ./a_test.ts:1:6");
    assertEquals(counts, "8 1");
  });
});

Deno.test("no group of tests depends on another one, and CI also runs the long tests", async () => {
  const groups = Object.keys(tasks).filter((name) => name.startsWith("test:"));
  const source = await Deno.readTextFile(new URL("tests/run_groups.ts", ROOT));
  for (const name of ["test:pure", "test:doc", "test:rest", "test:sockets"]) {
    assert(groups.includes(name), name);
    assertStringIncludes(source, `"${name}"`);
    assertEquals(tasks[name].dependencies, undefined, name);
    assertMatch(tasks[name].command, /^deno test [^&;]*$/, name);
  }
  assertMatch(CI, /^stage "tests" [^]*^stage "long tests" deno task test:long$/m);
});
