import { assertEquals } from "@std/assert";
import { reason, writeRefusal } from "../../src/app/environment.ts";
import { InputError } from "../../src/core/errors.ts";
import { FULL } from "../cli/failing_streams.ts";

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
