import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  print,
  printLines,
  reportFigures,
  reportLine,
  reportRaw,
} from "../../../src/cli/term/console.ts";
import { WriteError } from "../../../src/sinks/sink.ts";
import { FULL, withFault } from "../failing_streams.ts";

const lost = Object.assign(new Error("Input/output error (os error 5)"), { code: "EIO" });
const closed = new Deno.errors.BrokenPipe("Broken pipe (os error 32)");

Deno.test("reportRaw() ignores failures of standard error, and throws internal errors", async () => {
  for (const fault of [lost, closed, FULL]) {
    await withFault("stderr", fault, () => Promise.resolve(reportRaw("x")));
  }
  await withFault("stderr", new TypeError("ours"), () => {
    assertThrows(() => reportRaw("x"), TypeError, "ours");
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

Deno.test("printLines() keeps its lines, and prints no control character in them", async () => {
  const { stdout } = Deno;
  const written: string[] = [];
  const real = stdout.write;
  stdout.write = (bytes) => {
    written.push(new TextDecoder().decode(bytes));
    return Promise.resolve(bytes.length);
  };
  try {
    await printLines(["a\x1b[2J", "b\nc\u202e"]);
  } finally {
    stdout.write = real;
  }
  assertEquals(written.join(""), "a\u241b[2J\nb\u240ac\ufffd\n");
});

Deno.test("reportLine() prints no control character, and none that reorders text", () => {
  const { stderr } = Deno;
  const written: string[] = [];
  const real = stderr.writeSync;
  stderr.writeSync = (bytes) => {
    written.push(new TextDecoder().decode(bytes));
    return bytes.length;
  };
  try {
    reportLine("a\x1b[2Jb\rc\x07d\u202ee\nf");
    reportFigures("\x9b2J\u2067", { players: 1 });
  } finally {
    stderr.writeSync = real;
  }
  assertEquals(written.join(""), "a\u241b[2Jb\u240dc\u2407d\ufffde\u240af\n\ufffd2J\ufffd\n");
});
