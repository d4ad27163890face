/** Runs a generated month on a database through its writers, and compares it with the truth. */
import { assertEquals } from "@std/assert";
import { DAY_MS, HOUR_MS } from "../../../src/core/quantities.ts";
import { parseAddress } from "../../../src/core/address.ts";
import type { ServerRecord } from "../../../src/core/record.ts";
import { Random } from "../../../src/fleet/random.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { type Database, Unavailable } from "../../../src/store/database/database.ts";
import { downsampleObservations } from "../../../src/store/downsample.ts";
import { removeServers, writeTombstones } from "../../../src/store/forget/forget_servers.ts";
import { readMembers } from "../../../src/store/members/members.ts";
import type { InterviewScope } from "../../../src/store/merging/kept_columns.ts";
import { beginCampaignScan, writeCampaignBatch } from "../../../src/store/parts/campaign_scan.ts";
import { finishScan } from "../../../src/store/parts/finish_scan.ts";
import { packAbandonedScans, removeEvents } from "../../../src/store/remove_old_rows.ts";
import { identityOf } from "../../../src/store/rows/identity.ts";
import { newEventId } from "../../../src/store/rows/uuid.ts";
import { readDatabaseIdentity } from "../../../src/store/spill_file.ts";
import { SpillingStore } from "../../../src/store/spilling_store.ts";
import { endedScans, readEndedScan } from "../../../src/store/compared_scans.ts";
import { scanDifferences } from "../../../src/store/scan_differences.ts";
import { Store } from "../../../src/store/store.ts";
import { writeImportedRecords } from "../../../src/store/writers/import_writer.ts";
import { writeImportSummary } from "../../../src/store/writers/scan_events.ts";
import { WatchedServer } from "../../../src/watch/watched_server.ts";
import { setClock, storedServers } from "../databases.ts";
import { writePolled } from "../polls.ts";
import { forgettable, scanId, watchId } from "../records.ts";
import { type Asked, KINDS, type TrueEvent, Truth } from "./truth.ts";
import { DAYS, NETWORKS, START, type TrueServer, World } from "./world.ts";

const DOWN_AFTER = 3;
/** Between two polls of a server, milliseconds. */
const INTERVAL = 2 * HOUR_MS;
/** How long a scan lasts, milliseconds. */
const SCAN_MS = HOUR_MS;
const BATCH = 25;
const pause = () => Promise.resolve();

/** What a scan asks. */
interface Selection {
  readonly networks: ReadonlySet<number>;
  /** Addresses that are left out: those whose last number has this remainder by 5. */
  readonly excluded: number;
  readonly ports: readonly number[];
  readonly protocols: readonly string[];
  /** In a rescan, the keys of its servers. */
  readonly only?: ReadonlySet<string>;
}

/** A program that was killed. */
class Killed extends Error {
  override readonly name = "Killed";
}

/** The interruptions of a database: outages, and kills of the program that writes. */
class Interruptions {
  /** Transactions until the program is killed. */
  killAfter = Infinity;
  /** Whether the transaction of the kill is committed. */
  commits = false;
  isDown = false;

  constructor(database: Database) {
    const { transaction } = database;
    const checked: Database["transaction"] = async (work) => {
      if (this.isDown) throw new Unavailable("down");
      const isLast = --this.killAfter < 0;
      if (isLast) this.killAfter = Infinity;
      const result = await transaction.call(database, async (attempt) => {
        const done = await work(attempt);
        if (isLast && !this.commits) throw new Killed();
        return done;
      });
      if (isLast) throw new Killed();
      return result as Awaited<ReturnType<typeof work>>;
    };
    Object.assign(database, { transaction: checked });
  }
}

/** A month of scans, a watch and other commands on one database. */
export class Month {
  readonly world: World;
  readonly truth = new Truth(DOWN_AFTER);
  readonly #random: Random;
  readonly #interruptions: Interruptions;
  #scans = 0;
  #watches = 0;
  #watched: { readonly server: TrueServer; readonly state: WatchedServer }[] = [];
  #polledAt = 0;
  #at = START;
  #seq = 0;
  #identity = "";
  readonly #numbers = new Map<string, number>();
  readonly #selections = new Map<string, Selection>();
  /** Events before this time were removed, Unix milliseconds. */
  #prunedUntil = 0;
  readonly #optedOut = new Set<number>();
  /** The server that opts out in the scan that runs. */
  #leaver: TrueServer | undefined;

