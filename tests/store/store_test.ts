/**
 * Covers src/store/writers/import_writer.ts, src/store/writers/missing_servers.ts, src/store/writers/opt_outs.ts,
 * src/store/parts/scan_parts.ts, src/store/rows/server_state.ts and src/store/writers/scan_writer.ts.
 */
import { assertEquals, assertRejects } from "@std/assert";
import { parseAddress } from "../../src/core/address.ts";
import type { ServerRecord } from "../../src/core/record.ts";
import { storable, storableJson } from "../../src/store/rows/stored_values.ts";
import { type Database, StoreError, timeParameter } from "../../src/store/database/database.ts";
import { type ScanEndRow, Store } from "../../src/store/store.ts";
import { writeImportedRecords } from "../../src/store/writers/import_writer.ts";
import { readOptOuts } from "../../src/store/writers/opt_outs.ts";
import { markMissing } from "../../src/store/writers/missing_servers.ts";
import { all, onEngines, SEEN, setClock, STATES, storedServers as servers } from "./databases.ts";
import { NASTY, record, scanId } from "./records.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

/** A store that writes without delay. The test owns the database and closes it. */
const storeOf = (database: Database) => new Store(database, () => Promise.resolve());

const EVERYTHING = [{ start: 0, end: 2 ** 32 }, { start: 0n, end: 1n << 128n }];

const END: ScanEndRow = {
  id: scanId(1),
  since: 0,
  at: 5000,
  state: "finished",
  isComplete: true,
  downAfter: 3,
  probesSent: 9,
  replies: 8,
  found: 7,
  coverage: { ranges: EVERYTHING, includes: () => true },
};

onEngines(
  "the servers of an address that opts out are offline, and not listed for other programs",
  async (db) => {
    const store = storeOf(db);
    setClock(db, 1000);
    const other = { host: "127.0.0.2" };
    await store.write([record(1), record(2), record(3, other), record(4, { host: "2001:db8::1" })]);
    const optOuts = ["127.0.0.1", "2001:db8::1"].map((host) => ({
      address: parseAddress(host)!,
      at: 2000,
    }));
    setClock(db, 2000);
    await store.end({ ...END, coverage: undefined, optOuts });
    const stored = async () => new Set((await readOptOuts(db)).map(({ start }) => start));
    const addresses = optOuts.map(({ address }) => address);
    assertEquals(await stored(), new Set(addresses));
    const online = (await servers(db)).map(({ host, port, online }) => `${host} ${port} ${online}`);
    assertEquals(online.toSorted(), [
      "127.0.0.1 1 false",
      "127.0.0.1 2 false",
      "127.0.0.2 3 true",
      "2001:db8::1 4 false",
    ]);
    assertEquals((await all(db, "select port from server_list")).map(({ port }) => port), [3]);
    const [{ changed }] = await all(
      db,
      "select count(*) as changed from servers where changed_at > first_seen",
    );
    assertEquals(Number(changed), 3);
    // as another program may write it
    await db.run(
      "update opt_outs set address = '::ffff:127.0.0.9' where address = '127.0.0.1'",
      [],
    );
    assertEquals(await stored(), new Set([0x7f000009, addresses[1]]));
  },
);

onEngines("a server has one row with its last reply, and one observation per scan", async (db) => {
  const store = storeOf(db);
  setClock(db, 1001);
  await store.write([record(1), record(2, { players_online: 5, seen_at: 1001 })]);
  setClock(db, 3000);
  await store.write([
    record(1, { motd: "new", seen_at: 3000, scan_id: scanId(2), joinable: true }),
  ]);
  assertEquals(await servers(db), [
    {
      ...record(1, { motd: "new", seen_at: 3000, scan_id: scanId(2), joinable: true }),
      online: true,
      missed_scans: 0,
      first_seen: 1000,
      probed_at: 3000,
      changed_at: 3000,
      players_at: null,
      player_flags: null,
    },
    {
      ...record(2, { players_online: 5, seen_at: 1001 }),
      online: true,
      missed_scans: 0,
      first_seen: 1001,
      probed_at: 1001,
      changed_at: 1001,
      players_at: null,
      player_flags: null,
    },
  ]);
  const seen = await all(
    db,
    `select scan_id, server_id, seen_at, online, players_online from ${SEEN} ` +
      "order by server_id, seen_at",
  );
  assertEquals(seen.map((row) => Object.values(row)), [
    [scanId(1), "127.0.0.1:1", 1000, 1, 1],
    [scanId(2), "127.0.0.1:1", 3000, 1, 1],
    [scanId(1), "127.0.0.1:2", 1001, 1, 5],
  ]);
});

