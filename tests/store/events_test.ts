/** Covers src/store/events/ and src/store/rows/uuid.ts. */
import { WATCHED_COLUMNS } from "../../src/store/events/compare.ts";
import { CONTENT } from "../../src/store/rows/content_hash.ts";
import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import type { ServerRecord } from "../../src/core/record.ts";
import { type Database, Unavailable } from "../../src/store/database/database.ts";
import { UnconfirmedEvents } from "../../src/store/writers/poll_events.ts";
import type { ServerEvent } from "../../src/store/events/watch_event.ts";
import { writeEvents } from "../../src/store/events/write_events.ts";
import { writeImportedRecords } from "../../src/store/writers/import_writer.ts";
import { identityOf } from "../../src/store/rows/identity.ts";
import { newEventId } from "../../src/store/rows/uuid.ts";
import { createTables } from "../../src/store/schema/create_tables.ts";
import { Store } from "../../src/store/store.ts";
import { all, connect, onEngines, postgresTest } from "./databases.ts";
import { outageAt, type Poll, polledServer, writePolled } from "./polls.ts";
import { NASTY, record, scanId, watchId } from "./records.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const quick = (database: Database) => new Store(database, () => Promise.resolve());

/**
 * The events of a database without their identities: kind, server's key, time, and further values.
 */
async function storedEvents(database: Database): Promise<unknown[]> {
  const rows = await all(
    database,
    "select e.kind, s.key, e.at, e.data from events e left join servers s on s.id = e.server " +
      "order by e.tx, e.seq",
  );
  return rows.map(({ kind, key, at, data }) => [kind, key, at, JSON.parse(String(data))]);
}

/** A poll with a reply. */
function reply(at: number, rest: Partial<ServerRecord> = {}, port = 1): Poll {
  const one = record(port, { seen_at: at, scan_id: watchId(1), ...rest });
  return { identity: identityOf(one)!, at, record: one };
}

/** A poll without a reply, after enough others. */
function silence(at: number, misses = 3): Poll {
  return { ...reply(at), record: undefined, outage: outageAt(at, misses) };
}

/** An event as a watch has seen it. */
function candidate(poll: Poll, body: Record<string, unknown>): ServerEvent {
  const { subject, at } = polledServer(poll);
  return { at, ...subject, id: newEventId(at), ...body } as unknown as ServerEvent;
}

const kinds = (events: readonly ServerEvent[]) => events.map(({ event }) => event);

onEngines("an event is stored once, however often it is written", async (database) => {
  const id = newEventId(1_700_000_000_000);
  assertMatch(id, /^018bcfe5-6800-7/);
  const event = { id, at: 5, server: 1, scan: 2, kind: "offline", data: { misses: 3 } };
  await database.transaction(() => writeEvents(database, [event, event]));
  await database.transaction(() => writeEvents(database, [event]));
  assertEquals(await all(database, "select id, at, server, scan, kind from events"), [
    { id, at: 5, server: 1, scan: 2, kind: "offline" },
  ]);
});

onEngines(
  "scans store an event for each change, and none for players; imports store none",
  async (db) => {
    const store = quick(db);
    const write = (at: number, rest: Partial<ServerRecord> = {}) =>
      store.write([record(1, { seen_at: at, scan_id: scanId(at), guid: "1", ...rest })]);
    await write(1000);
    await write(1000); // work that was done twice
    await write(2000, { players_online: 40, players: ["Ann"], latency_ms: 5 });
    await write(3000, { motd: "new", players_max: 2 ** 40 });
    await write(3000, { motd: "new", players_max: 2 ** 40 });
    await write(2500, { motd: "older than the row" });
    const past = { online: false, missed_scans: 9, first_seen: 5, probed_at: 900 };
    await writeImportedRecords(
      db,
      [{ ...record(1, { seen_at: 900, motd: "old" }), ...past }],
      PROTOCOLS,
    );
    const known = { ...past, probed_at: 4000, online: true };
    await writeImportedRecords(db, [
      { ...record(1, { seen_at: 4000, motd: "imported", players_max: 2 ** 40 }), ...known },
      { ...record(2, { seen_at: 4000 }), ...known },
    ], PROTOCOLS);
    const motd = "§aServer 1";
    assertEquals(await storedEvents(db), [
      ["new", "127.0.0.1:1", 1000, {}],
      ["changed", "127.0.0.1:1", 3000, {
        changes: { motd: [motd, "new"], players_max: [null, 2 ** 31 - 1] },
      }],
    ]);
  },
);

