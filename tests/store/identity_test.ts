/** The rows of servers that are identified by a name.
 *
 * Covers src/store/rows/identity.ts, src/store/rows/uuid.ts and src/targets/requested_names.ts.
 */
import { assertEquals, assertMatch } from "@std/assert";
import { ATTACHMENTS } from "../../src/core/record.ts";
import { identityOf, parseServerName } from "../../src/store/rows/identity.ts";
import { newEventId, uuidv7 } from "../../src/store/rows/uuid.ts";
import {
  countObservations,
  serversOfHost,
  serverWithKey,
} from "../../src/store/history_queries.ts";
import { serversWithRow } from "../../src/store/scans/scan_rows.ts";
import { Store } from "../../src/store/store.ts";
import { all, onEngines, STATES, storedServers } from "./databases.ts";
import { record, scanId } from "./records.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const keyOf = (host: string, requested_as: string | null) =>
  identityOf({ host, port: 25565, requested_as })?.key;

Deno.test("a server's key is its name, or its address where it was not requested by a name", () => {
  assertEquals(keyOf("192.0.2.1", null), "192.0.2.1:25565");
  assertEquals(keyOf("2001:DB8::1", null), "[2001:db8::1]:25565");
  assertEquals(keyOf("fe80::1%eth0", null), "[fe80::1%eth0]:25565");
  assertEquals(keyOf("192.0.2.1", "Play.Example.org."), "play.example.org:25565");
  assertEquals(keyOf("192.0.2.1", "bücher.example"), "xn--bcher-kva.example:25565");
  assertEquals(keyOf("192.0.2.1", "a.example SRV mc.example:7"), "a.example");
  assertEquals(keyOf("192.0.2.1", "not a name"), "192.0.2.1:25565");
  assertEquals(keyOf("no address", null), undefined);
  const scoped = identityOf({ host: "fe80::1%eth0", port: 1, requested_as: null })!;
  assertEquals([scoped.address, scoped.scope, scoped.hostname], ["fe80::1", "eth0", null]);
});

Deno.test("parseServerName() returns the key of the server that a user names", () => {
  const keys = ["192.0.2.1:7", "[FE80::1%eth0]:7", "Bücher.example.:7", "a.example", "::1"]
    .map((text) => parseServerName(text)?.key);
  assertEquals(keys, [
    "192.0.2.1:7",
    "[fe80::1%eth0]:7",
    "xn--bcher-kva.example:7",
    "a.example",
    "::1",
  ]);
  for (const text of ["", "no name", "a.example:0", "300.1.1.1", "10.0.0.0/8"]) {
    assertEquals(parseServerName(text), undefined, text);
  }
});

Deno.test("identities of scans and events begin with their time, and are UUIDs of version 7", () => {
  const ones = new Uint8Array(10).fill(0xff);
  const times = [0, 1, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 1.7e12, 2 ** 44 + 5];
  const make = [
    (at: number) => uuidv7(at, new Uint8Array(10)),
    (at: number) => uuidv7(at, ones),
    newEventId,
  ];
  for (const newId of make) {
    const ids = times.map(newId);
    assertEquals(ids.toSorted(), ids);
    for (const [i, id] of ids.entries()) {
      assertMatch(id, /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
      assertEquals(parseInt(id.slice(0, 13).replace("-", ""), 16), times[i]);
    }
  }
  assertEquals(uuidv7(0, ones).slice(14), "7fff-bfff-ffffffffffff");
  assertEquals(uuidv7(0, new Uint8Array(10)).slice(14), "7000-8000-000000000000");
  const bytes = Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  assertEquals(uuidv7(0, bytes).slice(14), "7102-8304-05060708090a");
  assertEquals(new Set(Array.from({ length: 1000 }, () => newEventId(5))).size, 1000);
  for (const noTime of [-1, NaN, 2 ** 60]) {
    assertEquals(newEventId(noTime).slice(0, 13), "00000000-0000");
  }
});

onEngines("a name keeps its server and history when its address changes", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  const named = { requested_as: "play.example.org" };
  await store.write([record(7, { ...named, seen_at: 1000 })]);
  const moved = { ...named, host: "127.0.0.9", seen_at: 2000, scan_id: scanId(2) };
  await store.write([record(7, moved)]);
  const [row, ...others] = await storedServers(db);
  assertEquals([row.host, row.first_seen, row.probed_at, others.length], [
    "127.0.0.9",
    1000,
    2000,
    0,
  ]);
  const { id } = (await serverWithKey(db, "play.example.org:7"))!;
  assertEquals(await countObservations(db, id), 2);
  assertEquals((await serversOfHost(db, "127.0.0.9")).map(({ key }) => key), [
    "play.example.org:7",
  ]);
  assertEquals(await serversOfHost(db, "127.0.0.1"), []);
});

