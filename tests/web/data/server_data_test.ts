/**
 * Covers src/web/data/history/read_history.ts, src/web/data/trends.ts, src/web/data/server_details.ts,
 * src/web/data/overview.ts, src/web/data/icons.ts, src/web/data/named_servers.ts, src/web/data/events.ts and
 * src/web/data/database_reader.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import { ATTACHMENTS, type RecordWithAttachments } from "../../../src/core/record.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { identityOf } from "../../../src/store/rows/identity.ts";
import { Store } from "../../../src/store/store.ts";

import { rollUp } from "../../../src/store/uptime/roll_up.ts";
import { writeSpans } from "../../../src/store/uptime/watch_spans.ts";
import { dashboardDataOf } from "../../../src/web/data/database_reader.ts";
import { onEngines } from "../../store/databases.ts";
import { happen } from "../../store/eventful_database.ts";
import { writePolled } from "../../store/polls.ts";
import { record, scanId, watchId } from "../../store/records.ts";

const MINUTE = 60_000;
/** The start of a day. */
const START = 19_700 * DAY_MS;

/** A poll: the time, and the number of players; `undefined`: no reply. */
type Poll = readonly [at: number, players: number | undefined];

/** Writes what a watch saw of servers, by port, and when it ran. */
async function watch(
  database: Database,
  polls: ReadonlyMap<number, readonly Poll[]>,
  spans: readonly (readonly [from: number, to: number])[],
  software: (port: number) => string = () => "Paper",
): Promise<void> {
  const store = new Store(database, () => Promise.resolve());
  const start = {
    id: watchId(1),
    kind: "watch",
    at: spans[0][0],
    config: "{}",
  } as const;
  await store.begin(start);
  for (const [port, ofServer] of polls) {
    const rowAt = (at: number, players: number) =>
      record(port, {
        ...{ seen_at: at, players_online: players, players_max: 100, latency_ms: 5 },
        ...{ scan_id: watchId(1), software: software(port), edition: "java" },
      });
    const identity = identityOf(rowAt(START, 0))!;
    const observations = ofServer.map(([at, players]) => ({
      ...{ identity, scanId: watchId(1), at },
      record: players === undefined ? undefined : rowAt(at, players),
    }));
    const seen = observations.find((one) => one.record !== undefined)!;
    const servers = [{ identity, at: seen.at, record: seen.record }];
    await writePolled(database, servers, observations);
  }
  const written = spans.map(([startedAt, endedAt]) => ({ startedAt, endedAt }));
  await database.transaction(() => writeSpans(database, watchId(1), written));
}

async function idOf(database: Database, port: number): Promise<number> {
  return Number((await database.rows("select id from servers where port = ?", [port]))[0].id);
}

onEngines(
  "a short history has each observation, and the times without a watch",
  async (database) => {
    const at = (minutes: number) => START + minutes * MINUTE;
    const polls: Poll[] = [[at(0), 3], [at(5), 9], [at(10), undefined], [at(70), undefined], [
      at(80),
      4,
    ]];
    await watch(database, new Map([[1, polls]]), [[at(0), at(30)], [at(60), at(90)]]);
    const history = await dashboardDataOf(database).history(
      await idOf(database, 1),
      at(-10),
      at(120),
    );
    const untils = [5, 10, 30, 80, 90].map(at);
    assertEquals(history, {
      ...{ from: at(-10), to: at(120), step: 0 },
      points: polls.map(([at, players]) => {
        const [online, known] = [players !== undefined, players ?? null];
        const [slots, latencyMs] = online ? [100, 5] : [null, null];
        const until = untils.shift()!;
        return {
          ...{ at, until, online, players: known, playersMost: known, slots },
          onlineShare: online ? 1 : 0,
          ...{ latencyMs, latencyLeast: latencyMs, latencyMost: latencyMs },
        };
      }),
      unwatched: [
        { from: at(-10), to: at(0) },
        { from: at(30), to: at(70) },
        { from: at(90), to: at(120) },
      ],
      peak: { players: 9, at: at(5) },
    });
    const none = await dashboardDataOf(database).history(await idOf(database, 1), at(200), at(300));
    assertEquals([none.points, none.peak, none.unwatched], [[], null, [{
      from: at(200),
      to: at(300),
    }]]);
  },
);

