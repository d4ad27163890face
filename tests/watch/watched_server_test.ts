import { assert, assertEquals } from "@std/assert";
import { formatEndpoint } from "../../src/core/address.ts";
import { emptyRecord, type ServerRecord } from "../../src/core/record.ts";
import * as query from "../../src/protocols/query/mod.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { queryProtocol } from "../../src/protocols/query/mod.ts";
import type { WatchEvent } from "../../src/store/events/watch_event.ts";
import {
  MAX_OFFLINE_INTERVAL_MS,
  RECHECK_MS,
  WatchedServer,
} from "../../src/watch/watched_server.ts";

const ENDPOINT = { address: 0x7f000001, port: 19132 };
const rules = {
  intervalMs: 60_000,
  downAfter: 3,
  scanId: "watch",
  newEventId: () => "event",
  allProtocols: PROTOCOLS,
};
const backoffRules = { ...rules, backoff: true };

const row = (over: Partial<ServerRecord> = {}): ServerRecord => ({
  ...emptyRecord(ENDPOINT, 5),
  host: "127.0.0.1",
  port: 19132,
  protocol: "raknet",
  protocols: ["raknet"],
  flags: [],
  motd: "Hi",
  version: "1.21",
  players_online: 3,
  players_max: 20,
  guid: "77",
  seen_at: 5,
  ...over,
});

/** Events without the members that all events have. */
const changesOf = (events: readonly WatchEvent[]): Readonly<Record<string, unknown>>[] =>
  events.map((
    {
      host: _,
      port: __,
      requested_as: ___,
      scan_id: ____,
      at: _____,
      id: ______,
      name: _______,
      ...rest
    },
  ) => rest);

function seen(): WatchedServer {
  const server = new WatchedServer(ENDPOINT, null, rules);
  server.addReply(row(), 1000);
  return server;
}

Deno.test("a server is reported online once, offline after downAfter failures, and online again", () => {
  const server = new WatchedServer(ENDPOINT, "play.example.org", rules);
  const [online, ...others] = server.addReply(row(), 1000);
  assertEquals(others, []);
  assertEquals(online, {
    event: "online",
    at: 1000,
    host: "127.0.0.1",
    port: 19132,
    requested_as: "play.example.org",
    scan_id: "watch",
    id: "event",
    name: null,
    server: row(),
    offline_ms: null,
  });
  assertEquals(server.addReply(row(), 2000), []);
  assertEquals([3000, 4000].map((at) => server.addFailure(at)), [[], []]);
  assertEquals(changesOf(server.addFailure(5000)), [{
    event: "offline",
    misses: 3,
    replied_at: 5,
    unresponsive_since: 3000,
  }]);
  assertEquals(server.addFailure(6000), []);
  const back = changesOf(server.addReply(row({ version: "1.22" }), 9000));
  assertEquals(back.map(({ event }) => event), ["online", "changed"]);
  assertEquals(back[0], { event: "online", server: row({ version: "1.22" }), offline_ms: 6000 });
});

Deno.test("every event has its own id, and the server's last name", () => {
  let count = 0;
  const newEventId = (at: number) => `${at}-${++count}`;
  const server = new WatchedServer(ENDPOINT, null, { ...rules, newEventId });
  const events = [
    ...[10, 20, 30].flatMap((at) => server.addFailure(at)),
    ...server.addReply(row({ name: "Hypixel" }), 40),
    ...server.addReply(row({ name: "Hive", motd: "Ho", players_online: 5 }), 50),
    ...[60, 70, 80].flatMap((at) => server.addFailure(at)),
    server.optedOut(90),
  ];
  assertEquals(events.map(({ event, id, name }) => [event, id, name]), [
    ["offline", "30-1", null],
    ["online", "40-2", "Hypixel"],
    ["changed", "50-3", "Hive"],
    ["players", "50-4", "Hive"],
    ["offline", "80-5", "Hive"],
    ["opted_out", "90-6", "Hive"],
  ]);
});

Deno.test("failures before a reply report no event", () => {
  const server = seen();
  server.addFailure(1);
  server.addFailure(2);
  assertEquals(server.addReply(row(), 3), []);
  assertEquals([server.addFailure(4), server.addFailure(5), server.misses], [[], [], 2]);
});

Deno.test("only a watch's own failed polls make a server offline, however many others there were", () => {
  const stored = { row: row(), online: true, probedAt: 5 };
  const server = new WatchedServer(ENDPOINT, null, rules, stored);
  assertEquals([10, 20].flatMap((at) => server.addFailure(at)), []);
  assertEquals(server.outage, undefined);
  assertEquals(server.addFailure(30).length, 1);
  assertEquals(server.outage, { misses: 3, since: 10, decisiveSince: 10 });
  server.addFailure(40);
  assertEquals(server.outage, { misses: 4, since: 10, decisiveSince: 20 });
  server.addReply(row(), 50);
  assertEquals(server.outage, undefined);
});

