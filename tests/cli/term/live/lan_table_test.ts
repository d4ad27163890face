/** Also covers src/core/display_width.ts and src/cli/term/live/live_table.ts. */
import { assert, assertEquals } from "@std/assert";
import { lanColumns, openLanTable } from "../../../../src/cli/term/live/lan_table.ts";
import { liveTableLines, type TableSpace } from "../../../../src/cli/term/live/live_table.ts";
import { displayWidth, fitWidth } from "../../../../src/core/display_width.ts";
import { emptyRecord, type ServerRecord } from "../../../../src/core/record.ts";
import { FoundServers, type Listed } from "../../../../src/scan/lan/found_servers.ts";
import { FakeNetwork } from "../../../../src/testing/fake_network.ts";
import { FakeTerminal } from "./fake_terminal.ts";

/** A server in the list, with its last datagram at 1000 ms. */
function listed(last: number, over: Partial<ServerRecord> = {}) {
  const record = emptyRecord({ address: 0xc0a80100 + last, port: 19132 }, 0);
  return {
    row: { ...record, protocols: ["raknet"], name: `server ${last}`, ...over },
    seenAt: 1000,
  };
}

const SPACE = { columns: 100, lines: 20 };

/** The lines of the table of `lan` at 3500 ms. */
function lanTableLines(first: readonly Listed[], space: TableSpace): string[] {
  return liveTableLines(lanColumns(3500), { first, all: first.length }, space);
}

Deno.test("the width of text is that on terminals", () => {
  const widths: readonly [string, number][] = [
    ["", 0],
    ["abc ~", 5],
    ["Straße", 6],
    ["大人気", 6],
    ["Ｆｕｌｌ", 8],
    ["한국", 4],
    ["🎮", 2],
    ["e\u0301", 1],
    ["🇩🇪", 2],
    ["сервер", 6],
    ["\ufffd", 1],
  ];
  for (const [text, width] of widths) assertEquals(displayWidth(text), width, text);
});

Deno.test("text is cut and filled to a width, never wider", () => {
  assertEquals(fitWidth("abc", 5), "abc  ");
  assertEquals(fitWidth("abcdef", 5), "abcd…");
  assertEquals(fitWidth("大人気", 5), "大人…");
  assertEquals(fitWidth("大人気", 4), "大… ");
  assertEquals(fitWidth("大", 1), "…");
  assertEquals(fitWidth("ab", 0), "");
  assertEquals(fitWidth("❤\ufe0fx", 3), "❤x ");
  const pile = `a${"\u0301".repeat(10_000)}`;
  assert(fitWidth(pile, 2000).length < 2010);
  for (const text of ["大人気サーバー", "a🎮b🎮c", "خادم", "x".repeat(1e6)]) {
    for (let columns = 0; columns < 20; columns++) {
      assertEquals(displayWidth(fitWidth(text, columns)), columns, text.slice(0, 9));
    }
  }
});

/** A world that replied to NetherNet's discovery. */
const WORLD = { protocols: ["nethernet"], extras: { nethernet: { network_id: "7" } } };

Deno.test("the table shows players, latency and the time of the last datagram", () => {
  const lines = lanTableLines([
    listed(9, { players_online: 3, players_max: 20, latency_ms: 1.25, version: "1.21.50" }),
    listed(10, { players_max: 20, software: "Nukkit", protocols: ["raknet", "query"] }),
    listed(11, { ...WORLD, name: "Steve", map: "My World" }),
    listed(12, { ...WORLD, name: null }),
    listed(13, { protocols: ["nethernet"], name: "Dedicated Server", map: "Bedrock level" }),
  ], SPACE);
  assertEquals(lines, [
    "SERVER              PROTOCOLS     PLAYERS  MS   SEEN  VERSION  NAME",
    "192.168.1.9:19132   raknet        3/20     1.3  2 s   1.21.50  server 9",
    "192.168.1.10:19132  raknet+query  ?/20          2 s            server 10 (Nukkit)",
    "192.168.1.11:19132  nethernet                   2 s            Steve - My World",
    "192.168.1.12:19132  nethernet                   2 s            (a NetherNet world)",
    "192.168.1.13:19132  nethernet                   2 s            Dedicated Server",
  ]);
});

