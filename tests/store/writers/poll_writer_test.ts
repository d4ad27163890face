import { assertEquals } from "@std/assert";
import type { ServerRecord } from "../../../src/core/record.ts";
import { historyOf } from "../../../src/store/history_queries.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { identityOf } from "../../../src/store/rows/identity.ts";
import { allServers } from "../../../src/store/server_queries.ts";
import type { PolledServer } from "../../../src/store/writers/polls.ts";
import { Store } from "../../../src/store/store.ts";
import { all, onEngines, setClock, storedServers } from "../databases.ts";
import { outageAt, writePolled } from "../polls.ts";
import { NASTY, record, scanId, watchId } from "../records.ts";

const identity = identityOf(record(1))!;
const polled = (at: number, rest: Partial<PolledServer>) => ({ identity, at, ...rest });
const state = (at: number, response?: ReturnType<typeof record>) => ({
  scanId: watchId(1),
  identity,
  at,
  record: response,
});

onEngines("a watch writes each server's state and each observation once", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  await store.write([record(1, { alias_of: "127.0.0.1:9", joinable: true, players: ["Ann"] })]);
  const seen = record(1, { seen_at: 5000, players_online: 7, players: null, scan_id: watchId(1) });
  const write = () => writePolled(db, [polled(5000, { record: seen })], [state(5000, seen)]);
  await write();
  await write();
  setClock(db, 9000);
  await writePolled(db, [polled(9000, { outage: outageAt(9000) })], [state(9000)]);
  await writePolled(db, [polled(4000, { record: record(1, { motd: "old" }) })]);
  const [row] = await storedServers(db);
  assertEquals(row, {
    ...seen,
    players: ["Ann"],
    alias_of: "127.0.0.1:9",
    joinable: true,
    online: false,
    missed_scans: 0,
    first_seen: 1000,
    probed_at: 9000,
    changed_at: 9000,
    players_at: 1000,
    player_flags: null,
  });
  const history = await historyOf(db, 1, 10);
  assertEquals(
    history.map(({ seen_at, online, players_online, scan_id }) => [
      seen_at,
      online,
      players_online,
      scan_id,
    ]),
    [[1000, true, 1, scanId(1)], [5000, true, 7, watchId(1)], [9000, false, null, watchId(1)]],
  );
  assertEquals(history[0].content_hash === history[1].content_hash, true); // `joinable` is kept
});

onEngines(
  "polls without names leave those of a scan, which are shown with their time unless the server is empty",
  async (db) => {
    await new Store(db, () => Promise.resolve()).write([
      record(1, { players: ["Ann", "Bob"], players_online: 2 }),
    ]);
    const shown = async (seen_at: number, more: Partial<ServerRecord>) => {
      const reply = record(1, { seen_at, players: null, ...more });
      await writePolled(db, [polled(seen_at, { record: reply })]);
      const [{ players, players_at }] = await storedServers(db);
      const [listed] = await all(db, "select players, players_at from server_list");
      assertEquals([listed.players === null, listed.players_at], [players === null, players_at]);
      return [players, players_at];
    };
    assertEquals(await shown(2000, { players_online: 3 }), [["Ann", "Bob"], 1000]);
    assertEquals(await shown(3000, { players_online: 0 }), [null, null]);
    assertEquals(await shown(4000, { players_online: null }), [["Ann", "Bob"], 1000]);
    assertEquals(await shown(5000, { players_online: 1, players: ["Eve"] }), [["Eve"], 5000]);
    assertEquals(await shown(6000, { players_online: 0, players: [] }), [[], 6000]);
  },
);

onEngines("a reply replaces only older ones, however late its poll ends", async (db) => {
  const reply = (motd: string, seen_at: number) => record(1, { motd, seen_at });
  await writePolled(db, [polled(1000, { record: reply("before", 1000) })]);
  const found = await writePolled(db, [polled(2100, { record: reply("now", 2000) })]);
  assertEquals(found.map(({ event }) => event), ["changed"]);
  const late = await writePolled(db, [polled(3000, { record: reply("before", 1500) })]);
  const [{ motd }] = await storedServers(db);
  assertEquals([late, motd], [[], "now"]);
});

onEngines("a poll keeps the columns of protocols that it did not use", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  await store.write([record(1, { protocols: ["raknet", "query"], map: "world" })]);
  const seen = (at: number) =>
    record(1, { seen_at: at, protocols: ["raknet"], map: null, scan_id: watchId(1) });
  const write = (at: number, queried: readonly string[]) =>
    writePolled(db, [polled(at, { record: seen(at), queried })], [state(at, seen(at))]);
  assertEquals(await write(2000, ["raknet"]), []);
  const [{ map, protocols }] = await storedServers(db);
  assertEquals([map, protocols], ["world", ["raknet", "query"]]);
  const contents = await all(
    db,
    "select count(distinct o.content) as n from observations o join servers s on s.id = o.server " +
      "where o.content = s.content",
  );
  const observed = await all(db, "select count(distinct content) as n from observations");
  assertEquals([contents, observed], [[{ n: 1 }], [{ n: 1 }]]);
  const [event] = await write(3000, ["raknet", "query"]);
  assertEquals(event.event, "changed");
  assertEquals((await storedServers(db))[0].protocols, ["raknet"]);
});