Deno.test("with backoff, a server that was offline for long before the watch keeps its long interval", () => {
  const hour = 3_600_000;
  const firstDelay = (probedAt: number) =>
    new WatchedServer(ENDPOINT, null, backoffRules, { row: row(), online: false, probedAt })
      .firstDelayMs(probedAt, () => 0.5);
  assertEquals([5, 20 * hour + 5, 1000 * hour].map(firstDelay), [60_000, hour / 3, hour]);
});

Deno.test("a server that never replied is reported offline once", () => {
  const server = new WatchedServer(ENDPOINT, null, rules);
  const reported = [1, 2, 3, 4, 5].flatMap((at) => server.addFailure(at));
  assertEquals(changesOf(reported), [{
    event: "offline",
    misses: 3,
    replied_at: null,
    unresponsive_since: 1,
  }]);
});

Deno.test("changes are reported per column; player counts and GUIDs have separate events", () => {
  const server = seen();
  assertEquals(changesOf(server.addReply(row({ motd: "Ho", players_max: 30 }), 1)), [
    { event: "changed", changes: { motd: ["Hi", "Ho"], players_max: [20, 30] } },
  ]);
  assertEquals(changesOf(server.addReply(row({ motd: "Ho", players_max: 30, guid: "78" }), 2)), [
    { event: "restarted", guid: ["77", "78"] },
  ]);
  const now = row({ motd: "Ho", players_max: 30, guid: "78", players_online: 4, seen_at: 9 });
  assertEquals(changesOf(server.addReply(now, 3)), [{ event: "players", players_online: [3, 4] }]);
  const plugins = [{ name: "A", version: null }];
  assertEquals(changesOf(server.addReply({ ...now, plugins }, 4)), [
    { event: "changed", changes: { plugins: [null, plugins] } },
  ]);
  assertEquals(server.addReply({ ...now, plugins: [...plugins] }, 5), []);
});

Deno.test("a GUID of 0 never means a restart", () => {
  const server = seen();
  assertEquals(
    ["0", "77", "0", "78"].flatMap((guid, at) => server.addReply(row({ guid }), at)),
    [],
  );
  assertEquals(changesOf(server.addReply(row({ guid: "79" }), 9)), [
    { event: "restarted", guid: ["78", "79"] },
  ]);
});

Deno.test("protocols declare which GUIDs show a restart, and which columns polls do not change", () => {
  const [{ verify }] = PROTOCOLS;
  const invented = {
    ...PROTOCOLS[1],
    guidChangesOnRestart: (guid: string) => guid !== "none",
    verify: { ...verify!, columns: ["map"] as const },
  };
  const server = new WatchedServer(ENDPOINT, null, { ...rules, allProtocols: [invented] });
  const guids = ["none", "a", "none", "0", "b"];
  const events = guids.flatMap((guid, at) => server.addReply(row({ guid, map: `${at}` }), at));
  assertEquals(changesOf(events.slice(1)), [{ event: "restarted", guid: ["0", "b"] }]);
  assertEquals(server.row?.map, "0");
});

Deno.test("an equal number of other players is a change if both replies name all players", () => {
  const server = new WatchedServer(ENDPOINT, null, rules);
  const poll = (players: string[], players_online: number, at: number) =>
    changesOf(server.addReply(row({ players, players_online }), at));
  poll(["Ann", "Bob"], 2, 1);
  assertEquals(poll(["Bob", "Eve"], 2, 2), [
    { event: "players", players_online: [2, 2], joined: ["Eve"], left: ["Ann"] },
  ]);
  assertEquals(poll(["Eve", "Bob"], 2, 3), []);
  assertEquals(poll(["Tom", "Zoe"], 2, 4).length, 1);
  // A sample of the players differs from reply to reply.
  poll(["Ann"], 40, 5);
  assertEquals(poll(["Bob"], 40, 6), []);
});

Deno.test("names of players are reported when records contain them", () => {
  const server = seen();
  server.addReply(row({ players: ["Ann", "Bob"], players_online: 2 }), 1);
  const reported = server.addReply(row({ players: ["Bob", "Eve", "Tom"], players_online: 3 }), 2);
  assertEquals(changesOf(reported), [
    { event: "players", players_online: [2, 3], joined: ["Eve", "Tom"], left: ["Ann"] },
  ]);
});

