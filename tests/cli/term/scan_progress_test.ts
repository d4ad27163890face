import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { isDumb } from "../../../src/cli/term/console.ts";
import { Progress, statusOf } from "../../../src/cli/term/scan_progress.ts";
import { newState } from "../../../src/scan/scan_state.ts";
import { withMessages } from "../failing_streams.ts";

/** Shows progress on a terminal. The test triggers each update. */
async function drawn(test: (tick: () => void) => void): Promise<string> {
  const { setInterval } = globalThis;
  const [, text] = await withMessages(() => {
    let tick = () => {};
    globalThis.setInterval = ((callback: () => void) => {
      tick = callback;
      return 0;
    }) as unknown as typeof setInterval;
    const work = {
      sizes: { udp: [1000], tcp: [] },
      start: { udp: 0, tcp: 0 },
      ...{ cooldown: 1, connect: 1, maxRuntime: Infinity },
    };
    const state = { ...newState("x", 0), total: 1000 };
    const showing = { state, work, limitedBy: "rate", terminal: true } as const;
    using _progress = new Progress({ ...showing, everyMs: 0, statusFile: undefined });
    test(() => {
      state.visited += 100;
      tick();
    });
    return Promise.resolve();
  }).finally(() => globalThis.setInterval = setInterval);
  return text;
}

Deno.test("the status line is drawn in its place without escape sequences, for any terminal", async () => {
  const text = await drawn((tick) => {
    tick();
    tick();
  });
  assert(!text.includes("\x1b") && !text.includes("\n"), JSON.stringify(text));
  const [, first, second, cleared, rest] = text.split("\r");
  assertStringIncludes(first, "10.0%  ETA ");
  assertStringIncludes(second, "20.0%  ETA ");
  assertEquals([cleared.trim(), rest], ["", ""]); // the old line is overwritten with spaces
  assert(cleared.length >= second.trimEnd().length);
});

Deno.test("the status file has how many endpoints were omitted, and their hosts", () => {
  const state = newState("x", 0);
  state.replies.omitted = 3;
  state.omittedAt.push({ endpoint: { address: 0x7f000001, port: 9000 }, protocol: "sqp" });
  const { replies, omitted_at } = JSON.parse(JSON.stringify(statusOf(state)));
  assertEquals([replies.omitted, omitted_at], [3, ["127.0.0.1:9000"]]);
});

Deno.test("a terminal without escape sequences is recognised by its name", () => {
  const before = Deno.env.get("TERM");
  try {
    Deno.env.set("TERM", "dumb");
    assertEquals(isDumb(), true);
    Deno.env.set("TERM", "xterm-256color");
    assertEquals(isDumb(), false);
  } finally {
    if (before === undefined) Deno.env.delete("TERM");
    else Deno.env.set("TERM", before);
  }
});
