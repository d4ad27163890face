/**
 * Campaigns with several views of each part, by workers of different vantages, some of which are blocked
 * by some networks. Covers src/campaign/views.ts with src/campaign/worker/ and
 * src/campaign/collector/.
 */
import { assert, assertEquals, fail } from "@std/assert";
import { cancelParts } from "../../../src/campaign/change/cancel_parts.ts";
import { retryPoisoned } from "../../../src/campaign/change/change_campaign.ts";
import { collect } from "../../../src/campaign/collector/collect.ts";
import { Control } from "../../../src/campaign/control.ts";
import { formatLeaseValue, MAX_TRIES } from "../../../src/campaign/lease_value.ts";
import { LEASE_BUCKET, leaseKey, RESULTS } from "../../../src/campaign/names.ts";
import type { Broker } from "../../../src/campaign/nats/connection.ts";
import { StatusReader } from "../../../src/campaign/status/read_status.ts";
import { dashed } from "../../../src/app/options/option.ts";
import { readOptions } from "../../../src/app/options/read_options.ts";
import { formatAddress, parseAddress } from "../../../src/core/address.ts";
import { emptyRecord } from "../../../src/core/record.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { openSqlite } from "../../../src/store/database/sqlite.ts";
import { readViews, type ViewCounts } from "../../../src/store/members/views.ts";
import { newestScans } from "../../../src/store/scans/scan_list.ts";
import { createTables } from "../../../src/store/schema/create_tables.ts";
import { writeScanRecords } from "../../../src/store/writers/scan_writer.ts";
import { startFleet } from "../../../src/testing/start_fleet.ts";
import project from "../../../deno.json" with { type: "json" };
import { all, STATES } from "../../store/databases.ts";
import { scanId } from "../../store/records.ts";
import { longTest } from "../../long.ts";
import { natsTest, startNats } from "../nats_server.ts";
import {
  connect,
  inState,
  readResults,
  startWorker,
  submit,
  testNetwork,
  whenLeases,
} from "./campaign.ts";

const RANGE = "127.63.0.0/21"; // eight networks
const FLEET = { range: RANGE, servers: 80, software: ["bds"], seed: 5 };
const KEY = leaseKey("lab", 1);

/** The third byte of an address in the range: its network. */
const networkOf = (host: string) => Number(host.split(".")[2]);

/** The networks that block each vantage. */
const BLOCKED: Readonly<Record<string, readonly number[]>> = { a: [1, 2], b: [2, 3], c: [] };

/** What the workers sent: the vantages in their order by network, and the number of datagrams. */
class Traffic {
  readonly turns = new Map<number, string[]>();
  sent = 0;

  /** The network of a worker. */
  of(vantage: string) {
    const networkTo = ({ address }: { readonly address: number | bigint }) =>
      networkOf(formatAddress(address));
    return testNetwork((count, to) => {
      this.sent += count;
      const turns = this.turns.get(networkTo(to)) ?? [];
      this.turns.set(networkTo(to), turns);
      if (turns.at(-1) !== vantage) turns.push(vantage);
    }, (to) => BLOCKED[vantage].includes(networkTo(to)));
  }
}

/** Collects the campaign into a database until its scan has ended. */
async function collectInto(output: string, folder: string, nats: string): Promise<void> {
  const context = { program: project.version, allProtocols: PROTOCOLS, nameOf: dashed };
  const quiet = { ...context, note() {}, warn() {} };
  const usual = readOptions("campaign collect", { words: [], given: new Map() }, quiet);
  const options = { ...usual, output, nats, optOutFile: `${folder}/opt-outs.txt`, everyMs: 20 };
  await collect({ ...options, campaign: "lab" }, quiet, new AbortController().signal);
}

