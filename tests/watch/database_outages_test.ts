/**
 * A watch whose database and servers are away at random times. Covers src/watch/pending_events.ts and
 * src/watch/journal.ts with src/store/writers/poll_writer.ts and src/store/writers/poll_events.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { formatAddress } from "../../src/core/address.ts";
import { Random } from "../../src/fleet/random.ts";
import { type Database, Unavailable } from "../../src/store/database/database.ts";
import { UnconfirmedEvents } from "../../src/store/writers/poll_events.ts";
import {
  isWatcherEvent,
  newWatcherEvent,
  type ReportedEvent,
} from "../../src/store/events/watch_event.ts";
import { writePolls } from "../../src/store/writers/poll_writer.ts";
import { newEventId } from "../../src/store/rows/uuid.ts";
import { Store } from "../../src/store/store.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { Journal } from "../../src/watch/journal.ts";
import { WatchedServer } from "../../src/watch/watched_server.ts";
import { longTest } from "../long.ts";
import { all, onEngines, onSqlite } from "../store/databases.ts";
import { record, watchId } from "../store/records.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const SECOND = 1000;
const POLL_MS = 5 * SECOND;
const HOUR = 3_600_000;
/** Servers change three times per burst, so that no event exceeds the limit of 12 per hour. */
const BURSTS = 12;
const BURST_POLLS = 24;
const PORTS = [1, 2, 3, 4, 5, 6];
const TEXTS = ["a", "b", "c"];

/** A network with a clock behind that of the machine, so that databases store no future times. */
class PastNetwork extends FakeNetwork {
  readonly #offset = Date.now() - 30 * 24 * HOUR - super.wall();
  override wall(): number {
    return super.wall() + this.#offset;
  }
}

/** What a transaction does: it is committed, fails, takes long, or is committed without a confirmation. */
type Mode = "works" | "away" | "slow" | "unconfirmed";

/** A server that is up or down, and shows values. */
interface Shown {
  up: boolean;
  motd: string;
  map: string;
  guid: string;
}

/**
 * Runs a watch of six servers, the last of which opts out. Returns its events in the order in which it
 * reported them.
 */
async function watch(database: Database, seed: number): Promise<readonly ReportedEvent[]> {
  const random = new Random(seed);
  const pick = <T>(values: readonly T[]) => values[random.below(values.length)];
  const network = new PastNetwork(seed);
  const later = (ms: number) => new Promise<void>((resolve) => network.after(ms, resolve));
  let mode: Mode = "works";
  const flaky = new Proxy(database, {
    get(target, name) {
      const value = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (name !== "transaction") return value.bind(target);
      return async (work: (attempt: number) => Promise<unknown>) => {
        const result = await target.transaction(work);
        if (mode === "unconfirmed") throw new Unavailable("gone");
        return result;
      };
    },
  });
  const reported: ReportedEvent[] = [];
  const unconfirmed = new UnconfirmedEvents();
  const rules = {
    intervalMs: POLL_MS,
    downAfter: 1,
    scanId: watchId(seed),
    newEventId,
    allProtocols: PROTOCOLS,
  };
  const journal = new Journal({
    name: "the test's database",
    scanId: rules.scanId,
    clock: network,
    report: () => {},
    onEvent: (event, isStored) => reported.push({ event, isStored }),
    async write(polls) {
      if (mode === "slow") await later(15 * SECOND);
      if (mode === "away") throw new Unavailable("gone");
      return await network.hold(
        writePolls(flaky, polls, { allProtocols: PROTOCOLS, newEventId, unconfirmed }),
      );
    },
  });
  const servers = PORTS.map((n) => {
    const endpoint = { address: 0x7f000000 + 256 * seed + n, port: 10 * seed + n };
    const server = new WatchedServer(endpoint, null, rules);
    const shown: Shown = { up: true, motd: "a", map: "a", guid: "1" };
    return { server, shown };
  });
  const poll = () => {
    const at = network.wall();
    for (const { server, shown: { up, ...columns } } of servers) {
      const { address, port } = server.endpoint;
      const host = formatAddress(address);
      const reply = record(port, { host, seen_at: at, scan_id: rules.scanId, ...columns });
      journal.addPoll(server, up ? server.addReply(reply, at) : server.addFailure(at), at);
    }
  };
  const optOut = () => {
    const [{ server }, at] = [servers.pop()!, network.wall()];
    journal.drop(server, server.optedOut(at));
    journal.optOut(server.endpoint.address, at);
  };
  let isOffline = false;
  const reportOwn = () => {
    const at = network.wall();
    const base = { at, scan_id: rules.scanId, id: newEventId(at) };
    isOffline = !isOffline;
    journal.addWatcherEvent(
      isOffline
        ? newWatcherEvent(base, { event: "watcher_offline", since: at, reason: "no_reply" })
        : newWatcherEvent(base, { event: "watcher_online", offline_ms: 1 }),
    );
  };
  await network.run((async () => {
    const begin = { id: rules.scanId, kind: "watch", at: network.wall() } as const;
    await journal.begin(() => network.hold(new Store(database).begin({ ...begin, config: "{}" })));
    for (let burst = 0; burst < BURSTS; burst++) {
      const changes = new Set([1, 2, 3].map(() => random.below(BURST_POLLS - 8)));
      for (let i = 0; i < BURST_POLLS; i++) {
        if (i % 4 === 0) mode = pick(["works", "away", "away", "slow", "unconfirmed"]);
        for (const { shown } of servers) {
          if (i < BURST_POLLS - 8 && random.below(4) === 0) shown.up = !shown.up;
          if (!changes.has(i)) continue;
          [shown.motd, shown.map, shown.guid] = [pick(TEXTS), pick(TEXTS), pick(["1", "2"])];
        }
        if (burst === BURSTS - 1 && i === 4) optOut();
        poll();
        if (random.below(6) === 0) reportOwn();
        for (let second = 0; second < POLL_MS / SECOND; second++) {
          await later(SECOND);
          for (const { server: { endpoint: { port }, reportedOnline } } of servers) {
            const { online } = valuesAfter(reported, port);
            assertEquals(
              reportedOnline,
              online,
              `seed ${seed}, port ${port}: what the table shows`,
            );
          }
        }
      }
      mode = "works";
      await later(HOUR);
    }
    await journal.close(60 * SECOND);
  })());
  return reported;
}