Deno.test("a narrow terminal loses columns, and no line is too wide", () => {
  const rows = [listed(9, { name: "大人気サーバー".repeat(20), version: "1".repeat(1e5) })];
  for (let columns = 20; columns < 120; columns++) {
    const lines = lanTableLines(rows, { ...SPACE, columns });
    for (const line of lines) assert(displayWidth(line) <= columns, `${columns}: ${line}`);
    assert(lines[1].startsWith("192.168.1.9:19132"));
  }
  const titles = (columns: number) => lanTableLines(rows, { ...SPACE, columns })[0].split(/ +/);
  assertEquals(titles(40), ["SERVER", "NAME"]);
  assertEquals(titles(47), ["SERVER", "PLAYERS", "NAME"]);
  assertEquals(titles(60), ["SERVER", "PLAYERS", "MS", "SEEN", "NAME"]);
});

Deno.test("more servers than lines are counted", () => {
  const rows = Array.from({ length: 10 }, (_, i) => listed(i));
  assertEquals(lanTableLines(rows, { ...SPACE, lines: 11 }).length, 11);
  const lines = lanTableLines(rows, { ...SPACE, lines: 10 });
  assertEquals([lines.length, lines.at(-1)!.trim()], [10, "… and 2 more"]);
  assertEquals(lanTableLines(rows, { ...SPACE, lines: 2 }).length, 2);
});

Deno.test("text of servers cannot move the cursor", () => {
  const nasty = "\x1b[2J\r\n\u202e\u0007x\u200b\u009b";
  const over = { name: nasty, version: nasty, software: nasty, map: nasty };
  const rows = [listed(1, over), listed(2, { ...over, ...WORLD })];
  for (const line of lanTableLines(rows, SPACE)) assert(!/[\p{Cc}\u202e\u200b]/u.test(line));
});

/** A live table of a network, on a fake terminal. */
function openedTable(terminal: FakeTerminal, servers = new FoundServers()) {
  const network = new FakeNetwork(1);
  const { size, draw, signals } = terminal;
  const space = { clock: network, size, draw, signals };
  const live = openLanTable({ ...space, servers, networks: 1, color: false });
  const wait = (ms: number) => network.run(new Promise<void>((done) => network.after(ms, done)));
  const meet = (last: number, over: Partial<ServerRecord> = {}) =>
    servers.list(servers.getOrAdd(`${last}`, last, 5000, network.now())!, listed(last, over).row);
  return { live, servers, wait, meet };
}

Deno.test("the live table is redrawn in place, and its last state stays", async () => {
  const terminal = new FakeTerminal(80, 10);
  const { live, servers, wait, meet } = openedTable(terminal);
  await wait(1);
  assertEquals(terminal.rows, [
    "0 servers on 1 network; Ctrl-C to end",
    "SERVER  PROTOCOLS  PLAYERS  MS  SEEN  VERSION  NAME",
    "",
  ]);
  for (let i = 1; i <= 3; i++) meet(i);
  await wait(500);
  assertEquals(terminal.rows.length, 6);
  assertEquals(terminal.rows[0], "3 servers on 1 network; Ctrl-C to end");
  servers.forget(1e9);
  meet(7);
  live[Symbol.dispose]();
  live[Symbol.dispose]();
  assertEquals(terminal.rows.length, 4);
  assertEquals(terminal.rows[0], "1 server on 1 network");
  assert(terminal.rows[2].startsWith("192.168.1.7:19132"));
  await wait(2000);
  assertEquals(terminal.rows[0], "1 server on 1 network");
});

Deno.test("the live table leaves the cursor and the modes of the terminal alone", async () => {
  const terminal = new FakeTerminal(80, 10);
  const { live, wait, meet } = openedTable(terminal);
  meet(1);
  await wait(600);
  live[Symbol.dispose]();
  assert(!terminal.drawn.join("").includes("\x1b[?"));
});

Deno.test("the smallest terminal has a table", async () => {
  const terminal = new FakeTerminal(1, 3);
  const { live, wait, meet } = openedTable(terminal);
  meet(1);
  await wait(1);
  assertEquals(terminal.rows, ["…", "…", "…", ""]);
  live[Symbol.dispose]();
});

Deno.test("lines that a narrower terminal has wrapped are counted as several rows", async () => {
  const terminal = new FakeTerminal(100, 20);
  const { live, wait, meet } = openedTable(terminal);
  meet(1, { name: "x".repeat(100) });
  await wait(500);
  terminal.resize(40);
  await wait(500);
  // The first line takes one row, the header two, and the line of the server three.
  const [redrawn] = terminal.drawn.filter((text) => text.startsWith("\x1b[6A\r"));
  assert(redrawn !== undefined, JSON.stringify(terminal.drawn));
  assertEquals(terminal.rows.length, 4);
  live[Symbol.dispose]();
});
