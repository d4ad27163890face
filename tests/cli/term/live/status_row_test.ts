/** Covers src/cli/term/live/status_row.ts. */
import { assert, assertEquals } from "@std/assert";
import { StatusRow } from "../../../../src/cli/term/live/status_row.ts";
import { FakeTerminal } from "./fake_terminal.ts";

/** A line that fills a fake terminal but for its last column. */
function opened(isDumb?: boolean) {
  const terminal = new FakeTerminal(90, 24);
  terminal.print("$ blocksweep\n");
  const { size, draw } = terminal;
  const line = ({ columns }: { readonly columns: number }) =>
    "0123456789".repeat(9).slice(0, columns - 1);
  return { terminal, row: new StatusRow({ size, draw, isDumb }, line) };
}

Deno.test("a line that a narrower terminal has wrapped is erased with all its rows", () => {
  const { terminal, row } = opened();
  row.redraw();
  for (const columns of [45, 44, 30, 10, 90, 20]) {
    terminal.resize(columns);
    row.redraw();
    assertEquals(terminal.rows.filter((text) => /^\d/.test(text)).map(({ length }) => length), [
      columns - 1,
    ]);
  }
  terminal.resize(7);
  row[Symbol.dispose]();
  assertEquals(terminal.rows.join("").trim(), "$ blocksweep");
});

Deno.test("in a terminal of one width, and in a dumb one, the line has no escape sequences", () => {
  for (const columns of [90, 30]) {
    const { terminal, row } = opened(columns === 30);
    row.redraw();
    terminal.resize(columns);
    row.redraw();
    row[Symbol.dispose]();
    assert(!terminal.drawn.join("").includes("\x1b"));
  }
});
