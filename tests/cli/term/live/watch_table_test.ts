import { assert, assertEquals } from "@std/assert";
import { liveTableLines } from "../../../../src/cli/term/live/live_table.ts";
import {
  firstServers,
  openWatchTable,
  watchColumns,
} from "../../../../src/cli/term/live/watch_table.ts";
import { displayWidth } from "../../../../src/core/display_width.ts";
import { emptyRecord, type ServerRecord } from "../../../../src/core/record.ts";
import { FakeNetwork } from "../../../../src/testing/fake_network.ts";
import { newWatchCounts } from "../../../../src/watch/watch.ts";
import { WatchedServer } from "../../../../src/watch/watched_server.ts";
import { FakeTerminal } from "./fake_terminal.ts";
import { PROTOCOLS } from "../../../../src/protocols/list.ts";

const RULES = {
  intervalMs: 5000,
  downAfter: 3,
  scanId: "s",
  newEventId: () => "e",
  allProtocols: PROTOCOLS,
};

/** A watched server that has not been polled. */
function watched(last: number, name: string | null = null): WatchedServer {
  return new WatchedServer({ address: 0x0a000000 + last, port: 19132 }, name, RULES);
}

/** A watched server that has replied at 1000 ms. */
function online(last: number, over: Partial<ServerRecord> = {}): WatchedServer {
  const server = watched(last);
  const record = { ...emptyRecord(server.endpoint, 1000), name: `server ${last}`, ...over };
  server.addReply(record, 1000).forEach((event) => server.reported(event));
  return server;
}

function failed(server: WatchedServer, times: number): WatchedServer {
  for (let i = 0; i < times; i++) {
    server.addFailure(2000).forEach((event) => server.reported(event));
  }
  return server;
}

Deno.test("the table shows whether servers are online, and their last status", () => {
  const servers = [
    online(1, { players_online: 3, players_max: 20, latency_ms: 1.25, version: "1.21.50" }),
    failed(online(2), 1),
    failed(online(3), 3),
    watched(4, "play.example.org"),
    failed(watched(5), 3),
  ];
  const lines = liveTableLines(watchColumns(66_000), { first: servers, all: 5 }, {
    columns: 100,
    lines: 20,
  });
  assertEquals(lines, [
    "SERVER                  STATUS   PLAYERS  MS   SEEN  VERSION  NAME",
    "10.0.0.1:19132          online   3/20     1.3  65 s  1.21.50  server 1",
    "10.0.0.2:19132          1 miss                 65 s           server 2",
    "10.0.0.3:19132          offline                65 s           server 3",
    "play.example.org:19132",
    "10.0.0.5:19132          offline",
  ]);
  const ages = [99, 100, 5999, 6000, 359_999, 360_000, 3.6e8].map((seconds) =>
    watchColumns(1000 * seconds + 1000).find(({ title }) => title === "SEEN")!.text(servers[0])
  );
  assertEquals(ages, ["99 s", "1 min", "99 min", "1 h", "99 h", "4 d", "4,166 d"]);
});

Deno.test("a server is shown as offline when that is reported, and not before", () => {
  const server = online(1);
  const statuses = () => [
    watchColumns(1000)[1].text(server),
    firstServers([online(2), server], 1).first[0] === server,
  ];
  const events = [1, 2, 3, 4].flatMap((at) => server.addFailure(at));
  assertEquals([server.online, ...statuses()], [false, "4 misses", true]);
  events.forEach((event) => server.reported(event));
  assertEquals(statuses(), ["offline", true]);
  const again = server.addReply({ ...emptyRecord(server.endpoint, 5) }, 5);
  assertEquals([server.online, ...statuses()], [true, "offline", true]);
  again.forEach((event) => server.reported(event));
  assertEquals(statuses(), ["online", false]);
});

Deno.test("servers that are offline or miss polls come first", () => {
  const servers = [online(1), failed(online(2), 1), online(3), failed(online(4), 3), watched(5)];
  const ends = (most: number) =>
    firstServers(servers, most).first.map(({ endpoint: { address } }) => Number(address) & 255);
  assertEquals(ends(9), [4, 2, 1, 3, 5]);
  assertEquals(ends(2), [4, 2]);
  assertEquals(firstServers(servers, 2).all, 5);
});

Deno.test("the live table leaves half of the terminal for events", async () => {
  const terminal = new FakeTerminal(80, 20);
  const network = new FakeNetwork(1);
  const { size, draw, signals } = terminal;
  const servers = Array.from({ length: 30 }, (_, i) => online(i));
  const counts = { ...newWatchCounts(), polls: 31, events: 1 };
  const live = openWatchTable({
    clock: network,
    size,
    draw,
    signals,
    servers,
    counts,
    color: false,
  });
  await network.run(new Promise<void>((done) => network.after(1, done)));
  assertEquals(terminal.rows.length, 12);
  assertEquals(
    [terminal.rows[0], terminal.rows[10]],
    ["30 of 30 endpoints online; 31 polls, 1 event; Ctrl-C to end", "… and 22 more".padEnd(79)],
  );
  failed(servers[20], 3);
  live[Symbol.dispose]();
  assertEquals(terminal.rows[0], "29 of 30 endpoints online; 31 polls, 1 event");
  assert(terminal.rows[2].startsWith("10.0.0.20:19132  offline"), terminal.rows[2]);
});

Deno.test("text of servers cannot move the cursor or widen the table", () => {
  const nasty = "\x1b[2J\r\n\u202e\u0007大人気\u200b\u009b".repeat(100);
  const first = [online(1, { name: nasty, version: nasty })];
  for (let columns = 20; columns < 120; columns++) {
    for (const line of liveTableLines(watchColumns(0), { first, all: 1 }, { columns, lines: 9 })) {
      assert(displayWidth(line) <= columns, `${columns}: ${line}`);
      assert(!/[\p{Cc}\u202e\u200b]/u.test(line), JSON.stringify(line));
    }
  }
});