onEngines("missing servers are offline once, and online when they reply", async (db) => {
  const store = quick(db);
  await store.write([record(1), record(2)]);
  const end = (scan: number, at: number) =>
    store.end({
      ...{ id: scanId(scan), since: at - 10, at, state: "finished", downAfter: 2 },
      ...{ probesSent: 1, replies: 1, found: 1 },
      coverage: {
        ranges: [{ start: 0, end: 2 ** 32 }],
        includes: (_: unknown, port: number) => port === 1,
      },
    });
  for (const scan of [2, 3, 4]) {
    const at = 1000 * scan;
    await store.begin({ id: scanId(scan), at: at - 10, config: "{}" });
    assertEquals([await end(scan, at), await end(scan, at)], [1, 0]);
  }
  await store.write([record(1, { seen_at: 9000, scan_id: scanId(5) })]);
  assertEquals((await storedEvents(db)).slice(2), [
    ["lost", "127.0.0.1:1", 2000, { replied_at: 1000, packet_loss: null }],
    ["offline", "127.0.0.1:1", 3000, { misses: 2, replied_at: 1000, unresponsive_since: null }],
    ["online", "127.0.0.1:1", 9000, { offline_ms: 6000 }],
  ]);
});

onEngines("hostile values make one event each time they change, and no more", async (db) => {
  for (const [i, text] of NASTY.entries()) {
    const plugins = [{ name: text, version: text }];
    const rest = { motd: text, software: text, map: text, plugins, protocol_version: 2 ** 60 };
    const at = 3_600_000 * i; // more of them within an hour are not recorded
    for (const more of [0, 1]) await quick(db).write([record(1, { seen_at: at + more, ...rest })]);
  }
  const rows = await all(db, "select kind from events");
  assertEquals(rows.length, NASTY.length, JSON.stringify(rows));
});

/** A server with texts as long as a reply allows, different in each reply. */
function endless(at: number, text: string): Partial<ServerRecord> {
  const long = (name: string) => `${at}${name}${text.repeat(16_384 / text.length)}`;
  const plugins = Array.from({ length: 5 }, (_, i) => ({ name: long(`${i}`), version: text }));
  return {
    ...{ seen_at: at, plugins, protocols: ["slp", "query"], proxy: long("p"), edition: long("e") },
    ...{ motd: long("m"), version: long("v"), map: long("l"), gamemode: long("g") },
    ...{ software: long("s"), favicon_hash: long("f"), protocol_version: at, players_max: at },
  };
}

onEngines(
  "a server that changes everything with each reply makes 12 small events an hour",
  async (db) => {
    const hour = 3_600_000;
    const store = quick(db);
    for (const [i, text] of ["a", "\u0001", "\0", "\ud800", "界", "🎮", '"\\'].entries()) {
      const at = hour * (10 * i + 1);
      for (let n = 0; n < 20; n++) await store.write([record(1, endless(at + n * 60_000, text))]);
      await store.write([record(1, endless(at + 2 * hour, "x"))]);
      const rows = await all(
        db,
        `select at, kind, data from events where at >= ${timeOf(db, at)} order by tx, seq`,
      );
      assertEquals(rows.length, (i === 0 ? 1 : 0) + 13, text); // the first one is "new"
      const changed = rows.filter(({ kind }) => kind === "changed").map(({ data }) => {
        const size = new TextEncoder().encode(String(data)).length;
        assert(size < 5000, `${text}: ${size} bytes`);
        return JSON.parse(String(data));
      });
      const flags = changed.map(({ limit_reached: flag }) => flag);
      assertEquals(flags, [...Array(11).fill(undefined), true, undefined], text);
      assert(changed.every(({ shortened }) => shortened.includes("motd")));
    }
  },
);

