import { assertThrows } from "@std/assert";
import { writeRefusal } from "../../src/app/environment.ts";
import { InputError } from "../../src/core/errors.ts";
import { WriteError } from "../../src/sinks/sink.ts";
import { FULL } from "../cli/failing_streams.ts";

Deno.test("a full device is a failure, a wrong path is a mistake", () => {
  const path = "x";
  const error = writeRefusal(path, FULL);
  assertThrows(
    () => {
      throw error;
    },
    WriteError,
    'Cannot write to "x": No space left on device',
  );
  const missing = Object.assign(new Error("No such file (os error 2): open 'x'"), {
    code: "ENOENT",
  });
  assertThrows(
    () => {
      throw writeRefusal(path, missing);
    },
    InputError,
    'Cannot write to "x": No such file (os error 2)',
  );
});
