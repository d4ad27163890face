/**
 * Several watches of one database, from networks that do not reach the same servers. Covers
 * src/store/writers/poll_writer.ts, src/store/merging/kept_columns.ts and src/store/uptime/other_watches.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { type Database, timeParameter } from "../../src/store/database/database.ts";
import { UnconfirmedEvents } from "../../src/store/writers/poll_events.ts";
import { writePolls } from "../../src/store/writers/poll_writer.ts";
import { identityOf } from "../../src/store/rows/identity.ts";
import { newEventId } from "../../src/store/rows/uuid.ts";
import { Store } from "../../src/store/store.ts";
import { writeSpans } from "../../src/store/uptime/watch_spans.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { Journal } from "../../src/watch/journal.ts";
import { newPollPool } from "../../src/watch/poll_loop.ts";
import { newWatchCounts, pollServers } from "../../src/watch/watch.ts";
import { WatchedServer } from "../../src/watch/watched_server.ts";
import { all, onEngines } from "./databases.ts";
import { outageAt, writePolled } from "./polls.ts";
import { record, watchId } from "./records.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const PORTS = [1, 2, 3, 4];

/** A network with a clock behind that of the machine, so that databases store no future times. */
class PastNetwork extends FakeNetwork {
  readonly #offset = Date.now() - 30 * 86_400_000 - super.wall();
  override wall(): number {
    return super.wall() + this.#offset;
  }
}

/** A watch of the four servers. Times are milliseconds from the start of the test. */
interface Scene {
  readonly intervalMs: number;
  readonly downAfter?: number;
  /** Whether the watch gets a reply of the servers. */
  readonly replies: (ms: number) => boolean;
  /** When the watch begins. Default: 0. */
  readonly from?: number;
  /** When the watch ends. */
  readonly to: number;
  /** Whether the watch is killed at its end. Default: it records its end. */
  readonly isKilled?: boolean;
  /** Called after each poll with the server and the events that were reported so far. */
  readonly onPolled?: (server: WatchedServer, reported: readonly Reported[]) => void;
}

/** An event that a watch reported: seconds from the start of the test, the number of the watch, and the kind. */
type Reported = readonly [second: number, watch: number, event: string, port: number | null];

/** Runs watches of one database. The database has the four servers as online. */
async function runWatches(db: Database, scenes: readonly Scene[]): Promise<readonly Reported[]> {
  const network = new PastNetwork(1);
  const reported: Reported[] = [];
  const before = network.wall() - 10 * MINUTE;
  await new Store(db).write(PORTS.map((port) => record(port, { seen_at: before })));
  const runs = scenes.map((scene, i) => runWatch(db, network, scene, i + 1, reported));
  await network.run(Promise.all(runs));
  return reported;
}

/** Writes the heartbeat of a watch at a time, Unix milliseconds. */
async function beat(db: Database, scanId: string, at: number): Promise<void> {
  await db.run(`update scans set heartbeat_at = ${timeParameter(db)} where uuid = ?`, [at, scanId]);
}

async function runWatch(
  db: Database,
  network: PastNetwork,
  { intervalMs, downAfter = 3, replies, from = 0, to, isKilled = false, onPolled }: Scene,
  number: number,
  reported: Reported[],
): Promise<void> {
  const start = network.now();
  const sleep = (ms: number) => new Promise<void>((resolve) => network.after(ms, resolve));
  await sleep(from);
  const rules = {
    intervalMs,
    downAfter,
    scanId: watchId(number),
    newEventId,
    allProtocols: PROTOCOLS,
  };
  const store = new Store(db);
  const unconfirmed = new UnconfirmedEvents();
  const journal = new Journal({
    name: "the test's database",
    scanId: rules.scanId,
    clock: network,
    write: (polls) =>
      network.hold(writePolls(db, polls, { allProtocols: PROTOCOLS, newEventId, unconfirmed })),
    writeSpans: (spans) => network.hold(db.transaction(() => writeSpans(db, rules.scanId, spans))),
    writeHeartbeat: () => network.hold(beat(db, rules.scanId, network.wall())),
    onEvent: ({ event, port }) =>
      reported.push([Math.round((network.now() - start) / SECOND), number, event, port]),
    report: (line) => assert(false, line),
  });
  const begin = { id: rules.scanId, kind: "watch", at: network.wall() } as const;
  await journal.begin(() => network.hold(store.begin({ ...begin, config: "{}" })));
  const rowOf = (port: number) => record(port, { seen_at: network.wall(), scan_id: rules.scanId });
  const controller = new AbortController();
  network.after(to - from, () => controller.abort());
  await pollServers({
    servers: PORTS.map((port) => {
      const stored = { row: rowOf(port), online: true, probedAt: network.wall() - 10 * MINUTE };
      return new WatchedServer({ address: 0x7f000001, port }, null, rules, stored);
    }),
    rules,
    clock: network,
    pool: newPollPool(256),
    spreadMs: 0,
    signal: controller.signal,
    counts: newWatchCounts(),
    random: () => 0.5,
    onEvent: () => {},
    onPolled: (server, ...result) => {
      journal.addPoll(server, ...result);
      onPolled?.(server, reported);
    },
    onWatcherEvent: (event) => journal.addWatcherEvent(event),
    async poll({ endpoint: { port } }) {
      const hasReply = replies(network.now() - start);
      await sleep(hasReply ? 10 : 3000);
      return hasReply ? rowOf(port) : undefined;
    },
  });
  if (isKilled) return journal.stop();
  await journal.close(10 * SECOND);
  const [since, at] = [0, network.wall()];
  const numbers = { found: 4, probesSent: 0, replies: 0 };
  await network.hold(
    store.end({ id: rules.scanId, since, at, state: "finished", downAfter, ...numbers }),
  );
}

