/**
 * Covers src/store/history_queries.ts, src/store/server_queries.ts, src/store/queries/stored_fields.ts
 * and src/store/rows/addresses.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { parseAddress } from "../../src/core/address.ts";
import { type Database, timeParameter } from "../../src/store/database/database.ts";
import {
  allEndpoints,
  allServers,
  countServers,
  knownEndpoints,
  lastServerId,
  selectServers,
  serversAfter,
  type ServerSelection,
} from "../../src/store/server_queries.ts";
import { STORED_FIELDS } from "../../src/store/queries/stored_fields.ts";
import {
  countObservations,
  historyOf,
  serversOfHost,
  serverWithKey,
} from "../../src/store/history_queries.ts";
import { Store } from "../../src/store/store.ts";
import { writeImportedRecords } from "../../src/store/writers/import_writer.ts";
import { onEngines, setClock } from "./databases.ts";
import { record, scanId } from "./records.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

async function ports(database: Database, selection: Partial<ServerSelection>): Promise<number[]> {
  const found: number[] = [];
  const all: ServerSelection = { sort: "address", ...selection };
  for await (const one of selectServers(database, all)) {
    found.push(one.port);
    assertEquals(Object.keys(one).sort(), STORED_FIELDS.map(({ name }) => name as string).sort());
  }
  const { limit = 1e6 } = selection;
  assertEquals(await countServers(database, all, limit), found.length);
  return found;
}

async function fill(database: Database): Promise<void> {
  const store = new Store(database, () => Promise.resolve());
  await store.write([
    record(1, { version: "1.21", players_online: 5, software: "Paper", seen_at: 1000 }),
    record(2, { version: "1.21.50", players_online: null, name: "100% _Ärger_", seen_at: 1003 }),
    record(3, {
      version: "1.210",
      players_online: 9,
      software: "Purpur",
      map: "sky",
      seen_at: 1001,
    }),
    record(4, { version: "v1.21.50", players_online: 0, motd_plain: "SKY \\o/", seen_at: 1002 }),
  ]);
  await database.run(
    "update server_state set online = false where server = (select id from servers where port = 3)",
  );
  await database.run("update servers set changed_at = first_seen");
}

onEngines(
  "each filter selects servers, and combined filters select their intersection",
  async (db) => {
    await fill(db);
    assertEquals(await ports(db, {}), [1, 2, 3, 4]);
    assertEquals(await ports(db, { online: true }), [1, 2, 4]);
    assertEquals(await ports(db, { version: ["1.21"] }), [1, 2, 4]);
    assertEquals(await ports(db, { version: ["1.21.50"] }), [2, 4]);
    assertEquals(await ports(db, { version: ["1.9..1.21"] }), [1, 2, 4]);
    assertEquals(await ports(db, { version: [">1.21"] }), [3]);
    assertEquals(await ports(db, { version: ["V1.21"] }), [4]);
    assertEquals(await ports(db, { software: ["PU"] }), [3]);
    assertEquals(await ports(db, { minPlayers: 0 }), [1, 3, 4]);
    assertEquals(await ports(db, { minPlayers: 6 }), [3]);
    assertEquals(await ports(db, { text: ["sky"] }), [3, 4]);
    assertEquals(await ports(db, { since: 1001 }), [2, 4]);
    assertEquals(await ports(db, { online: true, text: ["sky"], since: 1, minPlayers: 0 }), [4]);
  },
);

onEngines("wildcards and quotes in a user's text have no special meaning", async (db) => {
  await fill(db);
  for (
    const [text, found] of [["100%", [2]], ["0% _ä", [2]], ["%", [2]], ["_", [2]], ["\\o", [4]]]
  ) {
    assertEquals(await ports(db, { text: [text as string] }), found as number[], text as string);
  }
  for (const text of ["'", '"', "' or 1=1 --", "\0", "\ud800", "a?b", "$1", "\\", "\\\\"]) {
    const found = text === "\\" ? [4] : [];
    assertEquals(await ports(db, { text: [text] }), found, text);
    assertEquals(await ports(db, { software: [text], version: [text] }), []);
  }
});

onEngines("servers are sorted and limited", async (db) => {
  await fill(db);
  assertEquals(await ports(db, { sort: "players" }), [1, 4, 2, 3]);
  assertEquals(await ports(db, { sort: "players", limit: 2 }), [1, 4]);
  assertEquals(await ports(db, { sort: "changed" }), [2, 4, 3, 1]);
  assertEquals(await ports(db, { sort: "changed", limit: 2, online: true }), [2, 4]);
  assertEquals(await ports(db, { sort: "changed", limit: 1, software: ["pu"] }), [3]);
  assertEquals(await ports(db, { sort: "new", limit: 1 }), [2]);
  assertEquals((await ports(db, { sort: "name" })).toSorted(), [1, 2, 3, 4]);
});

onEngines(
  "versions are sorted by their numbers, names by code point, and addresses as numbers",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    const versions = ["1.21", "1.9", null, "1.21.50", "1.210", "1.9.1", "v1", "1.09"];
    await store.write(versions.map((version, i) => record(i + 1, { version })));
    const byVersion = await Array.fromAsync(selectServers(db, { sort: "version" }));
    assertEquals(byVersion.map(({ version }) => version), [
      ...[null, "1.9", "1.09", "1.9.1", "1.21", "1.21.50", "1.210", "v1"],
    ]);
    const names = ["b", "ａ", " C", null, "a"]; // full width, and a leading space
    const hosts = ["127.0.0.10", "127.0.0.9", "::1", "9.0.0.1", "2001:db8::1"];
    await store.write(names.map((name, i) => record(i + 20, { name, host: hosts[i] })));
    const byName = await Array.fromAsync(selectServers(db, { sort: "name" }));
    const some = byName.filter(({ port }) => port >= 20);
    assertEquals(some.map(({ name }) => name), [null, "ａ", "a", "b", " C"]);
    const byAddress = await Array.fromAsync(selectServers(db, { sort: "address" }));
    assertEquals(byAddress.filter(({ port }) => port >= 20).map(({ host }) => host), [
      ...["9.0.0.1", "127.0.0.9", "127.0.0.10", "::1", "2001:db8::1"],
    ]);
  },
);

onEngines(
  "--since and --sort changed concern changes of content and state, not polls and players",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    setClock(db, 1000);
    await store.write([record(1, { seen_at: 1000 }), record(2, { seen_at: 1000 })]);
    setClock(db, 2000);
    await store.write([record(1, { seen_at: 2000, players_online: 7, latency_ms: 9 })]);
    assertEquals(await ports(db, { since: 1000 }), []);
    setClock(db, 3000);
    await store.write([record(2, { seen_at: 3000, motd: "other" })]);
    assertEquals(await ports(db, { since: 1000 }), [2]);
    assertEquals(await ports(db, { sort: "changed" }), [2, 1]);
    const [{ changed_at }] = await Array.fromAsync(selectServers(db, { sort: "changed" }));
    assertEquals(changed_at, 3000);
  },
);

onEngines("--since selects late rows by the time when the database got them", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  setClock(db, 5000);
  await store.write([record(1, { seen_at: 4900 }), record(2, { seen_at: 4900 })]);
  assertEquals(await ports(db, { since: 5000 }), []);
  setClock(db, 6000);
  await store.write([record(1, { seen_at: 4950, motd: "from a spill file" })]);
  const state = { online: true, missed_scans: 0, first_seen: 10, probed_at: 20 };
  await writeImportedRecords(db, [
    { ...record(3, { seen_at: 20 }), ...state },
    { ...record(2, { seen_at: 20, motd: "older than the row" }), ...state },
  ], PROTOCOLS);
  assertEquals(await ports(db, { since: 5000 }), [1, 3]);
  setClock(db, 7000);
  await writeImportedRecords(db, [{ ...record(3, { seen_at: 20 }), ...state }], PROTOCOLS);
  assertEquals(await ports(db, { since: 6000 }), []);
});

onEngines("--flag selects the servers with a flag in their last reply", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  await store.write([record(1, { flags: ["a", "b"] }), record(2, { flags: ["b"] }), record(3)]);
  assertEquals(await ports(db, { flag: ["b"] }), [1, 2]);
  await store.write([record(1, { flags: ["a"], seen_at: 2000 })]);
  assertEquals(await ports(db, { flag: ["b"], sort: "players", limit: 9 }), [2]);
  assertEquals(await ports(db, { flag: ["' or 1=1"] }), []);
});

onEngines("a query with more servers than one fetch reads each once", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  await store.write(Array.from({ length: 2500 }, (_, i) => record(i + 1)));
  const found = await ports(db, { sort: "changed" });
  assertEquals([found.length, new Set(found).size], [2500, 2500]);
  for await (const _ of selectServers(db, { sort: "players" })) break; // leaving the loop closes the query
  assertEquals((await ports(db, { limit: 3 })).length, 3);
});

onEngines(
  "a history has the last observations of one server, oldest first",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    for (let scan = 1; scan <= 5; scan++) {
      const rest = { scan_id: scanId(scan), seen_at: scan, players_online: scan };
      await store.write([record(1, rest), record(2, rest)]);
    }
    const seen = await historyOf(db, 1, 3);
    assertEquals(
      seen.map(({ seen_at, players_online, online }) => [seen_at, players_online, online]),
      [
        [3, 3, true],
        [4, 4, true],
        [5, 5, true],
      ],
    );
    assertEquals(await historyOf(db, 9, 3), []);
    const counts = [1, 9].map((id) => countObservations(db, id));
    assertEquals(await Promise.all(counts), [5, 0]);
    const ports = async (host: string) => (await serversOfHost(db, host)).map(({ port }) => port);
    assertEquals(await ports("127.0.0.1"), [1, 2]);
    assertEquals(await ports("' or ''='"), []);
    assertEquals(await serverWithKey(db, "' or ''='"), undefined);
  },
);

onEngines("endpoints have the time since which their state holds", async (db) => {
  await fill(db);
  const time = timeParameter(db);
  const set = (sql: string, port: number, ...times: number[]) =>
    db.run(`${sql} = (select id from servers where port = ${port})`, times);
  await db.run("delete from events");
  await db.run(`update servers set first_seen = ${time}`, [1_000]);
  await db.run(`update server_state set online = true, probed_at = ${time}`, [9_000]);
  await set(`update server_state set online = false, replied_at = ${time} where server`, 2, 4_000);
  for (const [kind, at] of [["online", 5_000], ["online", 6_000], ["offline", 7_000]] as const) {
    await db.run(
      "insert into events (id, at, server, kind, data) " +
        `select ?, ${time}, id, ?, '{}' from servers where port = 3`,
      [crypto.randomUUID(), at, kind],
    );
  }
  const states = (await Array.fromAsync(allEndpoints(db)))
    .map(({ endpoint: { port }, online, since, probedAt }) => [port, online, since, probedAt]);
  assertEquals(states.toSorted(), [
    [1, true, 1_000, 9_000],
    [2, false, 4_000, 9_000],
    [3, true, 6_000, 9_000],
    [4, true, 1_000, 9_000],
  ]);
});

onEngines("all servers, those after a number, and all endpoints are streamed", async (db) => {
  assertEquals(await lastServerId(db), 0);
  assertEquals(await Array.fromAsync(allEndpoints(db)), []);
  await fill(db);
  await new Store(db, () => Promise.resolve()).write([
    record(5, { host: "2001:db8::1", requested_as: "a.example", protocols: ["slp"] }),
  ]);
  const last = await lastServerId(db);
  const portsOf = async (servers: AsyncIterable<{ port: number }>) =>
    (await Array.fromAsync(servers)).map(({ port }) => port);
  assertEquals((await portsOf(allServers(db))).sort(), [1, 2, 3, 4, 5]);
  assertEquals(await portsOf(serversAfter(db, 0)), [1, 2, 3, 4, 5]);
  assertEquals(await portsOf(serversAfter(db, last - 2)), [4, 5]);
  assertEquals(await portsOf(serversAfter(db, last)), []);
  const endpoints = (await Array.fromAsync(allEndpoints(db))).toSorted((a, b) =>
    a.endpoint.port - b.endpoint.port
  );
  assertEquals(
    [endpoints[0], endpoints[4]].map(({ endpoint, protocols, requestedAs }) => ({
      endpoint,
      protocols,
      requestedAs,
    })),
    [
      {
        endpoint: { address: 0x7f000001, port: 1 },
        protocols: ["raknet", "query"],
        requestedAs: null,
      },
      {
        endpoint: { address: parseAddress("2001:db8::1")!, port: 5 },
        protocols: ["slp"],
        requestedAs: "a.example",
      },
    ],
  );
  assert(endpoints[0].protocols === endpoints[1].protocols, "equal lists use memory once");
  await db.script("update servers set protocols = '{}' where port = 1");
  if (db.engine === "sqlite") await db.script("update servers set address = 'x' where port = 2");
  const broken: string[] = [];
  const read = allEndpoints(db, ({ key, column }) => broken.push(`${key} ${column}`));
  const found = (await Array.fromAsync(read)).map(({ endpoint, protocols }) =>
    `${endpoint.port} ${protocols}`
  );
  const all = ["1 ", "2 raknet,query", "3 raknet,query", "4 raknet,query", "5 slp"];
  const isSqlite = db.engine === "sqlite";
  assertEquals(found.sort(), all.filter((one) => !isSqlite || !one.startsWith("2")));
  const known = (await Array.fromAsync(knownEndpoints(db))).flat();
  assertEquals(
    known.map(({ endpoint: { port }, protocols }) => `${port} ${protocols}`).sort(),
    found,
  );
  assertEquals(broken.sort(), [
    "127.0.0.1:1 protocols",
    ...isSqlite ? ["127.0.0.1:2 address"] : [],
  ]);
});
