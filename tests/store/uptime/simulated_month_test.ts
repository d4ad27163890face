/**
 * A simulated month of watches: the uptime in the database equals the true uptime.
 *
 * Covers src/store/uptime/ and src/watch/journal.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import { Random } from "../../../src/fleet/random.ts";
import type { Clock } from "../../../src/net/clock.ts";
import type { Database } from "../../../src/store/database/database.ts";
import { downsampleObservations } from "../../../src/store/downsample.ts";
import { UnconfirmedEvents } from "../../../src/store/writers/poll_events.ts";
import { writePolls } from "../../../src/store/writers/poll_writer.ts";
import { newEventId } from "../../../src/store/rows/uuid.ts";
import { Store } from "../../../src/store/store.ts";
import { periodStart } from "../../../src/store/uptime/rollup_hours.ts";
import { addUptime, UNWATCHED, type Uptime } from "../../../src/store/uptime/uptime_of_polls.ts";
import { rollUp } from "../../../src/store/uptime/roll_up.ts";
import { removeHours, sealHours } from "../../../src/store/uptime/seal_hours.ts";
import { uptimePoints } from "../../../src/store/uptime/uptime_queries.ts";
import { type WatchSpan, writeSpans } from "../../../src/store/uptime/watch_spans.ts";
import { Journal } from "../../../src/watch/journal.ts";
import { Schedule } from "../../../src/watch/schedule.ts";
import { WatchedServer } from "../../../src/watch/watched_server.ts";
import { longTest } from "../../long.ts";
import { onEngines, onSqlite } from "../databases.ts";
import { record, watchId } from "../records.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

const START = periodStart(1_700_000_000_000, DAY_MS);
const MINUTE = 60_000;
const INTERVAL = 10 * MINUTE;
const SERVERS = [1, 2, 3];
const DAYS = 30;
/** Days for which all observations are kept. */
const KEPT_DAYS = 5;

/** A period: start and end, Unix milliseconds. */
type Period = readonly [from: number, to: number];

/** A clock whose timers wait for what the one before has written. */
class SimulatedClock implements Clock {
  #time = START;
  readonly #timers = new Schedule<() => void>();
  /** Writes that are in progress. */
  readonly writes = new Set<Promise<unknown>>();

  now = () => this.#time - START;
  wall = () => this.#time;
  yieldToEvents = () => Promise.resolve();
  pollSockets = () => Promise.resolve();

  after(ms: number, callback: () => void): () => void {
    let isDue = true;
    this.#timers.add(() => isDue && callback(), this.#time + ms);
    return () => isDue = false;
  }

  /** Runs the timers until a time. */
  async runUntil(end: number): Promise<void> {
    while (this.#timers.next <= end) {
      this.#time = Math.max(this.#time, this.#timers.next);
      this.#timers.due(this.#time)!();
      await this.settled();
    }
    this.#time = end;
  }

  /** Waits for all writes, and for what follows them. */
  async settled(): Promise<void> {
    for (let turn = 0; turn < 20 || this.writes.size > 0; turn++) {
      await (this.writes.size > 0 ? Promise.all(this.writes) : undefined);
    }
  }

  /** Runs a write to the database. */
  async write<T>(work: () => Promise<T>): Promise<T> {
    const writing = work();
    this.writes.add(writing);
    return await writing.finally(() => this.writes.delete(writing));
  }
}

/** Outages of a server: a few short ones, one of a day, one across midnight. */
function drawOutages(random: Random, days: number): Period[] {
  const outages: Period[] = [];
  for (let day = 0; day < days; day += 1 + random.below(4)) {
    const from = START + day * DAY_MS + random.below(DAY_MS);
    const ms = [25 * MINUTE, 3 * HOUR_MS, 7 * HOUR_MS, DAY_MS][random.below(4)];
    outages.push([from, from + ms + random.below(HOUR_MS)]);
    day += Math.ceil((ms + HOUR_MS) / DAY_MS);
  }
  return outages;
}

const isIn = (at: number, periods: readonly Period[]) =>
  periods.some(([from, to]) => from <= at && at < to);

