/** Covers src/core/display_width.ts. */
import { assert, assertEquals } from "@std/assert";
import { lanTableLines, LiveLanTable } from "../../../src/cli/term/live_lan_table.ts";
import { displayWidth, fitWidth } from "../../../src/core/display_width.ts";
import { emptyRecord, type ServerRecord } from "../../../src/core/record.ts";
import { FoundServers } from "../../../src/scan/lan/mod.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";

/** A server in the list, with its last datagram at 1000 ms. */
function listed(last: number, over: Partial<ServerRecord> = {}) {
  const record = emptyRecord({ address: 0xc0a80100 + last, port: 19132 }, 0);
  return {
    row: { ...record, protocols: ["raknet"], name: `server ${last}`, ...over },
    seenAt: 1000,
  };
}

const SPACE = { now: 3500, columns: 100, lines: 20 };

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

Deno.test("the table shows players, latency and the time of the last datagram", () => {
  const lines = lanTableLines([
    listed(9, { players_online: 3, players_max: 20, latency_ms: 1.25, version: "1.21.50" }),
    listed(10, { players_max: 20, software: "Nukkit", protocols: ["raknet", "query"] }),
    listed(11, { protocols: ["nethernet"], name: "Steve", map: "My World" }),
    listed(12, { protocols: ["nethernet"], name: null }),
  ], SPACE);
  assertEquals(lines, [
    "SERVER              PROTOCOLS     PLAYERS  MS   SEEN  VERSION  NAME",
    "192.168.1.9:19132   raknet        3/20     1.3  2 s   1.21.50  server 9",
    "192.168.1.10:19132  raknet+query  ?/20          2 s            server 10 (Nukkit)",
    "192.168.1.11:19132  nethernet                   2 s            Steve - My World",
    "192.168.1.12:19132  nethernet                   2 s            (a NetherNet world)",
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
  const rows = [listed(1, over), listed(2, { ...over, protocols: ["nethernet"] })];
  for (const line of lanTableLines(rows, SPACE)) assert(!/[\p{Cc}\u202e\u200b]/u.test(line));
});

/** A terminal with only those escape sequences that the live table writes. */
class Terminal {
  lines: string[] = [];
  cursorShown = true;
  #row = 0;

  draw = (text: string) => {
    // deno-lint-ignore no-control-regex
    for (const [token] of text.matchAll(/\x1b\[[?]?\d*[a-zA-Z]|\r|\n|[^\x1b\r\n]+/g)) {
      if (token === "\x1b[?25l") this.cursorShown = false;
      else if (token === "\x1b[?25h") this.cursorShown = true;
      else if (token.endsWith("A")) this.#row -= parseInt(token.slice(2));
      else if (token === "\n") this.#row++;
      else if (token === "\x1b[J") this.lines.length = this.#row;
      else if (token === "\r" || token === "\x1b[K") continue;
      else this.lines[this.#row] = token;
    }
  };
}

Deno.test("the live table is redrawn in place, and restores the cursor", async () => {
  const network = new FakeNetwork(1);
  const servers = new FoundServers();
  const terminal = new Terminal();
  const meet = (last: number) =>
    servers.list(servers.getOrAdd(`${last}`, last, 5000, network.now())!, listed(last).row);
  const size = { columns: 80, rows: 10 };
  const live = new LiveLanTable({
    ...{ servers, networks: 1, clock: network, color: false, size: () => size },
    draw: terminal.draw,
  });
  const wait = (ms: number) => network.run(new Promise<void>((done) => network.after(ms, done)));
  await wait(1);
  assertEquals(terminal.lines, [
    "0 servers on 1 network; Ctrl-C to end",
    "SERVER  PROTOCOLS  PLAYERS  MS  SEEN  VERSION  NAME",
  ]);
  assertEquals(terminal.cursorShown, false);
  for (let i = 1; i <= 3; i++) meet(i);
  await wait(500);
  assertEquals(terminal.lines.length, 5);
  assertEquals(terminal.lines[0], "3 servers on 1 network; Ctrl-C to end");
  servers.forget(1e9);
  meet(7);
  live[Symbol.dispose]();
  live[Symbol.dispose]();
  assertEquals(terminal.lines.length, 3);
  assertEquals(terminal.lines[0], "1 server on 1 network");
  assert(terminal.lines[2].startsWith("192.168.1.7:19132"));
  assertEquals(terminal.cursorShown, true);
  await wait(2000);
  assertEquals(terminal.lines[0], "1 server on 1 network");
});

Deno.test("the smallest terminal has a table", async () => {
  const network = new FakeNetwork(1);
  const servers = new FoundServers();
  servers.list(servers.getOrAdd("1", 1, 5000, 0)!, listed(1).row);
  const terminal = new Terminal();
  using _live = new LiveLanTable({
    ...{ servers, networks: 1, clock: network, color: false, draw: terminal.draw },
    size: () => ({ columns: 1, rows: 1 }),
  });
  await network.run(new Promise<void>((done) => network.after(1, done)));
  assertEquals(terminal.lines, ["…", "…", "…"]);
});

Deno.test("lines that a narrower terminal has wrapped are counted as several rows", async () => {
  const network = new FakeNetwork(1);
  const servers = new FoundServers();
  servers.list(servers.getOrAdd("1", 1, 5000, 0)!, listed(1, { name: "x".repeat(100) }).row);
  const size = { columns: 100, rows: 10 };
  const drawn: string[] = [];
  const live = new LiveLanTable({
    ...{ servers, networks: 1, clock: network, color: true, size: () => ({ ...size }) },
    draw: (text) => drawn.push(text),
  });
  const tick = () => network.run(new Promise<void>((done) => network.after(500, done)));
  await tick();
  size.columns = 40;
  await tick();
  // The first line takes one row, the header two, and the line of the server three.
  assert(drawn.at(-1)!.startsWith("\x1b[6A\r"), JSON.stringify(drawn.at(-1)));
  live[Symbol.dispose]();
});