onEngines(
  "a history of many observations has steps with mean and most players",
  async (database) => {
    const minutes = Array.from({ length: 1440 }, (_, i) => i * 2);
    const players = (minute: number) => minute >= 600 && minute < 720 ? undefined : minute % 101;
    const polls = minutes.map((minute): Poll => [START + minute * MINUTE, players(minute)]);
    const end = START + 2 * DAY_MS;
    await watch(database, new Map([[1, polls]]), [[START, end]]);
    const history = await dashboardDataOf(database).history(await idOf(database, 1), START, end);
    assertEquals([history.step, history.unwatched], [15 * MINUTE, []]);
    assertEquals(history.points.length, 192);
    assertEquals(history.peak, { players: 100, at: START + 100 * MINUTE });
    for (const { at, online, players: mean, playersMost } of history.points) {
      const start = (at - START) / MINUTE;
      // The players of a poll are those of the next two minutes too.
      const known = Array.from({ length: 15 }, (_, i) => players(start + i - (start + i) % 2))
        .flatMap((one) => one ?? []);
      assertEquals(online, known.length > 0, `${start}`);
      assertEquals(playersMost, known.length > 0 ? Math.max(...known) : null, `${start}`);
      const expected = known.reduce((sum, one) => sum + one, 0) / known.length;
      assert(mean === null ? known.length === 0 : Math.abs(mean - expected) < 1e-9, `${start}`);
    }
  },
);

/** Days of a watch that polls two servers each half hour, except in two hours of each day. */
async function watchDays(database: Database, days: number): Promise<void> {
  const polls = (port: number) =>
    Array.from({ length: days * 48 }, (_, i): Poll[] => {
      const half = i % 48;
      if (half >= 40 && half < 44) return [];
      const isDown = port === 1 && half < 12;
      return [[START + i * HOUR_MS / 2, isDown ? undefined : port * 10 + (half >= 20 ? 5 : 0)]];
    }).flat();
  const spans = Array.from({ length: days }, (_, day) => START + day * DAY_MS)
    .flatMap((day) => [[day, day + 20 * HOUR_MS], [day + 22 * HOUR_MS, day + DAY_MS]] as const);
  const software = (port: number) => port === 1 ? "Paper" : "PocketMine-MP";
  await watch(database, new Map([[1, polls(1)], [2, polls(2)]]), spans, software);
  const now = START + days * DAY_MS + 10 * MINUTE;
  Object.assign(database, { now: () => now });
  await rollUp(database, { now, between: () => Promise.resolve() });
}

onEngines("a history of months has the days of rollups, also of pruned hours", async (database) => {
  await watchDays(database, 5);
  await database.run("delete from observations");
  await database.run("delete from rollups where hours = 1");
  const id = await idOf(database, 1);
  const end = START + 5 * DAY_MS;
  const { step, points, peak } = await dashboardDataOf(database).history(
    id,
    START - 60 * DAY_MS,
    end,
  );
  assertEquals([step, points, peak], [6 * HOUR_MS, [], null]);
  const until = database.engine === "postgres" ? "to_timestamp(?::bigint / 1000)" : "?";
  await database.run(`update rollup_state set sealed_until = ${until}`, [end]);
  const days = await dashboardDataOf(database).history(id, START - 60 * DAY_MS, end);
  assertEquals([days.step, days.peak], [DAY_MS, { players: 15, at: START }]);
  assertEquals(
    days.points.map(({ at, online, players, playersMost }) => [at, online, players, playersMost]),
    [0, 1, 2, 3, 4].map((day) => [START + day * DAY_MS, true, (4 * 10 + 12 * 15) / 16, 15]),
  );
});

