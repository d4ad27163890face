import { assertThrows } from "@std/assert";
import { tell } from "../../src/cli/console.ts";

/** Standard error fails with this while the test runs. */
function withFault(fault: Error, test: () => void): void {
  const { writeSync } = Deno.stderr;
  Deno.stderr.writeSync = () => {
    throw fault;
  };
  try {
    test();
  } finally {
    Deno.stderr.writeSync = writeSync;
  }
}

Deno.test("tell() does not mind that nobody listens any longer, but minds all else", () => {
  const lost = Object.assign(new Error("Input/output error (os error 5)"), { code: "EIO" });
  for (const fault of [lost, new Deno.errors.BrokenPipe("Broken pipe (os error 32)")]) {
    withFault(fault, () => tell("x"));
  }
  const full = Object.assign(new Error("No space left on device"), { code: "ENOSPC" });
  withFault(full, () => assertThrows(() => tell("x"), Error, "No space left"));
});
