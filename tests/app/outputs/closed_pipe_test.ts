/** Outputs whose readers close the pipe. */
import { assertEquals, assertRejects, unreachable } from "@std/assert";
import { whileRead } from "../../../src/app/outputs/closed_pipe.ts";
import { type Sink, WriteError } from "../../../src/sinks/sink.ts";

const CLOSED = new WriteError("Cannot write to it: Broken pipe", {
  cause: new Deno.errors.BrokenPipe("Broken pipe"),
});

const OUTPUTS = [{ path: "-" }, { path: "pipe" }];

/** A sink that fails from its second write on. */
function failing(error: Error | undefined, log: string[]): Sink {
  const name = `${log.length}`;
  log.push(name);
  let writes = 0;
  return {
    write: () => {
      log.push(`${name} write`);
      return writes++ > 0 && error !== undefined ? Promise.reject(error) : Promise.resolve();
    },
    flush: () => Promise.resolve(),
    position: () => 0,
    [Symbol.asyncDispose]: () => {
      log.push(`${name} closed`);
      return Promise.resolve();
    },
  };
}

Deno.test("an output whose reader has closed the pipe gets no more rows; the last such output fails", async () => {
  const log: string[] = [];
  const lines: string[] = [];
  const both = [failing(CLOSED, log), failing(CLOSED, log)];
  const { sinks, unread } = whileRead(both, OUTPUTS, (line) => lines.push(line));
  log.length = 0;
  await sinks[0].write([]);
  assertEquals([...unread], []);
  await sinks[0].write([]);
  await sinks[0].write([]);
  assertEquals([[...unread], log], [[0], ["0 write", "0 write"]]);
  const line = "blocksweep: the reader of standard output closed it; rows go to the other outputs";
  assertEquals(lines.splice(0), [line]);
  await sinks[1].write([]);
  await assertRejects(() => sinks[1].write([]), WriteError, "Broken pipe");
  for (const sink of sinks) await sink[Symbol.asyncDispose]();
  assertEquals([[...unread], log.slice(-2), lines], [[0], ["0 closed", "1 closed"], []]);
});

Deno.test("an output that fails for another reason ends the command, with and without other outputs", async () => {
  const full = new WriteError("Cannot write to it: No space left on device", {
    cause: new Error("No space left on device"),
  });
  const { sinks, unread } = whileRead(
    [failing(full, []), failing(undefined, [])],
    OUTPUTS,
    unreachable,
  );
  await sinks[0].write([]);
  await assertRejects(() => sinks[0].write([]), WriteError, "No space");
  assertEquals([...unread], []);
});