/** Runs a campaign of workers that are blocked by some networks, on servers that are known before. */
async function runBlocked(vantages: readonly string[]) {
  const folder = await Deno.makeTempDir();
  await using server = await startNats();
  await using broker = await connect(server.url);
  await using fleet = await startFleet(FLEET);
  const traffic = new Traffic();
  const views = String(vantages.length);
  await submit(broker, { targets: [RANGE], options: { parts: "8", views, rate: "8000" } });
  const workers = vantages.map((vantage) =>
    startWorker(server.url, { network: traffic.of(vantage), options: { vantage } })
  );
  await whenLeases(broker, inState("done", 8));
  await Promise.all(workers.map(({ stop }) => stop()));
  const path = `${folder}/servers.db`;
  await using database = openSqlite(path);
  await createTables(database);
  const known = fleet.servers.map(({ host, port }) => ({
    ...emptyRecord({ address: parseAddress(host)!, port }, Date.now() - 3_600_000),
    ...{ protocol: "raknet", protocols: ["raknet"], scan_id: scanId(1) },
  }));
  await writeScanRecords(database, known);
  await collectInto(path, folder, server.url);
  const [scan] = await newestScans(database, 1);
  const missed = await all(database, `select host from ${STATES} where missed_scans > 0`);
  const ofScan = `join scans c on c.id = o.scan where c.uuid = '${scan.scan_id}'`;
  const events = await all(database, `select o.kind from events o ${ofScan}`);
  const [{ n }] = await all(
    database,
    `select count(*) as n from observations o ${ofScan} and o.online`,
  );
  const seen = await readViews(database, scan.scan_id);
  await Deno.remove(folder, { recursive: true });
  return {
    hosts: fleet.servers.map(({ host }) => host),
    missed: missed.map(({ host }) => String(host)).sort(),
    observations: Number(n),
    ...{ scan, events, seen, traffic, state: scan.state },
  };
}

for (
  const { vantages, silent } of [
    { vantages: ["a"], silent: [1, 2] },
    { vantages: ["a", "b"], silent: [2] },
    { vantages: ["a", "b", "c"], silent: [] },
  ]
) {
  natsTest(
    `of blocked networks, a campaign with ${vantages.length} views misses what no view saw`,
    async () => {
      const run = await runBlocked(vantages);
      const { hosts, traffic } = run;
      const inNetworks = (list: readonly number[]) =>
        hosts.filter((host) => list.includes(networkOf(host))).sort();
      assert(
        inNetworks([1]).length > 0 && inNetworks([2]).length > 0 && inNetworks([3]).length > 0,
      );
      assertEquals(run.missed, inNetworks(silent));
      assertEquals(run.state, "finished");
      const { found, missed } = run.scan.members!;
      assertEquals([found, missed], [hosts.length - run.missed.length, run.missed.length]);
      // Found by several views is found once.
      assertEquals(run.observations, found);
      // The rows that were known before had fewer columns.
      const kinds = run.events.map(({ kind }) => kind).sort();
      assertEquals(kinds, [...Array(found).fill("changed"), ...Array(missed).fill("lost")]);
      // The views of a network never overlap.
      for (const turns of traffic.turns.values()) assertEquals(turns.toSorted(), vantages);
      const { length: views } = vantages;
      assert(traffic.sent >= 2048 * views && traffic.sent < 2048 * views * 1.2, `${traffic.sent}`);
      if (views === 1) return assertEquals(run.seen, undefined);
      const count = (vantage: string, not: readonly string[]): ViewCounts => {
        const own = (host: string) => !BLOCKED[vantage].includes(networkOf(host));
        const other = (host: string) => not.some((one) => !BLOCKED[one].includes(networkOf(host)));
        return {
          vantage,
          seen: hosts.filter(own).length,
          only: hosts.filter((host) => own(host) && !other(host)).length,
          unseen: hosts.filter((host) => !own(host) && other(host)).length,
        };
      };
      const counts = vantages.map((one) => count(one, vantages.filter((other) => other !== one)));
      assertEquals(run.seen!.vantages, counts);
      const networks = counts.filter(({ unseen }) => unseen > 0)
        .map((one) => ({ network: "127.63.0.0/16", ...one }))
        .sort((a, b) => b.unseen - a.unseen);
      assertEquals(run.seen!.networks, networks);
    },
    vantages.length === 3 ? Deno.test : longTest,
  );
}

/** Submits a campaign of one part with two views, 1,024 targets. */
async function submitPart(broker: Broker, rate: string): Promise<void> {
  const options = { parts: "1", views: "2", rate };
  await submit(broker, { targets: ["127.63.0.0/22"], options });
}

