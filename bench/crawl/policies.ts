/** A month of polls and discovery with one policy, on a simulated clock. */
import { emptyRecord, type ServerRecord } from "../../src/core/record.ts";
import { RecentYield } from "../../src/discovery/freshness.ts";
import { sleep } from "../../src/net/clock.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { FakeNetwork } from "../../src/testing/fake_network.ts";
import { CrawlLoop, type CrawlOptions } from "../../src/watch/crawl_loop.ts";
import { newPollPool, type PollLoopOptions, type ServerLoop } from "../../src/watch/poll_loop.ts";
import { newWatchCounts, pollServers } from "../../src/watch/watch.ts";
import { WatchedServer } from "../../src/watch/watched_server.ts";
import { Random } from "../../src/fleet/random.ts";
import { isUp, lastChange, MONTH, type Mortal } from "./churn.ts";

const DAY = 86_400_000;
const HALF_DAY = DAY / 2;
/** Share of probes without a reply although the server is up. */
const LOSS = 0.024;
/** Half-days before the month in which scans, one each half-day, have noted the servers that were up. */
const SCANNED = 32;
/** Addresses of the /24s that have a known server, and of all networks, per living server. */
const NEAR_ADDRESSES = 256 / 1.74;
const FAR_ADDRESSES = 3.7e9 / 141_000;

/** How known servers are polled: by the law, or each after a fixed time in milliseconds. */
export type Policy = "law" | number;

/** A month. */
export interface Month {
  readonly mortals: readonly Mortal[];
  readonly living: number;
  readonly policy: Policy;
  /** Probes per living server and day, discovery included. */
  readonly budget: number;
  /** Days in which the network of the crawl is down, from its first to its last moment. Default: none. */
  readonly outage?: readonly [from: number, to: number];
}

/** What a month has shown, as averages over its half-days. */
export interface MonthResult {
  /** Share of the living servers that are listed as up. */
  readonly listed: number;
  /** Share of the servers that are listed as up and are down. */
  readonly wrong: number;
  /** Polls and probes of discovery per living server and day. */
  readonly polls: number;
  readonly discovery: number;
  /** Servers that discovery found. */
  readonly found: number;
  /** When servers went offline in the list, days. */
  readonly offline: readonly number[];
}

/** Runs a month. */
export async function runMonth(
  { mortals, living, policy, budget, outage }: Month,
): Promise<MonthResult> {
  const clock = new FakeNetwork(1);
  const [start, startWall, random] = [clock.now(), clock.wall(), new Random(7)];
  const days = () => (clock.now() - start) / DAY;
  const isDown = () => outage !== undefined && days() >= outage[0] && days() < outage[1];
  const controller = new AbortController();
  const rules = {
    ...{ intervalMs: 600_000, downAfter: 3, scanId: "crawl", newEventId: () => "event" },
    allProtocols: PROTOCOLS,
  };
  const rowOf = (port: number, seenAt: number): ServerRecord => ({
    ...emptyRecord({ address: 0x0a000000 + port, port: 1 }, seenAt),
    ...{ protocol: "raknet", protocols: ["raknet"] },
  });
  const watched = new Map<number, WatchedServer>();
  const wallAt = (halfDays: number) => startWall + halfDays * HALF_DAY;
  const list = (number: number, online: boolean, seen: number, since: number) => {
    const row = rowOf(number, wallAt(seen));
    const probedAt = Math.round(clock.wall());
    const stored = { row, online, probedAt, firstSeen: wallAt(since) };
    const endpoint = { address: 0x0a000000 + number, port: 1 };
    const server = new WatchedServer(endpoint, null, rules, stored);
    watched.set(number, server);
    return server;
  };
  for (const [i, mortal] of mortals.entries()) {
    const scans = Array.from({ length: SCANNED + 1 }, (_, ago) => isUp(mortal, -ago));
    const seen = scans.indexOf(true);
    if (seen < 0) continue;
    const since = Math.max(-SCANNED, lastChange(mortal, 0)!);
    list(i, seen === 0, -seen, since);
  }
  const near = discovery(mortals.map((one) => one.near ? one.place : NaN), NEAR_ADDRESSES * living);
  const far = discovery(mortals.map((one) => one.near ? NaN : one.place), FAR_ADDRESSES * living);
  const recentYield = new RecentYield();
  let [probes, found] = [0, 0];
  let add: (servers: readonly WatchedServer[]) => void = () => {};
  const discover = (wanted: number) => {
    probes += wanted;
    const inNear = Math.min(wanted, near.left);
    const passed = [...near.pass(inNear), ...far.pass(wanted - inNear)];
    const halfDays = 2 * days();
    const up = isDown() ? [] : passed.filter((i) => isUp(mortals[i], halfDays) && !watched.has(i));
    found += up.length;
    add(up.map((i) => list(i, true, halfDays, halfDays)));
    recentYield.add(wanted, up.length);
    return Promise.resolve(wanted);
  };
  const crawl: CrawlOptions = {
    perDay: budget * living,
    recentYield,
    minDiscovery: 100,
    discover,
  };
  const offline: number[] = [];
  const shares: (readonly [listed: number, wrong: number])[] = [];
  for (let i = 2; i < MONTH; i++) {
    clock.after(i * HALF_DAY, () => shares.push(sharesOf(mortals, watched, i)));
  }
  clock.after(MONTH * HALF_DAY, () => controller.abort());
  const counts = newWatchCounts();
  await clock.run(pollServers({
    servers: [...watched.values()],
    rules,
    clock,
    pool: newPollPool(1024),
    spreadMs: 0,
    signal: controller.signal,
    counts,
    random: () => 0.5,
    openLoop: (options) =>
      policy === "law"
        ? new CrawlLoop({ ...options, ...crawl })
        : new FixedLoop(policy, { ...options, ...crawl }),
    findServers: (added) => {
      add = added;
      return Promise.resolve();
    },
    onEvent: ({ event }) => {
      if (event === "offline") offline.push(days());
    },
    poll: ({ endpoint }) => {
      const number = endpoint.address as number - 0x0a000000;
      const replies = !isDown() && isUp(mortals[number], 2 * days()) && !random.chance(LOSS);
      return Promise.resolve(replies ? rowOf(number, Math.round(clock.wall())) : undefined);
    },
  }));
  const mean = (index: 0 | 1) => shares.reduce((sum, one) => sum + one[index], 0) / shares.length;
  const perDay = (count: number) => count / living / (MONTH / 2);
  const [polls, discovered] = [perDay(counts.polls), perDay(probes)];
  return { listed: mean(0), wrong: mean(1), polls, discovery: discovered, found, offline };
}

