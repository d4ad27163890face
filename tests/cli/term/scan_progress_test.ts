/** Also covers src/cli/term/live/status_row.ts. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { isDumb } from "../../../src/cli/term/console.ts";
import { ScanMonitor } from "../../../src/app/scan/scan_monitor.ts";
import { scanStatus } from "../../../src/app/scan/scan_status.ts";
import { Progress } from "../../../src/cli/term/scan_progress.ts";
import { newState } from "../../../src/scan/setup/scan_state.ts";
import { emptyRecord } from "../../../src/core/record.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { FakeTerminal } from "./live/fake_terminal.ts";

/** A scan whose progress is shown on a terminal. */
function shown(display: "block" | "line", terminal: FakeTerminal) {
  const network = new FakeNetwork(1);
  const work = {
    sizes: { udp: [1000], tcp: [] },
    start: { udp: 0, tcp: 0 },
    cooldown: 1,
    connect: 1,
    maxRuntime: Infinity,
  };
  const state = { ...newState("x", 0), total: 1000 };
  const { size, draw, signals } = terminal;
  const monitor = new ScanMonitor({
    state,
    work,
    statusFile: undefined,
    clock: network,
    warn: () => {},
  });
  const progress = new Progress({
    monitor,
    limitedBy: "rate",
    display,
    color: false,
    everyMs: 0,
    terminal: { clock: network, size, draw, signals },
  });
  monitor.start();
  const tick = () => {
    state.visited += 100;
    return network.run(new Promise<void>((done) => network.after(500, done)));
  };
  return { progress, tick };
}

Deno.test("the status line is drawn in its place without escape sequences, for any terminal", async () => {
  const terminal = new FakeTerminal(80, 24);
  const { progress, tick } = shown("line", terminal);
  await tick();
  await tick();
  progress[Symbol.dispose]();
  progress[Symbol.dispose]();
  const text = terminal.drawn.join("");
  assert(!text.includes("\x1b") && !text.includes("\n"), JSON.stringify(text));
  const [, first, second, cleared, rest] = text.split("\r");
  assertStringIncludes(first, "10.0%  ETA ");
  assertStringIncludes(second, "20.0%  ETA ");
  assertEquals([cleared.trim(), rest], ["", ""]); // the old line is overwritten with spaces
  assert(cleared.length >= second.trimEnd().length);
});

Deno.test("the block is redrawn twice a second, is one line in a small terminal, and leaves nothing", async () => {
  const terminal = new FakeTerminal(80, 24);
  terminal.print("$ blocksweep\n");
  const { progress, tick } = shown("block", terminal);
  for (let i = 0; i < 4; i++) await tick();
  assertEquals(terminal.drawn.length, 4);
  assertStringIncludes(terminal.rows[1], " 40.0%  ETA ");
  assertEquals([terminal.rows.length, terminal.rows[0]], [7, "$ blocksweep"]);
  const server = { ...emptyRecord({ address: 0x7f000001, port: 19132 }, 0), name: "Lobby" };
  await progress.latest.write([server]);
  terminal.resize(80, 19);
  await tick();
  assert(terminal.rows[1].startsWith("0:03  50.0%  ETA "), terminal.rows[1]);
  assertEquals(terminal.rows.length, 3);
  terminal.resize(80, 20);
  await tick();
  assertEquals(terminal.rows[6], "found     127.0.0.1:19132      Lobby");
  progress[Symbol.dispose]();
  assertEquals(terminal.rows, ["$ blocksweep", ""]);
});

Deno.test("the status file has how many endpoints were omitted, and their hosts", () => {
  const state = newState("x", 0);
  state.replies.omitted = 3;
  state.omittedAt.push({ endpoint: { address: 0x7f000001, port: 9000 }, protocol: "sqp" });
  const { replies, omitted_at } = JSON.parse(JSON.stringify(scanStatus(state)));
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