onEngines("writing the same records again, in one batch or two, changes nothing", async (db) => {
  const store = storeOf(db);
  const rows = Array.from({ length: 1200 }, (_, i) => record(i + 1));
  await store.write([...rows, ...rows.slice(0, 700)]);
  const before = await servers(db);
  await store.write(rows);
  assertEquals(await servers(db), before);
  assertEquals(before.length, 1200);
  assertEquals(await all(db, "select count(*) as n from observations"), [{ n: 1200 }]);
});

onEngines("hostile text is stored harmlessly in every column", async (db) => {
  const store = storeOf(db);
  const rows = NASTY.map((text, i) =>
    record(i + 1, {
      motd: text,
      motd_plain: text,
      name: text,
      version: text,
      software: text,
      map: text,
      gamemode: text,
      proxy: text,
      requested_as: text,
      guid: text,
      alias_of: text,
      players: [text],
      plugins: [{ name: text, version: text }],
      flags: [text],
      extras: { query: { values: { [text]: text } } },
    })
  );
  await store.write(rows);
  const stored = new Map((await servers(db)).map((one) => [one.port, one]));
  for (const [i, text] of NASTY.entries()) {
    const one = stored.get(i + 1)!;
    for (const name of ["motd", "name", "version", "guid", "alias_of"] as const) {
      assertEquals(one[name], storable(text));
    }
    assertEquals(one.players, [storable(text)]);
    assertEquals(one.extras, JSON.parse(storableJson(rows[i].extras)));
  }
  assertEquals(stored.size, NASTY.length);
});

onEngines(
  "a missing server is offline after three failures, and online after a reply",
  async (db) => {
    const store = storeOf(db);
    await store.write([record(1), record(2)]);
    for (let scan = 2; scan <= 4; scan++) {
      const [id, at] = [scanId(scan), 1000 * scan];
      await store.begin({ id, at, config: "{}" });
      await store.write([record(2, { scan_id: id, seen_at: at + 1 })]);
      assertEquals(await store.end({ ...END, id, since: at, at: at + 500 }), 1);
      const [unresponsive, alive] = await servers(db);
      assertEquals([unresponsive.online, unresponsive.missed_scans], [scan < 4, scan - 1]);
      assertEquals([unresponsive.seen_at, unresponsive.probed_at, unresponsive.motd], [
        1000,
        at + 500,
        "§aServer 1",
      ]);
      assertEquals([alive.online, alive.missed_scans], [true, 0]);
    }
    await store.write([record(1, { seen_at: 9000, scan_id: scanId(5) })]);
    const [back] = await servers(db);
    assertEquals([back.online, back.missed_scans, back.first_seen], [true, 0, 1000]);
    const seen = await all(
      db,
      `select online from ${SEEN} where server_id = '127.0.0.1:1' order by seen_at`,
    );
    assertEquals(seen.map(({ online }) => online), [1, 0, 0, 0, 1]);
  },
);

onEngines("only probed servers can be missing: by range, by protocol, across pages", async (db) => {
  const store = storeOf(db);
  const many = Array.from({ length: 2300 }, (_, i) => record(i + 1));
  const six = ["::1", "fe80::2"].map((host) => record(1, { host }));
  await store.write([...many, ...six, record(1, { host: "127.0.0.2" })]);
  const queried: string[] = [];
  const failing = async (coverage: ScanEndRow["coverage"], id: string) => {
    queried.length = 0;
    await store.begin({ id, at: 2000, config: "{}" });
    const missed = await store.end({ ...END, id, since: 2000, coverage });
    const failed = await all(db, `select id from ${STATES} where missed_scans > 0 order by id`);
    await db.run(`update server_state set missed_scans = 0, probed_at = ${timeParameter(db)}`, [
      1000,
    ]);
    return [missed, failed.length];
  };
  const note = (port: number) => {
    queried.push(String(port));
    return port % 2 === 0;
  };
  const range = { start: 0x7f000001, end: 0x7f000002 };
  assertEquals(
    await failing({ ranges: [range], includes: (_, port) => note(port) }, scanId(11)),
    [1150, 1150],
  );
  assertEquals(queried.length, 2300);
  const v6 = parseAddress("::1")!;
  const ranges = [{ start: v6, end: BigInt(v6) + 1n }, { start: 5n, end: 6n }];
  assertEquals(await failing({ ranges, includes: (address) => address === v6 }, scanId(12)), [
    1,
    1,
  ]);
  const spoke: (readonly string[])[] = [];
  const byProtocol = (_: unknown, port: number, protocols: readonly string[]) => {
    if (port === 1) spoke.push(protocols);
    return false;
  };
  const lots = Array.from({ length: 1500 }, (_, i) => ({ start: 2 * i, end: 2 * i + 1 }));
  assertEquals(await failing({ ranges: lots, includes: byProtocol }, scanId(13)), [0, 0]);
  assertEquals(spoke.length, 2); // each server once
  assertEquals(spoke[0], ["raknet", "query"]);
});