onEngines("a column that changes often hides no other one", async (db) => {
  const MINUTE = 60_000;
  const store = quick(db);
  const write = (minute: number, columns: Partial<ServerRecord>) =>
    store.write([record(1, { seen_at: minute * MINUTE, ...columns })]);
  for (let i = 0; i <= 20; i++) await write(1 + i, { motd: `${i}`, version: "1.21.4" });
  await write(30, { motd: "x", version: "1.21.5" });
  await write(31, { motd: '"changes":{"version"', version: "1.21.5" });
  await write(90, { motd: "y", version: "1.21.5" });
  const rows = await all(db, "select data from events where kind = 'changed' order by at");
  const events = rows.map(({ data }) => JSON.parse(String(data)));
  const motds = Array.from({ length: 12 }, () => ["motd"]);
  assertEquals(events.map(({ changes }) => Object.keys(changes)), [...motds, ["version"], [
    "motd",
  ]]);
  assertEquals(events.flatMap(({ limit_reached: isLast }, i) => isLast ? [i] : []), [11]);
});

onEngines(
  "values of a usual length stay as they are, and a long one says that it is shortened",
  async (db) => {
    const motd = "§x§f§f§0§0§0§0A".repeat(59); // a gradient over a line of the server list
    const plugins = Array.from({ length: 20 }, (_, i) => ({ name: `Plugin${i}`, version: "1.0" }));
    const store = quick(db);
    await store.write([record(1, { seen_at: 1000, motd: "old" })]);
    await store.write([record(1, { seen_at: 2000, motd, plugins })]);
    await store.write([record(1, { seen_at: 3000, motd: "y".repeat(5000), plugins })]);
    const [, first, second] = await storedEvents(db) as [
      string,
      string,
      number,
      unknown,
    ][];
    assertEquals(first[3], { changes: { motd: ["old", motd], plugins: [null, plugins] } });
    assertEquals(second[3], {
      changes: { motd: [motd, `${"y".repeat(2043)}…`] },
      shortened: ["motd"],
    });
  },
);

/** SQL of a time. */
function timeOf({ engine }: Database, at: number): string {
  return engine === "postgres" ? `to_timestamp(${at} / 1000.0)` : String(at);
}

onEngines(
  "of two watches the first to write a change reports it, with its own identity",
  async (db) => {
    const online = await writePolled(db, [reply(1000)]);
    assertEquals(kinds(online), ["online"]);
    const change = { motd: "new", guid: "5", players_online: 9, players: ["Ann"] };
    const [first, second] = [reply(2000, change), reply(2100, change)];
    const seen = candidate(first, { event: "changed", changes: { motd: ["x", "new"] } });
    const events = await writePolled(db, [{ ...first, candidates: [seen] }]);
    assertEquals(kinds(events), ["changed", "players"]);
    assertEquals(events[0], {
      ...seen,
      event: "changed",
      changes: { motd: ["§aServer 1", "new"] },
    });
    assertEquals(events[1].event === "players" && events[1].players_online, [1, 9]);
    const late = candidate(second, { event: "changed", changes: { motd: ["x", "new"] } });
    assertEquals(await writePolled(db, [{ ...second, candidates: [late] }]), []);
    // The other watch has itself seen neither the reply before nor this one: it reports the difference.
    const back = await writePolled(db, [reply(3000, { ...change, motd: "§aServer 1" })]);
    assertEquals(kinds(back), ["changed"]);
    const three = { ...change, motd: "§aServer 1", players_online: 1, players: ["Ann"] };
    await writePolled(db, [reply(3100, three)]);
    const others = await writePolled(db, [reply(3200, { ...three, players: ["Bob"] })]);
    assertEquals(others.map((one) => one.event === "players" && one.joined), [["Bob"]]);
    const rows = await all(db, "select id, kind from events order by tx, seq");
    assertEquals(rows.map(({ kind }) => kind), ["online", "changed", "changed"]);
    assertEquals(rows.map(({ id }) => id), [online[0].id, seen.id, back[0].id]);
  },
);

