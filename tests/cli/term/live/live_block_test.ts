import { assert, assertEquals } from "@std/assert";
import { LiveBlock } from "../../../../src/cli/term/live/live_block.ts";
import { print, reportRaw, writeRows } from "../../../../src/cli/term/console.ts";
import { FakeNetwork } from "../../../../src/testing/fake_network.ts";
import { FakeTerminal } from "./fake_terminal.ts";

/** A block of three lines on a fake terminal. */
function opened(columns = 40, height = 10) {
  const terminal = new FakeTerminal(columns, height);
  const network = new FakeNetwork(1);
  terminal.print("$ blocksweep\n");
  const lines = ["first 0", "a line of 30 columns..........", "last"];
  const { size, draw, signals } = terminal;
  const block = new LiveBlock({ clock: network, size, draw, signals }, () => [...lines]);
  const wait = (ms: number) => network.run(new Promise<void>((done) => network.after(ms, done)));
  return { terminal, lines, block, wait };
}

Deno.test("a block is redrawn in place, and shorter lines replace longer ones", () => {
  const { terminal, lines, block } = opened();
  block.redraw();
  assertEquals(terminal.rows, ["$ blocksweep", ...lines, ""]);
  lines[1] = "short";
  block.redraw();
  assertEquals(terminal.rows, ["$ blocksweep", "first 0", "short", "last", ""]);
  lines.pop();
  block.redraw();
  assertEquals(terminal.rows, ["$ blocksweep", "first 0", "short", ""]);
  block[Symbol.dispose]();
  assertEquals(terminal.rows, ["$ blocksweep", ""]);
  block.redraw();
  block.restore();
  assertEquals(terminal.rows, ["$ blocksweep", ""]);
  assertEquals(terminal.listeners.size, 0);
});

Deno.test("a block is not drawn into a line that is being written", () => {
  const { terminal, lines, block } = opened();
  block.redraw();
  block.erase();
  terminal.print("the first half, ");
  lines[0] = "first 1";
  block.redraw();
  terminal.print("and the second\n");
  block.restore();
  block.redraw();
  const row = "the first half, and the second";
  assertEquals(terminal.rows, ["$ blocksweep", row, ...lines, ""]);
});

Deno.test("the last lines of a block that ends stay on the terminal", () => {
  const { terminal, lines, block } = opened();
  block.redraw();
  lines[0] = "first 1";
  block.end();
  block.end();
  block[Symbol.dispose]();
  assertEquals(terminal.rows, ["$ blocksweep", ...lines, ""]);
  assertEquals(terminal.drawn.length, 2);
});

Deno.test("a block that ends before its first drawing draws nothing", () => {
  const { terminal, block } = opened();
  block.end();
  assertEquals(terminal.rows, ["$ blocksweep", ""]);
  assertEquals(terminal.listeners.size, 0);
});

Deno.test("a block stays in place at the bottom of a full terminal", () => {
  const { terminal, lines, block } = opened(40, 4);
  terminal.print("one\ntwo\n");
  for (let i = 0; i < 3; i++) block.redraw();
  assertEquals(terminal.rows, ["$ blocksweep", "one", "two", ...lines, ""]);
});

/** Runs a test while text goes to the fake terminal. */
async function atTerminal(terminal: FakeTerminal, test: () => void | Promise<void>) {
  const { stdout, stderr } = Deno;
  const before = [stdout, stderr].map(({ write, writeSync, isTerminal }) => ({
    write,
    writeSync,
    isTerminal,
  }));
  const writeSync = (bytes: Uint8Array) => {
    terminal.print(new TextDecoder().decode(bytes));
    return bytes.length;
  };
  const write = (bytes: Uint8Array) => Promise.resolve(writeSync(bytes));
  for (const stream of [stdout, stderr]) {
    Object.assign(stream, { write, writeSync, isTerminal: () => true });
  }
  try {
    await test();
  } finally {
    Object.assign(stdout, before[0]);
    Object.assign(stderr, before[1]);
  }
}

