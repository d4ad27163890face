import { assert, assertEquals } from "@std/assert";
import { findAddedServers } from "../../../src/app/targets/added_servers.ts";
import { allEndpoints, knownEndpoints, lastServerId } from "../../../src/store/server_queries.ts";
import { addedServers } from "../../../src/app/targets/watch_targets.ts";
import { Store } from "../../../src/store/store.ts";
import type { WatchedServer } from "../../../src/watch/watched_server.ts";
import { onEngines } from "../../store/databases.ts";
import { record } from "../../store/records.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

const rules = {
  intervalMs: 60_000,
  downAfter: 3,
  scanId: "w",
  newEventId: () => "event",
  allProtocols: PROTOCOLS,
};

onEngines(
  "a database keeps a link-local address's zone, which watches use and scans leave out",
  async (db) => {
    const zones = ["eth0", "eth1"].map((zone) => record(1, { host: `fe80::1%${zone}` }));
    await new Store(db).write([...zones, record(2)]);
    const watched = await Array.fromAsync(addedServers(db, 0, { names: false, rules }));
    assertEquals(watched.map(({ identity }) => identity.key).sort(), [
      "127.0.0.1:2",
      "[fe80::1%eth0]:1",
      "[fe80::1%eth1]:1",
    ]);
    assertEquals(watched.map(({ subject }) => subject.host).sort(), [
      "127.0.0.1",
      "fe80::1%eth0",
      "fe80::1%eth1",
    ]);
    const known = (await Array.fromAsync(knownEndpoints(db))).flat();
    assertEquals(known.map(({ key }) => key), ["127.0.0.1:2"]);
    const all = await Array.fromAsync(allEndpoints(db));
    assertEquals(all.map(({ key }) => key), ["127.0.0.1:2"]);
  },
);

onEngines("a server that is added to the database is watched within a minute, once", async (db) => {
  const store = new Store(db);
  await store.write([record(1), record(2)]);
  const controller = new AbortController();
  const servers: WatchedServer[] = [];
  const added: (readonly [port: number, query: number])[] = [];
  const databases = new Map([[db, await lastServerId(db)]]);
  await store.write([record(3, { requested_as: "a.example" }), record(4)]);
  let step = 0;
  // The database is real, and the clock is not.
  const clock = {
    ...{ now: () => 0, wall: () => 0 },
    yieldToEvents: () => Promise.resolve(),
    pollSockets: () => Promise.resolve(),
    after: (ms: number, callback: () => void) => {
      assert(ms <= 60_000 / 2);
      void Promise.resolve().then(async () => {
        step++;
        if (step === 1) await store.write([record(5), record(4), record(6)]);
        if (step === 20) controller.abort();
        callback();
      });
      return () => {};
    },
  };
  await findAddedServers({
    databases,
    servers,
    names: false,
    rules,
    mayWatch: ({ endpoint }) => endpoint.port !== 6,
    add: (found) => found.forEach(({ endpoint }) => added.push([endpoint.port, step])),
    clock,
    signal: controller.signal,
  });
  assertEquals(added.map(([port]) => port).toSorted(), [1, 2, 3, 4, 5]);
  assert(servers.some(({ identity }) => identity.key === "a.example:3"));
  assertEquals(added.find(([port]) => port === 5), [5, 1]);
});
