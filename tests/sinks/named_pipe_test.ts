/** Tests of named pipes whose readers open them late. */
import { assertEquals, assertRejects } from "@std/assert";
import { hostPortFormat } from "../../src/sinks/text_formats.ts";
import { openFile, reopenFile } from "../../src/sinks/file_output.ts";
import type { ReaderWait } from "../../src/sinks/named_pipe.ts";
import { TextSink } from "../../src/sinks/sink.ts";
import { type Clock, systemClock } from "../../src/net/clock.ts";

/** A clock whose timers fire at once. */
const HASTY: Clock = {
  ...systemClock,
  after: (_, callback) => systemClock.after(0, callback),
};

/** A wait that records the reported pipes. */
function wait(signal?: AbortSignal, onReport = (_: string) => {}) {
  const reported: string[] = [];
  const report = (path: string) => {
    reported.push(path);
    onReport(path);
  };
  return { clock: HASTY, signal, report, reported } satisfies ReaderWait & { reported: string[] };
}

function test(name: string, fn: (pipe: string) => Promise<void>): void {
  Deno.test({
    name: `${name} (not on Windows)`,
    ignore: Deno.build.os === "windows",
    fn: async () => {
      const folder = await Deno.makeTempDir();
      try {
        await new Deno.Command("sh", { args: ["-c", `mkfifo ${folder}/pipe`] }).output();
        await fn(`${folder}/pipe`);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

const OPENINGS = {
  "for new rows": (pipe: string, wait: ReaderWait) => openFile(pipe, hostPortFormat, false, wait),
  "for more rows": (pipe: string, wait: ReaderWait) => openFile(pipe, hostPortFormat, true, wait),
  "for rows of a resumed scan": reopenFile,
};

for (const [purpose, open] of Object.entries(OPENINGS)) {
  test(`a signal ends the wait for a reader of a pipe that is opened ${purpose}`, async (pipe) => {
    const controller = new AbortController();
    const waiting = wait(controller.signal, () => controller.abort(new RangeError("enough")));
    await assertRejects(() => open(pipe, waiting), RangeError, "enough");
    assertEquals(waiting.reported, [pipe]);
  });

  test(`a pipe that is opened ${purpose} is opened when its reader comes`, async (pipe) => {
    const { promise: read, resolve } = Promise.withResolvers<string>();
    const waiting = wait(undefined, () => resolve(Deno.readTextFile(pipe)));
    {
      const { output } = await open(pipe, waiting);
      await using sink = new TextSink(output, hostPortFormat);
      await sink.write([]);
      await output.write(new TextEncoder().encode("row\n"));
    }
    assertEquals([await read, waiting.reported], ["row\n", [pipe]]);
  });
}

test("a pipe whose reader leaves at once is opened, and takes no rows", async (pipe) => {
  const { promise: left, resolve } = Promise.withResolvers<void>();
  const leave = async () => (await Deno.open(pipe)).close();
  const { output } = await openFile(
    pipe,
    hostPortFormat,
    false,
    wait(undefined, () => resolve(leave())),
  );
  await left;
  await assertRejects(() => output.write(new Uint8Array(1)), Deno.errors.BrokenPipe);
  await output[Symbol.asyncDispose]();
});

test("a pipe that is removed while no program reads it is an error", async (pipe) => {
  const waiting = wait(undefined, () => Deno.removeSync(pipe));
  await assertRejects(
    () => reopenFile(pipe, waiting),
    Error,
    `Cannot continue "${pipe}": No such`,
  );
});