const always = () => true;
const never = () => false;

/** The intervals of the watch that gets replies, and of the watch that gets none. */
const INTERVALS = [
  [5 * SECOND, 5 * SECOND],
  [MINUTE, 5 * SECOND],
  [MINUTE, MINUTE],
  [10 * MINUTE, 5 * SECOND],
  [4 * HOUR, HOUR],
] as const;

for (const [other, own] of INTERVALS) {
  const [text, ownText] = [other, own].map((ms) => `${ms / SECOND} s`);
  onEngines(
    `a watch (${ownText}) without replies sets no server offline while another watch (${text}) gets replies`,
    async (db) => {
      const to = Math.max(5 * MINUTE, 1.3 * other);
      const reported = await runWatches(db, [
        { intervalMs: other, replies: always, to },
        { intervalMs: own, replies: never, to },
      ]);
      assertEquals(reported, []);
    },
  );
}

const OFFLINE_AT = 90 * SECOND;

onEngines("servers that reply to no watch any more are reported offline once", async (db) => {
  const replies = (ms: number) => ms < OFFLINE_AT;
  const to = 5 * MINUTE;
  const reported = await runWatches(db, [
    { intervalMs: 30 * SECOND, replies, to },
    { intervalMs: 20 * SECOND, replies, to },
    { intervalMs: 5 * SECOND, replies: never, to },
  ]);
  assertEquals(reported.map(([, , event]) => event), PORTS.map(() => "offline"));
  for (const [second] of reported) assert(second > 90 && second < 145, `after ${second} s`);
});

for (const isKilled of [false, true]) {
  const end = isKilled ? "was killed" : "has ended";
  onEngines(
    `a watch without replies sets servers offline after the other watch ${end}`,
    async (db) => {
      const polls: string[] = [];
      const reported = await runWatches(db, [
        { intervalMs: 20 * SECOND, replies: always, to: OFFLINE_AT, isKilled },
        {
          intervalMs: 20 * SECOND,
          replies: never,
          to: 10 * MINUTE,
          onPolled: ({ endpoint, online, reportedOnline }, reported) => {
            const isReported = reported.some(([, , , port]) => port === endpoint.port);
            assertEquals(reportedOnline, !isReported);
            polls.push(`${online} ${reportedOnline}`);
          },
        },
      ]);
      // Its polls have long failed when the event is reported.
      assertEquals(new Set(polls), new Set(["true true", "false true", "false false"]));
      assertEquals(reported.map(([, , event]) => event), PORTS.map(() => "offline"));
      for (const [second] of reported) {
        assert(second > 90 && second < 90 + 60 + 25, `after ${second} s`);
      }
    },
  );
}

onEngines(
  "a watch whose heartbeat is a minute old counts as killed, if the database could be written since then",
  async (db) => {
    const identity = identityOf(record(1))!;
    for (const watch of [1, 2]) {
      const id = watchId(watch);
      await new Store(db).begin({ id, kind: "watch", at: 1000, config: "{}" });
      await db.transaction(() => writeSpans(db, id, [{ startedAt: 1000, endedAt: 30_000 }]));
      const at = 1000 * watch;
      const reply = record(1, { seen_at: at, scan_id: id });
      await writePolled(db, [{ identity, at, record: reply }], [
        { scanId: id, identity, at, record: reply },
      ], { scanId: id });
    }
    await beat(db, watchId(1), 40_000);
    const fail = async (at: number, writableSince: number) => {
      const polled = [{ identity, at, outage: outageAt(at - 10_000) }];
      const events = await writePolled(db, polled, [], { scanId: watchId(2), writableSince });
      return events.map(({ event }) => event);
    };
    assertEquals(await fail(100_000, 2000), []);
    assertEquals(await fail(100_001, 40_002), []);
    assertEquals(await fail(100_001, 40_001), ["offline"]);
  },
);

onEngines(
  "of two watches without replies, the last that writes sets the server offline, also with an older poll",
  async (db) => {
    const identity = identityOf(record(1))!;
    const poll = async (watch: number, at: number, hasReply: boolean) => {
      const scanId = watchId(watch);
      const reply = hasReply ? record(1, { seen_at: at, scan_id: scanId }) : undefined;
      const outage = hasReply ? undefined : outageAt(at, 1);
      const seen = [{ scanId, identity, at, record: reply }];
      const polled = [{ identity, at, record: reply, outage }];
      return (await writePolled(db, polled, seen, { scanId })).map(({ event }) => event);
    };
    for (const watch of [1, 2]) {
      const id = watchId(watch);
      await new Store(db).begin({ id, kind: "watch", at: 1000, config: "{}" });
      await db.transaction(() => writeSpans(db, id, [{ startedAt: 1000, endedAt: 30_000 }]));
      await poll(watch, 2000, true);
    }
    assertEquals(await poll(2, 20_000, false), []);
    assertEquals(await poll(1, 10_000, false), ["offline"]);
    assertEquals(await all(db, "select online, probed_at from server_state"), [
      { online: 0, probed_at: 20_000 },
    ]);
  },
);
