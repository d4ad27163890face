import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { print, report, reportHarmless } from "../../../src/cli/term/console.ts";
import { WriteError } from "../../../src/sinks/sink.ts";
import { FULL, withFault } from "../failing_streams.ts";

const lost = Object.assign(new Error("Input/output error (os error 5)"), { code: "EIO" });
const closed = new Deno.errors.BrokenPipe("Broken pipe (os error 32)");

Deno.test("report() ignores failures of standard error, and throws internal errors", async () => {
  for (const fault of [lost, closed, FULL]) {
    await withFault("stderr", fault, () => Promise.resolve(report("x")));
  }
  await withFault("stderr", new TypeError("ours"), () => {
    assertThrows(() => report("x"), TypeError, "ours");
    return Promise.resolve();
  });
});

Deno.test("print() reports that standard output cannot be written", async () => {
  for (const fault of [FULL, closed, lost]) {
    await withFault("stdout", fault, async () => {
      await assertRejects(() => print("x"), WriteError, "Cannot write to standard output: ");
    });
  }
});

Deno.test("reportHarmless() prints no control character, and none that reorders text", () => {
  const { stderr } = Deno;
  const written: string[] = [];
  const real = stderr.writeSync;
  stderr.writeSync = (bytes) => {
    written.push(new TextDecoder().decode(bytes));
    return bytes.length;
  };
  try {
    reportHarmless("a\x1b[2Jb\rc\x07d\u202ee\nf");
  } finally {
    stderr.writeSync = real;
  }
  assertEquals(written.join(""), "a\u241b[2Jb\u240dc\u2407d\ufffde\u240af\n");
});