/** The shares of a list at a time, half-days. */
function sharesOf(
  mortals: readonly Mortal[],
  watched: ReadonlyMap<number, WatchedServer>,
  at: number,
): readonly [listed: number, wrong: number] {
  let [living, listedUp, right] = [0, 0, 0];
  for (const [i, mortal] of mortals.entries()) {
    const up = isUp(mortal, at);
    const listed = watched.get(i)?.online === true;
    if (up) living++;
    if (listed) listedUp++;
    if (up && listed) right++;
  }
  return [right / living, (listedUp - right) / listedUp];
}

/** Probes a number of addresses in an order, again and again. `places`: of the servers there. */
function discovery(places: readonly number[], addresses: number) {
  const order = [...places.keys()].filter((i) => !Number.isNaN(places[i]))
    .sort((a, b) => places[a] - places[b]);
  let [next, probed] = [0, 0];
  return {
    /** Number of addresses that were not probed. */
    get left() {
      return Math.max(0, Math.ceil(addresses - probed));
    },
    /** The servers among the next addresses. */
    pass(probes: number): number[] {
      probed += probes;
      const from = next;
      while (next < order.length && places[order[next]] * addresses < probed) next++;
      return order.slice(from, next);
    },
  };
}

/** Polls each server after a fixed time, the oldest first, and gives the rest of the budget to discovery. */
class FixedLoop implements ServerLoop {
  readonly #servers = new Map<WatchedServer, { polledAt: number; polling: boolean }>();
  #probes = 0;

  constructor(
    private readonly intervalMs: number,
    private readonly options: PollLoopOptions & CrawlOptions,
  ) {}

  add(servers: readonly WatchedServer[]): void {
    for (const one of servers) {
      this.#servers.set(one, { polledAt: one.known.probedAt, polling: false });
    }
  }

  pollCanaries(servers: readonly WatchedServer[]): void {
    if (!this.options.isPaused()) this.#probes -= servers.length;
    for (const server of servers) this.#start(server);
  }

  resume(): void {}

  async run(): Promise<void> {
    const { clock, signal, perDay, isPaused, discover, minDiscovery, pool } = this.options;
    const sliceMs = 300_000;
    while (!signal.aborted) {
      if (!isPaused()) {
        this.#probes += perDay * sliceMs / DAY;
        const now = clock.wall();
        const due = [...this.#servers].flatMap(([server, { polledAt, polling }]) => {
          const confirms = server.online === true && server.misses > 0;
          return polling || !confirms && now - polledAt < this.intervalMs
            ? []
            : [{ server, at: confirms ? 0 : polledAt }];
        }).sort((a, b) => a.at - b.at);
        for (const { server } of due.slice(0, Math.max(0, Math.floor(this.#probes)))) {
          this.#probes--;
          this.#start(server);
        }
        const later = perDay * sliceMs / DAY; // what the servers of the next slice may need
        if (due.length <= this.#probes && this.#probes - later >= minDiscovery) {
          const probes = Math.floor(this.#probes - later);
          this.#probes -= probes;
          await discover?.(probes);
        }
      }
      await sleep(clock, sliceMs, signal);
    }
    await pool.tasks.idle();
  }

  #start(server: WatchedServer): void {
    const turn = this.#servers.get(server)!;
    if (turn.polling) return;
    turn.polling = true;
    this.options.pool.tasks.add(server.endpoint.address, async () => {
      await this.options.poll(server, this.options.clock.now());
      turn.polling = false;
      turn.polledAt = this.options.clock.wall();
    });
  }
}
