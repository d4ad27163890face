import { assert, assertEquals } from "@std/assert";
import { findAddedServers } from "../../../src/app/targets/added_servers.ts";
import { lastServerId } from "../../../src/store/server_queries.ts";
import { Store } from "../../../src/store/store.ts";
import type { WatchedServer } from "../../../src/watch/mod.ts";
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