onEngines("a poll keeps the parts that its reply lacks until the watch drops them", async (db) => {
  await new Store(db, () => Promise.resolve()).write([
    record(1, { protocols: ["raknet", "query"], map: "world", motd: "old" }),
  ]);
  // The watch has not yet read that another program has stored the new MOTD.
  const stale = { protocols: ["raknet", "query"], map: "world", motd: "old", scan_id: watchId(1) };
  const poll = (at: number, dropped: readonly string[]) => {
    const partial = record(1, {
      ...stale,
      seen_at: at,
      protocols: ["raknet"],
      map: null,
      motd: "new",
    });
    return writePolled(db, [
      polled(at, { record: record(1, { ...stale, seen_at: at }), partial, dropped }),
    ]);
  };
  const kinds = async (at: number, dropped: readonly string[]) =>
    (await poll(at, dropped)).map(({ event }) => event);
  assertEquals(await kinds(2000, []), ["changed"]); // the MOTD
  for (const at of [3000, 4000, 5000]) assertEquals(await kinds(at, ["slp"]), []);
  const [{ protocols, map, motd }] = await storedServers(db);
  assertEquals([protocols, map, motd], [["raknet", "query"], "world", "new"]);
  assertEquals(await kinds(6000, ["query"]), ["changed"]);
  const [row] = await storedServers(db);
  assertEquals([row.protocols, row.map], [["raknet"], null]);
});

onEngines(
  "a protocol that only one of two watches gets is dropped when neither gets it",
  async (db) => {
    const MINUTE = 60_000;
    const store = new Store(db, () => Promise.resolve());
    for (const id of [watchId(1), watchId(2)]) {
      await store.begin({ id, kind: "watch", at: 1, config: "{}" });
    }
    await store.write([record(1, { protocols: ["raknet", "query"], map: "world" })]);
    const poll = async (minute: number, watch: number, protocols: readonly string[]) => {
      const at = minute * MINUTE;
      const map = protocols.includes("query") ? "world" : null;
      const reply = record(1, {
        protocols: [...protocols],
        map,
        seen_at: at,
        scan_id: watchId(watch),
      });
      const dropped = protocols.includes("query") ? [] : ["query"];
      return (await writePolled(db, [polled(at, { record: reply, dropped })])).length;
    };
    const spoken = async () => (await storedServers(db))[0].protocols;
    let events = 0;
    for (let minute = 1; minute <= 100; minute++) {
      events += await poll(minute, 1, ["raknet", "query"]);
      events += await poll(minute + 0.5, 2, ["raknet"]);
    }
    assertEquals([events, await spoken()], [0, ["raknet", "query"]]);
    assertEquals(await poll(102, 2, ["raknet"]), 0);
    assertEquals(await poll(103, 1, ["raknet"]), 1); // no other watch got it
    for (let minute = 104; minute <= 106; minute++) {
      assertEquals(await poll(minute, 2, ["raknet"]) + await poll(minute, 1, ["raknet"]), 0);
    }
    assertEquals(await spoken(), ["raknet"]);
    assertEquals(await poll(107, 2, ["raknet", "query"]), 1);
    assertEquals(await poll(240, 1, ["raknet"]), 1); // the other watch has ended
    assertEquals(await spoken(), ["raknet"]);
  },
);

onEngines(
  "a poll keeps the columns that an added protocol verifies, and no other ones",
  async (db) => {
    await new Store(db, () => Promise.resolve()).write([
      record(1, { map: "world", joinable: true }),
    ]);
    const [raknet] = PROTOCOLS;
    const added = { ...raknet, verify: { ...raknet.verify!, columns: ["map"] as const } };
    const seen = record(1, { seen_at: 5000, map: null, joinable: null });
    await writePolled(db, [polled(5000, { record: seen })], [], { allProtocols: [added] });
    const [{ map, joinable }] = await storedServers(db);
    assertEquals([map, joinable], ["world", null]);
  },
);

onEngines(
  "an unknown server is written when it replies, and not when it times out",
  async (db) => {
    await writePolled(db, [polled(1, { outage: outageAt(1) })]);
    assertEquals(await all(db, "select id from servers"), []);
    for (const [i, motd] of NASTY.entries()) {
      const response = record(1, { motd, name: motd, players: [motd], seen_at: 10 + i });
      await writePolled(db, [polled(10 + i, { record: response })], [state(10 + i, response)]);
    }
    assertEquals((await Array.fromAsync(allServers(db))).length, 1);
    assertEquals(await all(db, "select count(*) as n from observations"), [{ n: NASTY.length }]);
  },
);