/** The time within all of several lists of periods, seconds. */
function overlap(from: number, to: number, ...lists: readonly (readonly Period[])[]): number {
  const borders = [from, to, ...lists.flat(2)].filter((at) => at >= from && at <= to);
  const inOrder = [...new Set(borders)].sort((a, b) => a - b);
  let ms = 0;
  for (let i = 0; i + 1 < inOrder.length; i++) {
    if (lists.every((list) => isIn(inOrder[i], list))) ms += inOrder[i + 1] - inOrder[i];
  }
  return ms / 1000;
}

/** The rest of a period without others. */
function without(from: number, to: number, outages: readonly Period[]): Period[] {
  const rest: Period[] = [];
  let at = from;
  for (const [start, end] of outages) {
    if (start > at) rest.push([at, start]);
    at = Math.max(at, end);
  }
  return at < to ? [...rest, [at, to]] : rest;
}

/** What happens to a watch. */
interface WatchPlan {
  readonly number: number;
  readonly from: number;
  readonly to: number;
  /** Whether it is killed at its end. */
  readonly killed?: boolean;
  /** Outages of the watch's own network. */
  readonly outages: readonly Period[];
  /**
   * How often its span is written, milliseconds. A journal writes it each minute, which is most
   * transactions of a month.
   */
  readonly spanMs: number;
}

/** Runs a watch of all servers on the clock. The caller advances the clock. */
async function startWatch(
  { number, from, to, killed, outages, spanMs }: WatchPlan,
  database: Database,
  clock: SimulatedClock,
  up: (port: number, at: number) => boolean,
): Promise<void> {
  const random = new Random(number);
  const rules = {
    intervalMs: INTERVAL,
    downAfter: 3,
    scanId: watchId(number),
    newEventId,
    allProtocols: PROTOCOLS,
  };
  const unconfirmed = new UnconfirmedEvents();
  let isKilled = false;
  const write = (work: () => Promise<void>) => {
    if (isKilled) return new Promise<void>(() => {}); // the process is gone
    return clock.write(() => database.transaction(work));
  };
  const held = new Map<number, WatchSpan>();
  let writtenAt = -Infinity;
  const writeHeld = () => {
    const spans = [...held.values()];
    held.clear();
    writtenAt = clock.wall();
    return write(() => writeSpans(database, rules.scanId, spans));
  };
  const journal = new Journal({
    name: "the database",
    scanId: rules.scanId,
    clock,
    report: (line) => {
      throw new Error(line);
    },
    write: (polls) => {
      if (isKilled) return new Promise(() => {});
      return clock.write(() => writePolls(database, polls, { ...rules, unconfirmed }));
    },
    writeSpans: (spans) => {
      for (const span of spans) held.set(span.startedAt, span);
      return clock.wall() < writtenAt + spanMs ? Promise.resolve() : writeHeld();
    },
  });
  const start = { id: rules.scanId, kind: "watch" as const, at: from, config: "{}" };
  await journal.begin(() => new Store(database, () => Promise.resolve()).begin(start));
  const poll = (server: WatchedServer) => {
    const at = clock.wall();
    if (at >= to) return;
    if (!isIn(at, outages)) {
      const { port } = server.endpoint;
      const reply = up(port, at)
        ? record(port, { seen_at: at, players_online: port, scan_id: rules.scanId })
        : undefined;
      const events = reply === undefined ? server.addFailure(at) : server.addReply(reply, at);
      journal.addPoll(server, events, at, reply);
    }
    clock.after(Math.round(server.nextDelayMs(random.below(1000) / 1000)), () => poll(server));
  };
  for (const port of SERVERS) {
    const row = record(port, { seen_at: from });
    const stored = { row, online: true, failures: 0, probedAt: from };
    const server = new WatchedServer({ address: 0x7f000001, port }, null, rules, stored);
    clock.after(1 + random.below(INTERVAL), () => poll(server));
  }
  for (const [since, until] of outages) {
    clock.after(since - from, () => journal.offline(since));
    clock.after(until - from, () => journal.online(until));
  }
  clock.after(to - from, () => {
    if (killed) isKilled = true;
    else void clock.write(() => journal.close(1000)).then(writeHeld);
  });
}