Deno.test("missing columns of an incomplete reply are not a change, until downAfter incomplete replies", () => {
  const both = row({ protocols: ["raknet", "query"], map: "world", plugins: [] });
  const less = row({ players_online: 4 });
  const server = new WatchedServer(ENDPOINT, null, rules);
  server.addReply(both, 0);
  assertEquals(changesOf(server.addReply(less, 1)), [{ event: "players", players_online: [3, 4] }]);
  assertEquals(server.addReply({ ...both, players_online: 4 }, 2), []);
  const reported = [3, 4, 5].flatMap((at) => server.addReply(less, at));
  assertEquals(changesOf(reported).map(({ event }) => event), ["changed"]);
  assertEquals(Object.keys((reported[0] as { changes: object }).changes), [
    "protocols",
    "map",
    "plugins",
  ]);
});

Deno.test("an incomplete reply changes what the protocols that replied publish", () => {
  const both = row({ protocols: ["raknet", "query"], map: "world", players_max: 21 });
  const server = new WatchedServer(ENDPOINT, null, rules);
  server.addReply(both, 0);
  const less = row({ motd: "Ho" });
  assertEquals(changesOf(server.addReply(less, 1)), [
    { event: "changed", changes: { motd: ["Hi", "Ho"] } },
  ]);
  assertEquals([server.row?.map, server.row?.players_max], ["world", 21]); // Query fills both first
  assertEquals([server.partial, server.dropped], [less, []]);
  server.addReply({ ...both, motd: "Ho" }, 2);
  assertEquals([server.partial, server.dropped], [undefined, []]);
  for (const at of [3, 4, 5, 6]) server.addReply(less, at);
  assertEquals([server.row, server.partial, server.dropped], [less, undefined, ["query"]]);
  server.addReply({ ...both, motd: "Ho" }, 7);
  assertEquals([server.dropped, server.row?.map], [[], "world"]);
});

Deno.test("a server that is back online keeps the parts that its first reply lacks", () => {
  const both = row({ protocols: ["raknet", "query"], map: "world", extras: {} });
  const server = new WatchedServer(ENDPOINT, null, rules);
  server.addReply(both, 0);
  for (const at of [1, 2, 3]) server.addFailure(at);
  assertEquals(changesOf(server.addReply(row(), 4)), [
    { event: "online", server: both, offline_ms: 3 },
  ]);
});

Deno.test("a new flag that a part of the status is missing makes a reply incomplete", () => {
  const both = row({ protocols: ["raknet", "query"], map: "world", plugins: [] });
  const eventsWith = (flag: string, allProtocols = PROTOCOLS) => {
    const server = new WatchedServer(ENDPOINT, null, { ...rules, allProtocols });
    server.addReply(both, 0);
    const lossy = { ...both, map: null, plugins: null, flags: [flag] };
    return [...server.addReply(lossy, 1), ...server.addReply(both, 2)].length;
  };
  const general = ["truncated", "statusLost", "statusMalformed", "cutShort"];
  for (const flag of [...general, "fullLost", "statLost"]) assertEquals(eventsWith(flag), 0, flag);
  assertEquals([eventsWith("badUtf8"), eventsWith("pageLost")], [2, 2]);
  const invented = { ...PROTOCOLS[0], name: "invented", incompleteFlags: ["pageLost"] };
  assertEquals(eventsWith("pageLost", [...PROTOCOLS, invented]), 0);
});

Deno.test("what differs only because replies lost parts is no change", () => {
  const whole = row({ map: "world", software: "Paper 1", plugins: [{ name: "a", version: "1" }] });
  const flags = ["truncated"];
  const server = new WatchedServer(ENDPOINT, null, rules);
  server.addReply({ ...whole, map: null, flags }, 0);
  const replies = [
    { ...whole, version: null, flags },
    { ...whole, map: null, software: null, flags },
    { ...whole, plugins: null, version: null, flags },
    whole,
    // Enough replies in a row lack the same parts, so that they lose their values.
    ...[1, 2, 3, 4].map(() => ({ ...whole, map: "wor", motd: null, plugins: [], flags })),
    whole,
  ];
  assertEquals(replies.flatMap((reply, at) => changesOf(server.addReply(reply, at + 1))), []);
  const cut = { ...whole, map: null, flags };
  server.addReply(cut, 20);
  server.addReply(cut, 21);
  server.addReply(cut, 22);
  server.addReply({ ...cut, map: "nether" }, 23);
  const next = (over: Partial<ServerRecord>) => changesOf(server.addReply({ ...cut, ...over }, 24));
  assertEquals([next({}), server.row?.map], [[], "nether"]);
  assertEquals(next({ map: "the end" }), [
    { event: "changed", changes: { map: ["nether", "the end"] } },
  ]);
  assertEquals(next({ map: "the end 2" }), [
    { event: "changed", changes: { map: ["the end", "the end 2"] } },
  ]);
});