onEngines("a reply to another program after the failed polls keeps a server online", async (db) => {
  await writePolled(db, [reply(1000)]);
  await writePolled(db, [reply(5500)]);
  const refused = { ...silence(6000), outage: { misses: 3, since: 5000, decisiveSince: 5000 } };
  assertEquals(
    await writePolled(db, [refused], [{ ...refused, record: undefined, scanId: watchId(1) }]),
    [],
  );
  assertEquals(await all(db, "select online from server_state"), [{ online: 1 }]);
  assertEquals(await all(db, "select online from observations"), [{ online: 0 }]);
  const taken = { ...silence(8000), outage: { misses: 5, since: 5000, decisiveSince: 6000 } };
  const [offline] = await writePolled(db, [taken], [{
    ...taken,
    record: undefined,
    scanId: watchId(1),
  }]);
  assert(offline.event === "offline");
  assertEquals([offline.misses, offline.replied_at, offline.unresponsive_since], [5, 5500, 5000]);
  assertEquals(await writePolled(db, [silence(8100)]), []);
  assertEquals(await all(db, "select online, missed_scans from server_state"), [
    { online: 0, missed_scans: 0 },
  ]);
  const [online] = await writePolled(db, [reply(9000)]);
  assertEquals(online.event === "online" && online.offline_ms, 4000);
});

onEngines("a server without a row is reported by each watch, and not stored", async (db) => {
  const poll = silence(1000);
  const offline = candidate(poll, { event: "offline", misses: 3 });
  assertEquals(await writePolled(db, [{ ...poll, candidates: [offline] }]), [offline]);
  assertEquals(await all(db, "select * from events"), []);
});

onEngines("an opt-out is an event of each server of the address, once", async (db) => {
  await quick(db).write([record(1), record(2), record(3, { host: "127.0.0.2" })]);
  const optOuts = [{ address: 0x7f000001, at: 5000 }];
  const events = await writePolled(db, [], [], { optOuts });
  assertEquals(events.map(({ event, port, at }) => [event, port, at]), [
    ["opted_out", 1, 5000],
    ["opted_out", 2, 5000],
  ]);
  assertEquals(await writePolled(db, [], [], { optOuts }), []);
  const counts = { downAfter: 3, probesSent: 1, replies: 1, found: 1 };
  const others = [...optOuts, { address: 0x7f000002, at: 6000 }];
  await quick(db).end(
    { id: scanId(1), since: 1, at: 2, state: "finished", ...counts, optOuts: others },
  );
  assertEquals((await storedEvents(db)).slice(3), [
    ["opted_out", "127.0.0.1:1", 5000, {}],
    ["opted_out", "127.0.0.1:2", 5000, {}],
    ["opted_out", "127.0.0.2:3", 6000, {}],
  ]);
});

onEngines("a reply before an opt-out that is written again sets no server online", async (db) => {
  const optOuts = [{ address: 0x7f000001, at: 5000 }];
  for (let attempt = 0; attempt < 2; attempt++) {
    await writePolled(db, [reply(4000)], [], { optOuts });
  }
  const kinds = await all(db, "select kind from events order by seq");
  assertEquals(kinds.map(({ kind }) => kind), ["online", "opted_out"]);
  assertEquals(await all(db, "select online, probed_at from server_state"), [
    { online: 0, probed_at: 5000 },
  ]);
});