onEngines("a long history is equal to the truth", async (database) => {
  const days = 14;
  await watchDays(database, days);
  const id = await idOf(database, 1);
  const end = START + days * DAY_MS;
  const { step, points, peak, unwatched } = await dashboardDataOf(database).history(id, START, end);
  assertEquals([step, points.length, unwatched.length], [HOUR_MS, days * 22, days]);
  assertEquals(peak, { players: 15, at: START + 10 * HOUR_MS });
  for (const { at, online, players, playersMost } of points) {
    const hour = (at - START) % DAY_MS / HOUR_MS;
    const expected = hour < 6 ? null : hour >= 10 ? 15 : 10;
    assertEquals([online, players, playersMost], [hour >= 6, expected, expected], `hour ${hour}`);
  }
});

onEngines("trends are means of the watched time", async (database) => {
  await watchDays(database, 3);
  const data = dashboardDataOf(database);
  const { days, trends: [all, ...others] } = await data.trends({});
  assertEquals([days, all.value, all.points.length, others], [7, null, 3 * 22, []]);
  for (const { at, servers, online, players, watched_share: share } of all.points) {
    assertEquals(share, 1);
    const hour = (at - START) % DAY_MS / HOUR_MS;
    const expected = hour < 6 ? [1, 20] : hour < 10 ? [2, 30] : [2, 40];
    assertEquals([servers, online, players], [2, ...expected], `hour ${hour}`);
  }
  const { trends: bySoftware } = await data.trends({ days: 30, by: "software" });
  assertEquals(
    bySoftware.map(({ value, points }) => [value, points.length, points[0].servers]),
    [["PocketMine-MP", 3, 1], ["Paper", 3, 1]],
  );
  // Online in 16 of 22 hours.
  assertEquals(bySoftware[1].points[0].online, 16 / 22);
  assertEquals(bySoftware[1].points[0].watched_share, 22 / 24);
});

onEngines(
  "a server has its aliases, events and replies, and a scan its last finds",
  async (database) => {
    const store = new Store(database, () => Promise.resolve());
    // The first scan of a database writes no event of a new server.
    await store.write([record(9, { seen_at: 1, scan_id: null })]);
    await store.begin({ id: scanId(1), at: 1000, config: "{}" });
    const first: RecordWithAttachments = {
      ...record(1, { players: ["Ann"] }),
      [ATTACHMENTS]: {
        replies: { raknet: { size: 3, data: "AQID" }, slp: { size: 1, data: "!" } },
      },
    };
    const alias = (port: number, seen: number) =>
      record(port, { alias_of: "127.0.0.1:1", seen_at: seen });
    await store.write([first, alias(2, 3000), alias(3, 2000)]);
    await database.run("update servers set notes = 'a note' where port = 1");
    await database.run("insert into server_tags select 'mine', id from servers where port = 1");
    const data = dashboardDataOf(database);
    const [id, other] = [await idOf(database, 1), await idOf(database, 2)];
    const details = (await data.server(id))!;
    assertEquals(details.server.id, id);
    assertEquals([details.tags, details.notes, details.players], [["mine"], "a note", ["Ann"]]);
    assertEquals(details.aliases.map(({ key }) => key), ["127.0.0.1:2", "127.0.0.1:3"]);
    assertEquals([details.aliasOf, (await data.server(other))!.aliasOf], [
      null,
      { id, key: "127.0.0.1:1" },
    ]);
    assertEquals(details.replies, [
      { protocol: "raknet", seenAt: 1000, size: 3, bytes: Uint8Array.of(1, 2, 3) },
    ]);
    assertEquals(details.events.map(({ kind }) => kind), ["new"]);
    assertEquals(await data.server(999), undefined);
    assertEquals((await data.finds(scanId(1), 2)).map(({ port }) => port), [2, 3]);
    assertEquals(await data.finds("no scan", 2), []);
    assertEquals((await data.scan(scanId(1)))?.state, "stale");
    assertEquals((await data.scans()).map(({ scan_id }) => scan_id), [scanId(1)]);
    const running = async (...ids: string[]) =>
      (await data.runningScans(ids)).map(({ scan_id }) => scan_id);
    assertEquals(await running(), [scanId(1)]);
    const ended = { since: 1000, at: 2000, state: "finished", downAfter: 3 } as const;
    await store.end({ ...ended, id: scanId(1), probesSent: 9, replies: 3, found: 3 });
    assertEquals([await running(), await running(scanId(1))], [[], [scanId(1)]]);
  },
);