onEngines(
  "while missing servers are marked, their scan has a heartbeat every 10 seconds, until another run takes over",
  async (db) => {
    let time = 10_000;
    Object.assign(db, { now: () => time });
    const store = storeOf(db);
    await store.write(Array.from({ length: 3300 }, (_, i) => record(i + 1)));
    await store.begin({ id: scanId(2), at: time, config: "{}" });
    const broken = db.engine === "postgres" ? "'[1]'" : "'['";
    await db.script(`update servers set protocols = ${broken} where port < 9`);
    const includes = (_: unknown, port: number, protocols: readonly string[]) =>
      protocols.length === (port < 9 ? 0 : 2);
    const scan = {
      ...{ scanId: scanId(2), since: time, at: time, downAfter: 3 },
      coverage: { ranges: EVERYTHING, includes },
      isCurrent() {
        time += 5000; // each page of servers
        return Promise.resolve(time < 30_000);
      },
    };
    assertEquals(await markMissing(db, scan), 3000);
    const scans = await all(db, "select heartbeat_at from scans where heartbeat_at is not null");
    assertEquals(scans, [{ heartbeat_at: 20_000 }]);
  },
);

onEngines(
  "the start and end of a scan are stored, and its part when it is complete",
  async (db) => {
    const store = storeOf(db);
    await store.begin({ id: scanId(1), at: 10, config: '{"a":1}' });
    assertEquals((await all(db, "select state from scans"))[0].state, "running");
    await store.end({ ...END, state: "interrupted", isComplete: false, coverage: undefined });
    assertEquals(await all(db, "select count(*) as n from scan_parts"), [{ n: 0 }]);
    await store.begin({ id: scanId(1), at: 11, config: "{}" }); // resumed
    await store.end(END);
    await store.end(END);
    assertEquals(await all(db, "select uuid as id, state, started_at, parts, found from scans"), [
      { id: scanId(1), state: "finished", started_at: 10, parts: 1, found: 7 },
    ]);
    assertEquals(
      await all(
        db,
        "select uuid as scan_id, part, p.state, done_at from scan_parts p join scans on scans.id = scan",
      ),
      [
        { scan_id: scanId(1), part: 1, state: "done", done_at: 5000 },
      ],
    );
  },
);

onEngines(
  "imported records never overwrite newer rows",
  async (db) => {
    const store = storeOf(db);
    await store.write([record(1, { seen_at: 5000 })]);
    const known = (one: ServerRecord) => ({
      ...one,
      online: true,
      missed_scans: 0,
      first_seen: one.seen_at,
      probed_at: one.seen_at,
    });
    const bare = (port: number) => ({
      ...known(record(port, { protocol: "", protocols: [], scan_id: null, motd: null })),
      online: false,
    });
    await writeImportedRecords(db, [
      known(record(1, { seen_at: 400, motd: "old", scan_id: scanId(0) })),
      known(record(2, { seen_at: 400, motd: "older" })),
      known(record(2, { seen_at: 500, motd: "newest" })),
      known(record(2, { seen_at: 450, motd: "newer" })),
      bare(1),
      bare(3),
      { ...bare(3), host: "no address" },
    ], PROTOCOLS);
    const stored = await servers(db);
    assertEquals(stored.map(({ motd }) => motd), ["§aServer 1", "newest", null]);
    assertEquals(stored.map(({ first_seen }) => first_seen), [400, 500, 1000]);
    assertEquals(stored.map(({ online }) => online), [true, true, false]);
    const [row] = await all(db, `select last_online from ${STATES} where port = 3`);
    assertEquals(row.last_online, null);
    assertEquals(await all(db, "select count(*) as n from observations"), [{ n: 3 }]);
  },
);

onEngines("an error names the database and rolls the whole batch back", async (db) => {
  const store = storeOf(db);
  await store.write([record(1)]);
  await db.script("alter table observations rename to hidden");
  const error = await assertRejects(() => store.write([record(2)]), StoreError, "Cannot write to");
  assertEquals(error.message.includes(db.name), true);
  await db.script("alter table hidden rename to observations");
  assertEquals((await servers(db)).length, 1);
  await store.write([record(2)]);
  assertEquals((await servers(db)).length, 2);
});

onEngines("records that gather during the delay are written together", async (db) => {
  let go = () => {};
  const store = new Store(db, () => new Promise((resolve) => go = resolve));
  const writing = store.write([record(1)]);
  assertEquals(await servers(db), []);
  go();
  await writing;
  assertEquals((await servers(db)).length, 1);
  await store.write([]);
  await store.flush();
  assertEquals(store.position(), 0);
});