Deno.test("a full stat without a NUL at its end changes nothing, whichever pair is the last", () => {
  const pairs = Object.entries({
    hostname: "Hi",
    gametype: "SMP",
    version: "1.21",
    map: "world",
    numplayers: "3",
    maxplayers: "20",
    server_engine: "gophertunnel",
  });
  const server = new WatchedServer(ENDPOINT, null, rules);
  const changes = pairs.flatMap((_, i) => {
    const text = [...pairs.slice(i), ...pairs.slice(0, i)].flat().join("\0");
    const bytes = new TextEncoder().encode(`\0\0\0\0\x01SPLITNUM\0?\0${text}`);
    bytes[14] = 0x80;
    const challenge = { session: 1, token: 1, raw: false, fill: 0, flags: [] };
    const status = { stat: query.decodeStat(bytes), challenge, fullLost: false };
    const { columns, flags } = queryProtocol.record(status);
    const found = { protocol: "query", protocols: ["query"], flags: [...flags] };
    return changesOf(server.addReply({ ...row(), ...columns, ...found }, i));
  });
  assertEquals(changes.map(({ event }) => event), ["online"]);
});

Deno.test("polls come soon after a failure, and at the interval to offline servers", () => {
  const server = seen();
  for (let at = 1; at < 1000; at++) {
    server.addFailure(at * 60_000);
    assertEquals(server.nextDelayMs(0.5), at < 3 ? RECHECK_MS : 60_000);
  }
  const never = new WatchedServer(ENDPOINT, null, rules);
  for (let i = 0; i < 50; i++) never.addFailure(i);
  assertEquals(never.nextDelayMs(0.5), 60_000);
});

Deno.test("with backoff, polls come soon after a failure, and seldom to offline servers", () => {
  const rules = backoffRules;
  const server = new WatchedServer(ENDPOINT, null, rules);
  server.addReply(row(), 1000);
  assertEquals(server.nextDelayMs(0.5), 60_000);
  assertEquals([server.nextDelayMs(0), server.nextDelayMs(1)], [54_000, 66_000].map((ms) => ms));
  let at = 1;
  const pauses = Array.from({ length: 400 }, () => {
    server.addFailure(at);
    const pause = server.nextDelayMs(0.5);
    at += pause;
    return pause;
  });
  assertEquals(pauses.slice(0, 3), [RECHECK_MS, RECHECK_MS, 60_000]);
  assert(pauses.slice(2, 60).every((ms) => ms === 60_000), "an hour at the usual interval");
  assert(pauses[120] > 60_000 && pauses[120] < 200_000, `${pauses[120]}`);
  assertEquals(pauses.at(-1), MAX_OFFLINE_INTERVAL_MS);
  server.addReply(row(), 2);
  assertEquals(server.nextDelayMs(0.5), 60_000);
  const never = new WatchedServer(ENDPOINT, null, rules);
  for (let i = 0; i < 5; i++) never.addFailure(i);
  assertEquals(never.nextDelayMs(0.5), 240_000); // it doubles
  const slow = new WatchedServer(ENDPOINT, null, {
    ...rules,
    intervalMs: 2 * MAX_OFFLINE_INTERVAL_MS,
  });
  for (let i = 0; i < 9; i++) slow.addFailure(i);
  assertEquals(slow.nextDelayMs(0.5), 2 * MAX_OFFLINE_INTERVAL_MS); // never below the interval of an online server
});

Deno.test("a watched server keeps its key in databases: its name, and what an SRV record led to", () => {
  const keys = [
    new WatchedServer(ENDPOINT, null, rules),
    new WatchedServer(ENDPOINT, "Play.example.org", rules),
    new WatchedServer(ENDPOINT, "a.example", rules, undefined, "a.example SRV mc.example:7"),
  ].map(({ identity, requestedAs }) => [identity.key, requestedAs]);
  assertEquals(keys, [
    [formatEndpoint(ENDPOINT), null],
    [`play.example.org:${ENDPOINT.port}`, "Play.example.org"],
    ["a.example", "a.example SRV mc.example:7"],
  ]);
});

Deno.test("failed polls of an online server move its last probe only when they make it offline", () => {
  const server = seen();
  const probedAfter = (at: number) => {
    server.addFailure(at);
    return server.known.probedAt;
  };
  assertEquals([2000, 3000].map(probedAfter), [1000, 1000]);
  server.forgetFailures();
  assertEquals(server.known.probedAt, 1000);
  assertEquals([4000, 5000, 6000, 7000].map(probedAfter), [1000, 1000, 6000, 7000]);
  const never = new WatchedServer(ENDPOINT, null, rules);
  never.addFailure(8000);
  assertEquals(never.known.probedAt, 8000);
});