Deno.test("messages, results and rows appear above a block", async () => {
  const { terminal, lines, block } = opened();
  await atTerminal(terminal, async () => {
    reportRaw("before the first drawing\n");
    block.redraw();
    reportRaw("a message\n");
    await print("a result");
    await writeRows(new TextEncoder().encode("a row\n"));
    await writeRows(new TextEncoder().encode("a part of a row, "));
    assertEquals(terminal.rows.at(-1), "a part of a row, ");
    await writeRows(new TextEncoder().encode("and its end\n"));
    block.redraw();
  });
  assertEquals(terminal.rows, [
    "$ blocksweep",
    "before the first drawing",
    "a message",
    "a result",
    "a row",
    "a part of a row, and its end",
    ...lines,
    "",
  ]);
  block[Symbol.dispose]();
  await atTerminal(terminal, () => reportRaw("after the end\n"));
  assertEquals(terminal.rows.slice(-2), ["after the end", ""]);
});

Deno.test("text for a file or a pipe does not redraw a block", async () => {
  const { terminal, block } = opened();
  block.redraw();
  const { write, isTerminal } = Deno.stdout;
  Object.assign(Deno.stdout, {
    write: (bytes: Uint8Array) => Promise.resolve(bytes.length),
    isTerminal: () => false,
  });
  await print("a result").finally(() => Object.assign(Deno.stdout, { write, isTerminal }));
  assertEquals(terminal.drawn.length, 1);
  block[Symbol.dispose]();
});

Deno.test("a block follows the size of the terminal, with at most ten drawings a second", async () => {
  const { terminal, lines, block, wait } = opened();
  block.redraw();
  terminal.resize(20);
  for (let i = 0; i < 20; i++) terminal.listeners.get("SIGWINCH")!();
  assertEquals(terminal.drawn.length, 1);
  await wait(101);
  assertEquals(terminal.drawn.length, 2);
  // The line of 30 columns took two rows.
  assert(terminal.drawn[1].startsWith("\x1b[4A\r"), JSON.stringify(terminal.drawn[1]));
  assertEquals(terminal.rows.slice(0, 2), ["$ blocksweep", "first 0"]);
  lines[1] = "narrow";
  block.redraw();
  terminal.resize(60);
  await wait(101);
  assertEquals(terminal.rows, ["$ blocksweep", ...lines, ""]);
  block[Symbol.dispose]();
});

Deno.test("a block is erased in a terminal whose size has changed since", () => {
  const { terminal, block } = opened();
  block.redraw();
  terminal.resize(15);
  block[Symbol.dispose]();
  assertEquals(terminal.rows, ["$ blocksweep", ""]);
});

Deno.test("after a suspension a block is drawn below what the shell has printed", async () => {
  const { terminal, lines, block, wait } = opened(40, 20);
  block.redraw();
  terminal.print("^Z\n[1]+ Stopped\n$ fg\nblocksweep\n");
  await wait(5000);
  block.redraw(); // a timer that expired meanwhile comes before the signal
  terminal.listeners.get("SIGCONT")!();
  await wait(100);
  const shell = ["^Z", "[1]+ Stopped", "$ fg", "blocksweep"];
  assertEquals(terminal.rows, ["$ blocksweep", ...lines, ...shell, ...lines, ""]);
  block[Symbol.dispose]();
  assertEquals(terminal.rows, ["$ blocksweep", ...lines, ...shell, ""]);
});

Deno.test("a block is drawn soon after the program was busy for long", async () => {
  const { terminal, lines, block, wait } = opened();
  block.redraw();
  await wait(5000);
  lines[0] = "first 1";
  block.redraw();
  await wait(60);
  assertEquals(terminal.rows, ["$ blocksweep", ...lines, ""]);
  block[Symbol.dispose]();
});