natsTest(
  "the view of a worker that is killed is begun anew by another vantage, and then done by its own",
  async () => {
    await using server = await startNats();
    await using broker = await connect(server.url);
    await using fleet = await startFleet({ ...FLEET, range: "127.63.0.0/22" });
    await submitPart(broker, "800");
    const killed = startWorker(server.url, { options: { vantage: "a" } });
    await whenLeases(broker, (leases) => (leases.get(KEY)?.counters.sent ?? 0) > 300);
    await killed.kill();
    let sent = 0;
    const network = testNetwork((count) => sent += count);
    const other = startWorker(server.url, { network, options: { vantage: "b" } });
    const between = await whenLeases(broker, inState("released", 1));
    const { views, tries, marks, counters: { position, total } } = between.get(KEY)!;
    assertEquals([views!.done, tries, marks], [["b"], 0, null]);
    assertEquals([position, total], [1024, 2048]);
    assert(sent >= 1024, `${sent} datagrams`);
    // No worker of another vantage is there: the part waits, and status says so.
    await using control = await Control.open(broker, fail);
    const reader = new StatusReader(broker, control, systemClock, PROTOCOLS, fail);
    await killed.ended;
    const bucket = await broker.bucket(LEASE_BUCKET);
    const { campaigns: [waiting] } = await reader.read("lab");
    assertEquals([waiting.views?.waiting, waiting.views?.done], [1, 1]);
    assertEquals((await bucket.get(KEY))!.operation, "PUT");
    const own = startWorker(server.url, { options: { vantage: "a" } });
    const ended = await whenLeases(broker, inState("done", 1));
    await Promise.all([own.stop(), other.stop()]);
    assertEquals(ended.get(KEY)!.counters.position, 2048);
    const { rows, ends: [{ kind, end }, ...more] } = await readResults(broker);
    assertEquals([kind, end.coverage?.vantages, more], ["done", ["b", "a"], []]);
    assert(end.counters.sent > 2048 + 300, `${end.counters.sent}`);
    assertEquals(
      [...new Set(rows.map(({ host }) => host))].sort(),
      fleet.servers.map(({ host }) => host).sort(),
    );
    assertEquals((await broker.jsm.streams.info("BS_TASKS")).state.messages, 0);
  },
);

natsTest("with one vantage, each part is scanned once, and a cancel ends the parts", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await submit(broker, {
    targets: [RANGE],
    // Fewer parts run at once than there are: tasks that wait for another vantage do not hold back others.
    options: { parts: "8", "max-running": "2", views: "2", rate: "8000" },
  });
  const traffic = new Traffic();
  const network = traffic.of("c");
  const worker = startWorker(server.url, { network });
  await whenLeases(broker, inState("released", 8));
  assertEquals(traffic.turns.size, 8);
  await using control = await Control.open(broker, fail);
  const reader = new StatusReader(broker, control, systemClock, PROTOCOLS, fail);
  const { campaigns: [status] } = await reader.read("lab");
  assertEquals(status.views, { each: 2, done: 8, vantages: ["default"], waiting: 8 });
  assertEquals([status.state, status.share, status.parts.waiting], ["running", 0.5, 8]);
  await control.setState("lab", "cancelled");
  assertEquals(await cancelParts(broker, "lab", control.campaigns().get("lab")!, systemClock), 0);
  await whenLeases(broker, inState("cancelled", 8));
  await worker.stop();
  assertEquals((await broker.jsm.streams.info("BS_TASKS")).state.messages, 0);
  const { state } = await broker.jsm.streams.info(RESULTS, { subjects_filter: "bs.results.>" });
  assertEquals(Object.keys(state.subjects ?? {}).every((name) => name.endsWith("cancelled")), true);
});

natsTest("a view is paused and goes on, and one that is poisoned is retried", async () => {
  await using server = await startNats();
  await using broker = await connect(server.url);
  await submitPart(broker, "800");
  await using control = await Control.open(broker, fail);
  const traffic = new Traffic();
  const first = startWorker(server.url, { network: traffic.of("c"), options: { vantage: "a" } });
  await whenLeases(broker, (leases) => (leases.get(KEY)?.counters.sent ?? 0) > 300);
  await control.setState("lab", "paused");
  await whenLeases(broker, inState("released", 1));
  await control.setState("lab", "running");
  const isViewed = await whenLeases(broker, (leases) => leases.get(KEY)?.views?.done.length === 1);
  await first.stop();
  assert(traffic.sent < 1024 + 100, `${traffic.sent} datagrams: the view went on at its marks`);
  const bucket = await broker.bucket(LEASE_BUCKET);
  const entry = await bucket.get(KEY);
  const failed = { ...isViewed.get(KEY)!, tries: MAX_TRIES, why: "made to fail" };
  await bucket.update(KEY, formatLeaseValue(failed), entry!.revision);
  const second = startWorker(server.url, { options: { vantage: "b" } });
  await whenLeases(broker, inState("poisoned", 1));
  const campaign = control.campaigns().get("lab")!;
  const running = { name: "lab", state: "ended" } as const;
  assertEquals(await retryPoisoned(broker, running, campaign, systemClock), 1);
  const leases = await whenLeases(broker, inState("done", 1));
  await second.stop();
  assertEquals(leases.get(KEY)!.counters.position, 2048);
  const { ends } = await readResults(broker);
  assertEquals(ends.map(({ kind }) => kind), ["poisoned", "done"]);
  assertEquals(ends[1].end.coverage!.vantages, ["a", "b"]);
}, longTest);
