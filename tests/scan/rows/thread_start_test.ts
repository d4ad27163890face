import { assertEquals } from "@std/assert";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { Aliases } from "../../../src/scan/rows/aliases.ts";
import { ThreadStart } from "../../../src/scan/rows/thread_start.ts";

/** A start whose thread does nothing, and what it was told. */
function scene(fails = false) {
  const log: string[] = [];
  const clock = { time: 0, now: () => clock.time };
  const thread = {
    isReady: false,
    begin: () => void log.push("begin"),
    make: () => Promise.reject(new Error("not called")),
    close: () => void log.push("close"),
  };
  const start = new ThreadStart(clock, () => {
    log.push("start");
    if (fails) throw new Error("no permission");
    return thread;
  });
  const aliases = new Aliases(new Uint8Array(8), PROTOCOLS);
  const note = (at: number, rows: number) => {
    clock.time = at;
    return start.note(rows, aliases);
  };
  return { log, note, thread, start };
}

Deno.test("a thread starts after 2,500 rows within a second, and gets the rows when it is ready", () => {
  const { log, note, thread, start } = scene();
  for (let at = 0; at < 20_000; at += 1010) note(at, 2499);
  assertEquals(log, []);
  note(30_000, 1250);
  assertEquals([note(30_900, 1250), log], [undefined, ["start"]]);
  assertEquals([note(40_000, 1), log], [undefined, ["start"]]);
  thread.isReady = true;
  assertEquals([note(50_000, 1), log], [thread, ["start", "begin"]]);
  start[Symbol.dispose]();
  assertEquals(log, ["start", "begin", "close"]);
});

Deno.test("if no thread can start, there is no second attempt", () => {
  const { log, note, start } = scene(true);
  assertEquals([note(0, 5000), note(1, 5000), log], [undefined, undefined, ["start"]]);
  start[Symbol.dispose]();
});