onEngines("several names of one address are several servers", async (db) => {
  const store = new Store(db, () => Promise.resolve());
  const names = [null, "a.example", "b.example", "b.example SRV mc.example:7"];
  await store.write(names.map((requested_as) => record(7, { requested_as })));
  assertEquals((await all(db, `select id from ${STATES} order by id`)).map(({ id }) => id), [
    "127.0.0.1:7",
    "a.example:7",
    "b.example",
    "b.example:7",
  ]);
  const distinct = "select count(*) as n from (select distinct address, port from servers) one";
  assertEquals(await all(db, distinct), [{ n: 1 }]);
  // A scan that finds the endpoint under one name misses it under no other name.
  await store.begin({ id: scanId(2), at: 5000, config: "{}" });
  await store.write([record(7, { requested_as: "a.example", seen_at: 6000, scan_id: scanId(2) })]);
  const missing = await store.end({
    ...{ id: scanId(2), since: 5000, at: 7000, state: "finished", downAfter: 3 },
    ...{ probesSent: 1, replies: 1, found: 1 },
    coverage: { ranges: [{ start: 0, end: 2 ** 32 }], includes: () => true },
  });
  assertEquals(missing, 0);
});

onEngines(
  "a name that leads to several endpoints in a scan is the key of one, and no endpoint is lost",
  async (db) => {
    const store = new Store(db, () => Promise.resolve());
    const named = { requested_as: "play.example.org" };
    const hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];
    await store.write(hosts.slice(0, 2).map((host) => record(7, { ...named, host })));
    await store.write([record(7, { ...named, host: hosts[2] })]);
    await store.write([record(7, { ...named, host: hosts[2] })]); // as after a resumption
    assertEquals((await storedServers(db)).map(({ host }) => host).toSorted(), hosts);
    const ids = hosts.map((host) => `${host}:7`);
    assertEquals([...await serversWithRow(db, scanId(1), ids)].toSorted(), ids);
    assertEquals((await serverWithKey(db, "play.example.org:7"))?.key, "play.example.org:7");
  },
);

onEngines(
  "several names that lead to an endpoint in one scan are servers with its reply",
  async (db) => {
    const names: readonly (string | null)[] = ["a.example", "b.example", null];
    const store = new Store(db, () => Promise.resolve(), {
      allProtocols: PROTOCOLS,
      ...{ protocols: ["raknet"], follow: true, verify: false },
      otherNames: ({ port, requested_as: own }) =>
        port === 7 ? names.filter((one) => one !== own) : [],
    });
    const attachments = { replies: { raknet: { size: 1, data: "AA==" } }, icon: undefined };
    const first = { ...record(7, { requested_as: "a.example" }), [ATTACHMENTS]: attachments };
    await store.write([first, record(8)]);
    await store.write([record(7, { requested_as: "b.example", seen_at: 9000, motd: "new" })]);
    const rows = await all(
      db,
      "select s.key, s.motd, (select count(*) from observations o where o.server = s.id) as seen, " +
        "(select count(*) from replies r where r.server = s.id) as replies from servers s order by s.key",
    );
    assertEquals(rows.map((row) => Object.values(row)), [
      ["127.0.0.1:7", "new", 2, 1],
      ["127.0.0.1:8", record(8).motd, 1, 0],
      ["a.example:7", "new", 2, 1],
      ["b.example:7", "new", 2, 1],
    ]);
  },
);