/** A database whose next commit succeeds, although the program learns that the connection was lost. */
function losingConfirmation(database: Database): { database: Database; lose: () => void } {
  let lost = false;
  const proxy: Database = Object.create(database, {
    engine: { value: database.engine },
    clockOffsetMs: { value: database.clockOffsetMs },
    transaction: {
      value: async <T>(work: (attempt: number) => Promise<T>) => {
        const result = await database.transaction(work);
        if (!lost) return result;
        lost = false;
        throw new Unavailable("the connection was lost");
      },
    },
    ...Object.fromEntries(
      (["rows", "run", "bulk", "insert", "script", "now"] as const).map((name) => [name, {
        // deno-lint-ignore no-explicit-any -- each method takes its own arguments
        value: (...args: any[]) => (database[name] as any)(...args),
      }]),
    ),
  });
  return { database: proxy, lose: () => lost = true };
}

onEngines("a transaction whose outcome was unknown is reported once", async (db) => {
  const { database, lose } = losingConfirmation(db);
  const unconfirmed = new UnconfirmedEvents();
  await writePolled(database, [reply(1000), reply(1000, {}, 2)], [], { unconfirmed });
  const polls = [reply(2000, { motd: "new", players_online: 7 }), reply(2000, {}, 2)];
  lose();
  await assertRejects(() => writePolled(database, polls, [], { unconfirmed }), Unavailable);
  const events = await writePolled(database, polls, [], { unconfirmed });
  assertEquals(kinds(events), ["changed", "players"]);
  assertEquals(await writePolled(database, polls, [], { unconfirmed }), []);
  const ids = await all(db, "select id from events where kind = 'changed'");
  assertEquals(ids, [{ id: events[0].id }]);
});

postgresTest(
  "PostgreSQL: four writers of the same changes at the same time store and report each once",
  async (url) => {
    await using stack = new AsyncDisposableStack();
    const writers: Database[] = [];
    for (let i = 0; i < 4; i++) writers.push(stack.use(await connect(url)));
    await createTables(writers[0]);
    const count = 100; // a scan reports no more new servers
    const ports = Array.from({ length: count }, (_, i) => i + 1);
    const reported: ServerEvent[] = [];
    for (let round = 0; round < 12; round++) {
      const base = 10_000 * (round + 1);
      const isOut = round % 4 === 3; // every fourth round the servers are offline
      await Promise.all(writers.map(async (database, writer) => {
        const at = base + writer;
        const polls = ports.map((port) =>
          isOut ? { ...silence(at), ...of(port) } : reply(
            at,
            { motd: `m${round}`, guid: "7", players_online: round },
            port,
          )
        );
        if (writer === 3 && !isOut) await quick(database).write(polls.map((one) => one.record!));
        else reported.push(...await writePolled(database, polls));
      }));
    }
    const counted = await all(
      writers[0],
      // Of the first round, either a watch or the scan reports a server.
      "select case when kind = 'new' then 'online' else kind end as kind, count(*) as n, count(distinct (server, extract(epoch from at)::bigint / 10)) " +
        "as rounds from events group by 1 order by 1",
    );
    // 12 rounds: 9 with replies, of which the first and those after an outage begin online.
    assertEquals(counted, [
      { kind: "changed", n: count * 8, rounds: count * 8 },
      { kind: "offline", n: count * 3, rounds: count * 3 },
      { kind: "online", n: count * 3, rounds: count * 3 },
    ]);
    const stored = new Set((await all(writers[0], "select id from events")).map(({ id }) => id));
    const ids = reported.filter(({ event }) => event !== "players").map(({ id }) => id);
    assertEquals(new Set(ids).size, ids.length);
    assert(ids.length > 0 && ids.every((id) => stored.has(id)));
    const players = reported.filter(({ event }) => event === "players");
    const pairs = players.map(({ port, event, ...rest }) =>
      `${port} ${event} ${"players_online" in rest && rest.players_online}`
    );
    assertEquals(new Set(pairs).size, pairs.length);
  },
);

function of(port: number): Pick<Poll, "identity"> {
  return { identity: identityOf(record(port))! };
}

Deno.test("the content hash covers each watched column, because columns are compared only if it differs", () => {
  assertEquals(WATCHED_COLUMNS.filter((name) => !CONTENT.includes(name)), []);
});
