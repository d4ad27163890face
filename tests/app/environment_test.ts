import { assertEquals, assertStringIncludes } from "@std/assert";
import { reason, writeRefusal } from "../../src/app/environment.ts";
import { InputError } from "../../src/core/errors.ts";
import { FULL } from "../cli/failing_streams.ts";
import { run } from "../cli/program.ts";

Deno.test("the error of a file names the path and the reason, without the call", () => {
  const missing = Object.assign(new Error("No such file (os error 2): open 'x'"), {
    code: "ENOENT",
  });
  const { message } = writeRefusal("x", missing);
  assertEquals([message, reason(missing)], [
    'Cannot write to "x": No such file (os error 2)',
    "No such file (os error 2)",
  ]);
  assertEquals(writeRefusal("x", missing) instanceof InputError, true);
  assertEquals(writeRefusal("x", FULL) instanceof InputError, false);
});

Deno.test("standard input that two options name is refused in one line", async () => {
  const args = ["scan", "-iL", "-", "--exclude-file", "-", "-sL"];
  const { code, stderr } = await run(args, { stdin: "127.33.0.1\n" });
  assertEquals(code, 2);
  const line = 'Cannot read "-": standard input was read already; name it once';
  assertStringIncludes(stderr, line);
  assertEquals(stderr.includes("TypeError"), false, stderr);
});