onEngines("every server of a database with hostile values is read", async (database) => {
  await happen(database);
  const data = dashboardDataOf(database);
  const rows = await database.rows("select id from servers");
  assert(rows.length > 10);
  for (const { id } of rows) {
    const details = await data.server(Number(id));
    assertEquals(details?.server.id, id);
    await data.history(Number(id), 0, 4e12);
  }
  for (const { scan_id: id } of await data.scans()) {
    assertEquals((await data.scan(id))?.scan_id, id);
    await data.finds(id, 10);
  }
  assert((await data.events({ limit: 100 })).events.length > 0);
});

onEngines(
  "events are found by the number of a server, by its key, and by its name",
  async (database) => {
    const store = new Store(database, () => Promise.resolve());
    await store.write([record(1), record(2), record(2, { requested_as: "a.example" })]);
    const data = dashboardDataOf(database);
    const named = async (server: number | string) =>
      (await data.events({ server, limit: 10 })).events.map(({ server }) => server).sort();
    assertEquals(await named(await idOf(database, 1)), ["127.0.0.1:1"]);
    assertEquals(await named("127.0.0.1:1"), ["127.0.0.1:1"]);
    assertEquals(await named("A.example:2"), ["a.example:2"]);
    for (const absent of ["127.0.0.1:3", "b.example", "no name"]) {
      assertEquals(
        await named(absent),
        [],
      );
    }
  },
);

onEngines(
  "a name stands for the server with its key, or for all servers of its host",
  async (database) => {
    const store = new Store(database, () => Promise.resolve());
    await store.write([record(1), record(2), record(3, { requested_as: "a.example" })]);
    const data = dashboardDataOf(database);
    const named = async (name: string) => (await data.named(name)).map(({ key }) => key);
    assertEquals(await named("127.0.0.1:1"), ["127.0.0.1:1"]);
    assertEquals(await named("127.0.0.1:3"), ["a.example:3"]);
    assertEquals(await named("A.example"), ["a.example:3"]);
    assertEquals(await named("127.0.0.1"), ["127.0.0.1:1", "127.0.0.1:2", "a.example:3"]);
    for (const absent of ["127.0.0.1:4", "b.example", "no name"]) {
      assertEquals(await named(absent), [], absent);
    }
  },
);

onEngines("numbers and kinds that no database can have are not found", async (database) => {
  await happen(database);
  const data = dashboardDataOf(database);
  const none = { events: [], next: null, groups: [] };
  for (const id of [2 ** 31, 3_000_000_000, Number.MAX_SAFE_INTEGER]) {
    assertEquals(await data.server(id), undefined);
    assertEquals(await data.events({ server: id, limit: 10 }), none);
  }
  for (const kind of ["\0", "\ud800"]) {
    assertEquals(await data.events({ kinds: [kind], limit: 10 }), none);
  }
  const events = await data.events({ limit: 10 });
  assert(events.events.length > 0);
  const last = { at: 8.64e15, tx: "9".repeat(19), seq: 10 ** 15 - 1 };
  assertEquals(await data.events({ before: last, limit: 10 }), events);
});

/** The start of a PNG file. */
function pngOf(width: number, height: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(60);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  const view = new DataView(bytes.buffer);
  view.setUint32(16, width);
  view.setUint32(20, height);
  return bytes;
}

onEngines("an icon is read by its hash, if it is a small PNG file", async (database) => {
  const time = database.engine === "postgres" ? "to_timestamp(0)" : "0";
  const bytes = database.engine === "postgres" ? "decode(?, 'hex')" : "unhex(?)";
  const icons = [["good", pngOf(64, 64)], ["large", pngOf(512, 64)], ["text", Uint8Array.of(60)], [
    "empty",
    new Uint8Array(),
  ]] as const;
  for (const [hash, data] of icons) {
    await database.run(
      `insert into favicons (hash, data, first_seen) values (?, ${bytes}, ${time})`,
      [hash, data.toHex()],
    );
  }
  const { icon } = dashboardDataOf(database);
  assertEquals(await icon("good"), pngOf(64, 64));
  for (const hash of ["large", "text", "empty", "absent"]) {
    assertEquals(await icon(hash), undefined);
  }
});