/** The values of a server that somebody knows who got the events. */
function valuesAfter(events: readonly ReportedEvent[], port: number) {
  const values: Record<string, unknown> = {};
  for (const { event } of events) {
    if (isWatcherEvent(event) || event.port !== port) continue;
    if (event.event === "online") {
      const { motd, map, guid } = event.server;
      Object.assign(values, { online: true, motd, map, guid });
    } else if (event.event === "offline" || event.event === "opted_out") values.online = false;
    else if (event.event === "restarted") values.guid = event.guid[1];
    else if (event.event === "changed") {
      for (const [name, [, now]] of Object.entries(event.changes)) values[name] = now;
    }
  }
  return values;
}

/** Runs watches with seeds, and compares their events with the database. */
async function compare(database: Database, seeds: number): Promise<void> {
  let ahead = 0;
  for (let seed = 1; seed <= seeds; seed++) {
    const reported = await watch(database, seed);
    const ids = reported.map(({ event }) => event.id);
    assertEquals(new Set(ids).size, ids.length, `seed ${seed}: an event was reported twice`);
    const stored = await all(
      database,
      `select e.id from events e join scans c on c.id = e.scan where c.uuid = '${watchId(seed)}'`,
    );
    assertEquals(stored.filter(({ id }) => !ids.includes(String(id))), [], `seed ${seed}`);
    const storedIds = new Set(stored.map(({ id }) => String(id)));
    for (const { event, isStored } of reported) {
      if (isStored) assert(storedIds.has(event.id), `seed ${seed}`);
      else if (!storedIds.has(event.id)) {
        assert(!isWatcherEvent(event) && event.event !== "opted_out", `seed ${seed}`);
        ahead++;
      }
    }
    const rows = await all(
      database,
      "select s.port, t.online, s.motd, s.map, s.guid from servers s " +
        `join server_state t on t.server = s.id where s.port between ${10 * seed} and ${
          10 * seed + 9
        }`,
    );
    assertEquals(rows.length, PORTS.length);
    for (const { port, online, motd, map, guid } of rows) {
      const held = { online: Boolean(online), motd, map, guid: String(guid) };
      assertEquals(valuesAfter(reported, Number(port)), held, `seed ${seed}, port ${port}`);
    }
  }
  assert(ahead > 50, `only ${ahead} events were reported without being stored`);
}

const TITLE =
  "over any outages of database and servers, what a watch reports and shows agree, and what the database holds at the end";

onEngines(`${TITLE}: 3 seeds`, (database) => compare(database, 3));
onSqlite(`${TITLE}: 8 seeds`, (database) => compare(database, 8), longTest);