/** Computes rollups, and prunes. */
async function keep(database: Database, now: number, keptDays: number): Promise<void> {
  const between = () => Promise.resolve();
  await rollUp(database, { now, between });
  const until = await sealHours(database, periodStart(now - keptDays * DAY_MS, HOUR_MS));
  const daily = periodStart(until, DAY_MS);
  await removeHours(database, until, between);
  await downsampleObservations(database, { hourly: periodStart(until, HOUR_MS), daily }, between);
}

/** Runs watches for a month, and compares uptimes. Spans are written every `spanMs` milliseconds. */
async function compareMonth(db: Database, spanMs: number): Promise<void> {
  const random = new Random(11);
  const clock = new SimulatedClock();
  Object.assign(db, { now: clock.wall }); // which hours may be closed depends on this time
  const end = START + DAYS * DAY_MS;
  const outages = new Map(SERVERS.map((port) => [port, drawOutages(random, DAYS)]));
  const up = (port: number, at: number) => !isIn(at, outages.get(port)!);
  const day = (n: number) => START + Math.round(n * DAY_MS);
  const plans: Omit<WatchPlan, "spanMs">[] = [
    // Two watches that overlap, of which one is killed; a day without any; an outage of our own.
    { number: 2, from: day(0), to: day(12), outages: [[day(4.3), day(4.5)]] },
    { number: 3, from: day(8), to: day(17) + 12_345, killed: true, outages: [] },
    {
      number: 4,
      from: day(18),
      to: end,
      outages: [[day(20.1), day(20.4)], [day(25), day(26.2)]],
    },
  ];
  for (const plan of plans) {
    clock.after(
      plan.from - START,
      () => void clock.write(() => startWatch({ ...plan, spanMs }, db, clock, up)),
    );
  }
  for (let at = START; at < end; at += DAY_MS) {
    await clock.runUntil(at + DAY_MS);
    await keep(db, at + DAY_MS, KEPT_DAYS);
  }
  await keep(db, end + DAY_MS, KEPT_DAYS);
  const watched = [
    ...without(START, day(17) + 12_345, plans[0].outages),
    ...without(day(18), end, plans[2].outages),
  ];
  for (const port of SERVERS) {
    const [{ id }] = await db.rows("select id from servers where port = ?", [port]);
    const points = await uptimePoints(db, Number(id), START, end + DAY_MS);
    const sum = points.reduce<Uptime>(addUptime, UNWATCHED);
    const upPeriods = without(START, end, outages.get(port)!);
    const [watchedS, onlineS] = [
      overlap(START, end, watched),
      overlap(START, end, watched, upPeriods),
    ];
    // A server that has been offline is polled again after a 60th of its outage, or an interval.
    const seconds = (periodMs: number) => 1.1 * Math.max(INTERVAL, periodMs / 60) / 1000;
    const late = outages.get(port)!.map(([from, to]) => seconds(to - from));
    // Each of the six starts of watching is missed until the first poll, and what the killed watch
    // had not written.
    const missed = watchedS - sum.watchedS;
    const most = 6 * Math.max(seconds(0), ...late) + seconds(0);
    assert(missed >= 0 && missed <= most, `${port}: ${missed} s of ${watchedS} not watched`);
    // Each change is seen with the next poll.
    const slack = late.reduce((sum, one) => sum + seconds(0) + one, 0);
    const wrong = Math.abs(onlineS - sum.onlineS);
    assert(wrong <= missed + slack, `${port}: ${wrong} s of ${onlineS} s`);
    assertEquals(sum.playersMax, port);
    assertEquals(sum.playerS, port * sum.onlineS);
  }
}

const TITLE =
  "uptime of a simulated month equals the true uptime, within one interval for each change";

onEngines(TITLE, (database) => compareMonth(database, INTERVAL), longTest);
onSqlite(
  `${TITLE}, with spans that are written each minute`,
  (database) => compareMonth(database, MINUTE),
  longTest,
);
