/** What changed in the last day, in both engines. */
import { assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import { type Database, timeParameter } from "../../../src/store/database/database.ts";
import { Store } from "../../../src/store/store.ts";
import { dashboardDataOf } from "../../../src/web/data/database_reader.ts";
import { onEngines } from "../../store/databases.ts";
import { record, scanId } from "../../store/records.ts";

const NOW = Date.UTC(2026, 0, 31, 12);

let ids = 0;
async function event(
  database: Database,
  kind: string,
  at: number,
  server: number | null,
  data: object | string = {},
  scan: number | null = null,
): Promise<void> {
  const json = typeof data === "string" ? data : JSON.stringify(data);
  await database.run(
    `insert into events (id, at, server, scan, kind, data) values (?, ${
      timeParameter(database)
    }, ?, ?, ?, ?)`,
    [scanId(900_000 + ids++), at, server, scan, kind, json],
  );
}

/** A list of a /19 with 20 servers, and another server. */
async function fill(database: Database): Promise<number[]> {
  Object.assign(database, { now: () => NOW });
  const store = new Store(database, () => Promise.resolve());
  await store.begin({ id: scanId(1), at: 1000, config: "{}" });
  await store.write([
    ...Array.from({ length: 20 }, (_, i) => record(1, { host: `127.16.${32 + i}.${i}` })),
    record(1, { host: "10.0.0.1", name: "Lobby" }),
  ]);
  await database.run("delete from events");
  const rows = await database.rows("select id, key from servers");
  const places = rows.map(({ id, key }) => ({
    id: Number(id),
    at: Number(String(key).split(".")[2]),
  }));
  return places.sort((a, b) => (a.at || 99) - (b.at || 99)).map(({ id }) => id);
}

const operatorOf = (host: string) => ({
  ...{ country: null, asn: 64500 },
  operator: host.startsWith("127.16.") ? "Example" : null,
});

onEngines(
  "the overview has the changes of the last day, by hour and as incidents",
  async (database) => {
    const servers = await fill(database);
    const first = `update servers set first_seen = ${timeParameter(database)} where id = ?`;
    await database.run(first, [NOW - HOUR_MS / 2, servers[3]]);
    for (const [i, id] of servers.slice(0, 20).entries()) {
      await event(database, "offline", NOW - 2 * HOUR_MS + i * 1000, id);
      if (i < 5) await event(database, "online", NOW - HOUR_MS + i * 1000, id);
    }
    await event(database, "offline", NOW - DAY_MS - 1000, servers[20]);
    await event(database, "back", NOW - 3 * HOUR_MS, servers[20]);
    const { changes } = await dashboardDataOf(database, undefined, operatorOf).overview();
    const hours = (counts: Readonly<Record<number, number>>) =>
      Array.from({ length: 24 }, (_, i) => counts[i] ?? 0);
    assertEquals(changes.counts, {
      new: hours({ 23: 1 }),
      back: hours({ 21: 1 }),
      lost: hours({}),
      offline: hours({ 22: 20 }),
      online: hours({ 23: 5 }),
    });
    assertEquals(changes.incidents, [
      {
        ...{ at: NOW - 2 * HOUR_MS, until: NOW - 2 * HOUR_MS + 19_000 },
        ...{ backAt: NOW - HOUR_MS + 4000, network: "127.16.32.0/19", operator: "Example" },
        ...{ down: 20, back: 5, server: null },
      },
      {
        ...{ at: NOW - 3 * HOUR_MS, until: NOW - 3 * HOUR_MS, backAt: null },
        ...{ network: "10.0.0.1", operator: null, down: 0, back: 1 },
        server: { id: servers[20], key: "10.0.0.1:1", name: "Lobby" },
      },
    ]);
    assertEquals([changes.others, changes.isCut, changes.since], [0, false, NOW - DAY_MS]);
  },
);

onEngines("the numbers of a scan's summary take the place of its events", async (database) => {
  const servers = await fill(database);
  const [{ id: scan }] = await database.rows("select id from scans");
  const summary = { new: 9, back: 3, lost: 40, reported: 2 };
  await event(database, "scan_summary", NOW - 1000, null, summary, Number(scan));
  for (const id of servers.slice(0, 2)) {
    await event(database, "lost", NOW - 1000, id, {}, Number(scan));
  }
  await event(database, "lost", NOW - 1000, servers[2]);
  await event(database, "scan_summary", NOW - 500, null, "[1]");
  const { changes } = await dashboardDataOf(database).overview();
  const sums = Object.entries(changes.counts).map(([kind, counts]) => [
    kind,
    counts.reduce((a, b) => a + b),
  ]);
  assertEquals(Object.fromEntries(sums), { new: 0, back: 3, lost: 41, offline: 0, online: 0 });
});

onEngines("events of a page are grouped, and can be those of a network", async (database) => {
  const servers = await fill(database);
  for (const [i, id] of servers.entries()) await event(database, "offline", NOW + i, id);
  const data = dashboardDataOf(database);
  const { events, groups } = await data.events({ limit: 100 });
  assertEquals(groups.map(({ events, incident }) => [events.length, incident.network]), [
    [20, "127.16.32.0/19"],
  ]);
  assertEquals(groups[0].events.map((i) => events[i].server_id), servers.slice(0, 20).toReversed());
  const of = async (network: string[]) =>
    (await data.events({ network, limit: 100 })).events.length;
  assertEquals(await of(["127.16.32.0/20"]), 16);
  assertEquals(await of(["10.0.0.1"]), 1);
  assertEquals(await of(["192.0.2.0/24"]), 0);
});