  constructor(seed: number, readonly database: Database, readonly folder: string) {
    this.world = new World(seed);
    this.#random = new Random(seed + 1000);
    this.#interruptions = new Interruptions(database);
  }

  async run(): Promise<void> {
    this.#setTime(START);
    this.#identity = await readDatabaseIdentity(this.database);
    for (let day = 0; day < DAYS; day++) {
      await this.#to(START + day * DAY_MS);
      this.world.change();
      if (day === 3 || this.#random.chance(0.1)) await this.#startWatch();
      await this.#to(this.#at + this.#random.below(8 * HOUR_MS));
      await this.#scanOf(day);
      if (day === 12 || day === 20) await this.#import();
      if (day % 7 === 5) await this.#forget();
      if (day % 9 === 6) await this.#prune();
      await this.#compareAll();
    }
  }

  /** Advances the clock, and polls the watched servers. */
  async #to(at: number): Promise<void> {
    for (let next = this.#polledAt + INTERVAL; this.#watched.length > 0 && next <= at;) {
      this.#setTime(Math.max(next, this.#at));
      await this.#poll();
      next = this.#polledAt + INTERVAL;
    }
    this.#setTime(Math.max(at, this.#at));
  }

  #setTime(at: number): void {
    this.#at = at;
    setClock(this.database, at);
  }

  #drawSelection(day: number): Selection {
    const random = this.#random;
    const networks = day === 0
      ? [0, 1]
      : day === 1
      ? [0, 1, 2, 3, 4, 5, 6, 7]
      : Array.from({ length: NETWORKS }, (_, n) => n).filter(() => random.chance(0.7));
    const known = [...this.truth.known.keys()].filter(() => random.chance(0.5));
    return {
      networks: new Set(networks),
      excluded: random.chance(0.3) ? random.below(5) : -1,
      ports: random.chance(0.8) ? [19132, 25565, 19133] : [random.pick([19132, 25565])],
      protocols: random.pick([
        ["raknet", "slp", "query"],
        ["raknet", "slp", "query"],
        ["raknet"],
        ["slp"],
        ["raknet", "slp"],
      ]),
      only: day > 1 && random.chance(0.2) ? new Set(known) : undefined,
    };
  }

  /** Which known servers a scan asks, by the address at which it asks for them. */
  #asked({ networks, excluded, ports, protocols, only }: Selection): Asked {
    return ({ address, port, protocols: known }, key) =>
      networks.has(address - 0x0a000000 >>> 8) && address % 5 !== excluded &&
      ports.includes(port) && !this.#optedOut.has(address) && (only?.has(key) ?? true) &&
      (known.length === 0 ||
        (only === undefined
          ? known.some((one) => protocols.includes(one))
          : known.every((one) => protocols.includes(one))));
  }

  #coverage(asked: Asked) {
    const keys = new Map<string, string>();
    for (const [key, { address, port }] of this.truth.known) keys.set(`${address}:${port}`, key);
    return {
      ranges: [{ start: 0x0a000000, end: 0x0a010000 }],
      includes: (address: number | bigint, port: number, protocols: readonly string[]) =>
        asked({ address: Number(address), port, protocols }, keys.get(`${address}:${port}`) ?? ""),
    };
  }

  /** The replies to a scan from `from` to `to`, in order of time. */
  #replies(selection: Selection, id: string, from: number, to: number, share = 1) {
    const asked = this.#asked(selection);
    const replies: { server: TrueServer; record: ServerRecord }[] = [];
    const servers = this.world.servers.filter((one) =>
      asked(one, one.key) && this.#random.chance(share) && one !== this.#leaver
    );
    servers.forEach((server, i) => {
      const at = from + Math.floor((to - from) * i / servers.length);
      if (!this.world.isUp(server, at) || this.#random.chance(0.03)) return; // lost
      replies.push({ server, record: this.world.reply(server, at, selection.protocols, id) });
    });
    return replies;
  }

  /** The options of a scan, and its addresses. */
  #start({ networks, excluded, ports, protocols, only }: Selection) {
    const targets = only ? [] : [...networks].map((network) => `10.0.${network}.0/24`);
    const rescan = only && "servers.db";
    const range = (start: number, size: number) => ({ start, end: start + size });
    const left = [...networks].flatMap((network) =>
      Array.from({ length: 256 }, (_, i) => 0x0a000000 + 256 * network + i)
    ).filter((address) => address % 5 === excluded);
    return {
      config: JSON.stringify({ targets, ports: ports.join(","), protocol: protocols, rescan }),
      addresses: {
        requested: [...networks].map((network) => range(0x0a000000 + 256 * network, 256)),
        excluded: left.map((address) => range(address, 1)),
      },
    };
  }

  #scope({ protocols }: Selection): InterviewScope {
    const shared = { allProtocols: PROTOCOLS, follow: true, verify: false };
    return { ...shared, protocols, downAfter: DOWN_AFTER };
  }

  async #scanOf(day: number): Promise<void> {
    const selection = this.#drawSelection(day);
    const [id, at] = [scanId(++this.#scans), this.#at];
    this.truth.begin(id, at);
    this.#selections.set(id, selection);
    const isCampaign = day > 1 && this.#random.chance(0.2) && selection.only === undefined;
    if (isCampaign) await this.#campaign(selection, id, at);
    else await this.#sweep(selection, id, at);
    const [{ id: number }] = await this.database.rows(
      `select id from scans where uuid = '${id}'`,
    );
    this.#numbers.set(id, Number(number));
  }

  /** A scan that may be killed, resumed, or begun without the database. */
  async #sweep(selection: Selection, id: string, since: number): Promise<void> {
    const random = this.#random;
    const isStopped = random.chance(0.2); // ends early, and is resumed later, or never
    const asked = this.#asked(selection);
    const leavers = this.world.servers.filter((one) => asked(one, one.key));
    this.#leaver = !isStopped && random.chance(0.2) ? random.pick(leavers) : undefined;
    const hasOutage = random.chance(0.25);
    const replies = this.#replies(selection, id, since, since + SCAN_MS, isStopped ? 0.5 : 1);
    this.#interruptions.isDown = hasOutage && random.chance(0.3);
    await this.#runSweep(selection, id, since, replies, isStopped, hasOutage);
    if (!isStopped || random.chance(0.3)) return;
    await this.#to(this.#at + 4 * HOUR_MS);
    const runAt = this.#at;
    const found = this.truth.scans.get(id)!.members.found;
    const rest = this.#replies(selection, id, runAt, runAt + SCAN_MS)
      .filter(({ server }) => !found.has(server.key));
    await this.#runSweep(selection, id, since, rest, false, false);
  }

  async #runSweep(
    selection: Selection,
    id: string,
    since: number,
    replies: readonly { server: TrueServer; record: ServerRecord }[],
    isStopped: boolean,
    hasOutage: boolean,
  ): Promise<void> {
    const random = this.#random;
    let [runAt, from, killed] = [this.#at, 0, random.chance(0.3) && !hasOutage];
    const end = this.#at + SCAN_MS;
    if (killed) {
      this.#interruptions.killAfter = random.below(6);
      this.#interruptions.commits = random.chance(0.5);
    }
    const packetLoss = random.chance(0.5) ? random.below(10) / 100 : null;
    for (;;) {
      try {
        const store = this.#store(selection, id);
        await store.begin({ id, at: since, runAt, ...this.#start(selection) });
        for (; from < replies.length; from += BATCH) {
          const batch = replies.slice(from, from + BATCH);
          if (hasOutage) this.#interruptions.isDown = random.chance(0.5);
          this.#setTime(Math.max(this.#at, batch.at(-1)!.record.seen_at + 1));
          await store.write(batch.map(({ record }) => record));
        }
        if (from >= replies.length) this.#interruptions.isDown = false;
        this.#setTime(end);
        const asked = this.#asked(selection);
        await store.end({
          ...{ id, since, at: end, downAfter: DOWN_AFTER, probesSent: 1, replies: 1, found: 1 },
          ...{ packetLoss: packetLoss ?? undefined, isComplete: !isStopped },
          state: isStopped ? "interrupted" : "finished",
          coverage: isStopped ? undefined : this.#coverage(asked),
          optOuts: this.#leaver && [{ address: this.#leaver.address, at: end }],
        });
        break;
      } catch (error) {
        if (!(error instanceof Killed)) throw error;
        killed = false;
        this.#interruptions.killAfter = Infinity;
        runAt++; // resumed at once: the last batch is written again
      }
    }
    for (const { server, record } of replies) {
      this.truth.reply(server.key, record, server.address, id);
    }
    this.#interruptions.killAfter = Infinity;
    if (isStopped) return this.truth.finish(id, end, "interrupted");
    this.#optOut(end);
    this.truth.end(id, end, packetLoss, this.#asked(selection));
    this.truth.finish(id, end);
  }

  /** A server has opted out: no program asks its address from now on. */
  #optOut(at: number): void {
    if (this.#leaver === undefined) return;
    const { address, key } = this.#leaver;
    this.#optedOut.add(address);
    this.truth.optOut(address, at);
    this.#watched = this.#watched.filter(({ server }) => server.key !== key);
    this.#leaver = undefined;
  }

  #store(selection: Selection, id: string): SpillingStore {
    const { database } = this;
    const store = new Store(database, pause, this.#scope(selection));
    return new SpillingStore(store, {
      ...{ path: `${this.folder}/${id}.ndjson`, identity: this.#identity, maxBytes: 1e8 },
      ...{ maxWaitMs: 1000, clock: { ...systemClock, now: () => this.#at }, report: () => {} },
    });
  }

  /** A scan in two parts: rows arrive twice, one part may fail, and be retried the next day. */
  async #campaign(selection: Selection, id: string, since: number): Promise<void> {
    const { database, truth } = this;
    await beginCampaignScan(database, { id, at: since, parts: 2, ...this.#start(selection) });
    const numbers = { probesSent: 1, replies: 1, found: 1, position: 1, total: 1 };
    let fails = this.#random.chance(0.4);
    const parts = [0, 1].map((part): Selection => {
      const own = [...selection.networks].filter((network) => network % 2 === part);
      return { ...selection, networks: new Set(own) };
    });
    const finish = async (at: number) => {
      await finishScan(database, {
        ...{ id, since, at, downAfter: DOWN_AFTER },
        coverage: (decided) => {
          const asked = decided.map(({ part }) => this.#asked(parts[part - 1]));
          return this.#coverage((server, key) => asked.some((one) => one(server, key)));
        },
      });
    };
    const runPart = async (index: number, state: "done" | "poisoned") => {
      const at = this.#at + SCAN_MS;
      const replies = this.#replies(parts[index], id, this.#at, at);
      for (let from = 0; from < replies.length; from += BATCH) {
        const records = replies.slice(from, from + BATCH).map(({ record }) => record);
        const batch = { id, records, parts: [] };
        await writeCampaignBatch(database, batch, this.#scope(selection));
        if (this.#random.chance(0.3)) {
          await writeCampaignBatch(database, batch, this.#scope(selection));
        }
      }
      for (const { server, record } of replies) truth.reply(server.key, record, server.address, id);
      this.#setTime(at);
      const tries = state === "done" ? 1 : 5;
      const update = { part: index + 1, state, at, tries, numbers, worker: "w" };
      await writeCampaignBatch(
        database,
        { id, records: [], parts: [update] },
        this.#scope(selection),
      );
    };
    await runPart(0, "done");
    await runPart(1, fails ? "poisoned" : "done");
    await finish(this.#at);
    truth.end(id, this.#at, null, this.#asked(parts[0]));
    if (fails) {
      truth.finish(id, this.#at, "interrupted");
      await this.#to(this.#at + 5 * HOUR_MS);
      fails = false;
      const queued = { ...{ part: 2, state: "queued", at: this.#at, tries: 0 } as const, numbers };
      const news = { id, records: [], parts: [{ ...queued, worker: null }] };
      await writeCampaignBatch(database, news as never, this.#scope(selection));
      await runPart(1, "done");
      await finish(this.#at);
    }
    truth.end(id, this.#at, null, this.#asked(parts[1]));
    truth.finish(id, this.#at);
  }

  async #startWatch(): Promise<void> {
    const number = watchId(++this.#watches);
    await new Store(this.database, pause).begin({
      ...{ id: number, kind: "watch", at: this.#at, config: "{}" },
    });
    const rules = { intervalMs: INTERVAL, downAfter: DOWN_AFTER, scanId: number, newEventId };
    const rows = new Map((await storedServers(this.database)).map((row) => [
      identityOf(row)!.key,
      row,
    ]));
    this.truth.startWatch();
    this.#watched = this.world.servers.flatMap((server, i) => {
      const row = rows.get(server.key);
      if (row === undefined || i % 4 > 0 && server.name === null) return [];
      if (this.#optedOut.has(server.address)) return [];
      const stored = {
        ...row,
        row: row.protocol === "" ? undefined : row,
        probedAt: row.probed_at,
      };
      const endpoint = { address: parseAddress(row.host)!, port: row.port };
      const all = { ...rules, allProtocols: PROTOCOLS };
      return [{ server, state: new WatchedServer(endpoint, server.name, all, stored) }];
    });
    this.#polledAt = this.#at;
  }

  async #poll(): Promise<void> {
    const at = this.#polledAt = this.#at;
    const polls = this.#watched.filter(({ server }) => !this.truth.forgotten.has(server.key)).map(
      ({ server, state }) => {
        const isUp = this.world.isUp(server, at);
        const id = watchId(this.#watches);
        const { protocols } = server;
        const reply = isUp ? this.world.reply(server, at, protocols, id) : undefined;
        if (server.name !== null) {
          state.moveTo({ address: server.address, port: server.port }, server.name);
        }
        const candidates = reply === undefined ? state.addFailure(at) : state.addReply(reply, at);
        const { identity, outage } = state;
        return { server, reply, poll: { identity, at, record: reply, outage, candidates } };
      },
    );
    const ordered = polls.map(({ poll }) => poll);
    if (this.#random.chance(0.05)) {
      this.#interruptions.killAfter = 0;
      await this.#write(ordered).catch((error) => {
        if (!(error instanceof Killed)) throw error;
      });
      this.#interruptions.killAfter = Infinity;
    }
    await this.#write(ordered);
    for (const { server, reply } of polls) {
      if (reply === undefined) this.truth.fail(server.key, at);
      else this.truth.reply(server.key, reply, server.address);
    }
  }

  #write(polls: Parameters<typeof writePolled>[1]) {
    return writePolled(this.database, polls, [], { scanId: watchId(this.#watches) });
  }

  /** Imports what another program saw two hours ago, also of servers that this one never saw. */
  async #import(): Promise<void> {
    const at = this.#at - 2 * HOUR_MS;
    const servers = this.world.servers.filter((one) =>
      this.world.isUp(one, at) && this.#random.chance(0.4) && !this.#optedOut.has(one.address)
    );
    const rows = servers.map((server) => ({
      ...{ key: server.key, address: server.address },
      record: { ...this.world.reply(server, at, server.protocols, ""), scan_id: null },
    }));
    const known = { online: true, missed_scans: 0, first_seen: at, probed_at: at };
    const counts = await writeImportedRecords(
      this.database,
      rows.map(({ record }) => ({ ...record, ...known })),
      PROTOCOLS,
    );
    await writeImportSummary(this.database, counts);
    this.truth.import(rows, this.#at);
  }

  async #forget(): Promise<void> {
    const key = this.#random.pick([...this.truth.known.keys()]);
    const stored = (await storedServers(this.database)).find((one) =>
      identityOf(one)!.key === key
    )!;
    const [{ id }] = await this.database.rows(`select id from servers where key = '${key}'`);
    const servers = [forgettable(stored, Number(id))];
    await writeTombstones(this.database, servers, this.#at);
    await removeServers(this.database, servers, pause);
    this.truth.forget(key);
  }

  async #prune(): Promise<void> {
    await this.#compareEvents();
    this.#prunedUntil = this.#at - 3 * DAY_MS;
    await removeEvents(this.database, this.#prunedUntil, pause);
    const hourly = this.#at - 4 * DAY_MS;
    await downsampleObservations(this.database, { hourly, daily: this.#at - 8 * DAY_MS }, pause);
    await packAbandonedScans(this.database, this.#at, { between: pause });
  }

  async #compareAll(): Promise<void> {
    await this.#compareEvents();
    await this.#compareStates();
    const ids = [...this.#numbers.keys()];
    const compared = ids.length % 5 === 0 ? ids : ids.slice(-2);
    for (const id of compared) await this.#compareMembers(id);
    const ended = [...this.truth.scans.values()].filter(({ isFinished }) => isFinished);
    const last = ended.pop()?.id;
    if (last === undefined || ended.length === 0) return;
    await this.#compareScans(ended.at(-1)!.id, last);
    await this.#compareScans(this.#random.pick(ended).id, last);
  }

  /** Compares what differs between two scans. */
  async #compareScans(from: string, to: string): Promise<void> {
    const scans = new Map((await endedScans(this.database)).map((one) => [one.id, one]));
    const [before, now] = [
      await readEndedScan(this.database, scans.get(from)!),
      await readEndedScan(this.database, scans.get(to)!),
    ];
    const { servers } = await scanDifferences(this.database, before, now);
    const [a, b] = [this.#selections.get(from)!, this.#selections.get(to)!];
    const isAlike = [a.ports, a.protocols].join() === [b.ports, b.protocols].join();
    const isAsked = this.#asked(a);
    const expected = this.truth.difference(
      from,
      to,
      (server, key) => isAlike && a.only === undefined && isAsked(server, key),
    );
    const stored = servers.map(({ difference, server, changes }) =>
      difference !== "changed"
        ? `${difference} ${server}`
        : `changed ${server} ${
          JSON.stringify(Object.fromEntries(Object.entries(changes ?? {}).toSorted()))
        }`
    );
    const { since } = this.truth.scans.get(from)!;
    // An import has no events of servers, so what it changes is not known.
    const isComparable = (line: string) => {
      const [kind, key] = line.split(" ");
      const isImported = (this.truth.importedAt.get(key) ?? 0) > since;
      return kind !== "changed" || since >= this.#prunedUntil && !isImported;
    };
    const comparable = (lines: string[]) => lines.filter(isComparable).sort();
    assertEquals(comparable(stored), comparable(expected), `${from} and ${to}`);
  }

  /** Compares the events since the last comparison. */
  async #compareEvents(): Promise<void> {
    const rows = await this.database.rows(
      "select e.seq, e.at, s.key, e.kind, e.data from events e " +
        `left join servers s on s.id = e.server where e.seq > ${this.#seq} order by e.tx, e.seq`,
    );
    const stored = rows.map(({ seq, at, key, kind, data }): TrueEvent => {
      this.#seq = Math.max(this.#seq, Number(seq));
      return {
        ...{ at: Number(at), key: key === null ? null : String(key) },
        text: `${kind} ${JSON.stringify(compared(String(kind), JSON.parse(String(data))))}`,
      };
    });
    for (const [key, events] of Map.groupBy(stored, ({ key }) => key)) {
      const times = events.map(({ at }) => at);
      assertEquals(times, times.toSorted((a, b) => a - b), `the order of the events of ${key}`);
    }
    const expected = this.truth.take(stored).filter(({ key }) =>
      !this.truth.forgotten.has(key ?? "")
    );
    assertEquals(byServer(stored), byServer(expected));
  }

  async #compareStates(): Promise<void> {
    const rows = await this.database.rows(
      "select s.key, t.online, t.missed_scans, t.replied_at from servers s " +
        "join server_state t on t.server = s.id order by s.key",
    );
    const stored = rows.map(({ key, online, missed_scans, replied_at }) => [
      ...[key, online === 1, Number(missed_scans), replied_at === null ? null : Number(replied_at)],
    ]);
    const expected = [...this.truth.known].map(([key, { online, missedScans, repliedAt }]) => [
      ...[key, online, missedScans, repliedAt],
    ]);
    const inOrder = (list: unknown[][]) => list.map((one) => one.join(" ")).sort();
    assertEquals(inOrder(stored), inOrder(expected));
  }

  /** Compares what a scan saw of servers. */
  async #compareMembers(id: string): Promise<void> {
    const keys = new Map(
      (await this.database.rows("select id, key from servers")).map((
        { id, key },
      ) => [Number(id), String(key)]),
    );
    for (const kind of KINDS) {
      const servers = await readMembers(this.database, this.#numbers.get(id)!, kind);
      const found = servers.map((server) => keys.get(server) ?? `no server ${server}`);
      const { members } = this.truth.scans.get(id)!;
      const isFound = (key: string) => ["missed", "lost"].includes(kind) && members.found.has(key);
      const expected = [...members[kind]].filter((key) => !isFound(key));
      assertEquals(found.sort(), expected.sort(), `${kind} of ${id}`);
    }
  }
}

/** The values of an event that the truth has too. */
function compared(kind: string, data: Record<string, unknown>): unknown {
  const names: Record<string, readonly string[]> = {
    back: ["missing_ms"],
    lost: ["replied_at", "packet_loss"],
    offline: ["misses", "replied_at"],
    scan_summary: ["new", "back", "lost", "reported", "state"],
    restarted: ["guid"],
  };
  if (kind === "changed") {
    return Object.fromEntries(Object.entries(data.changes as object).toSorted());
  }
  return Object.fromEntries((names[kind] ?? []).map((name) => [name, data[name]]));
}

/** The events of each server in order; those of one time in the order of their texts. */
function byServer(events: readonly TrueEvent[]): Record<string, string[]> {
  const groups = Object.groupBy(
    events.toSorted((a, b) => a.at - b.at || (a.text < b.text ? -1 : 1)),
    ({ key }) => key ?? "-",
  );
  const keys = Object.keys(groups).sort();
  return Object.fromEntries(
    keys.map((key) => [key, groups[key]!.map(({ at, text }) => `${at} ${text}`)]),
  );
}
