/**
 * Passes that are planned from the results of earlier ones: src/scan/adaptive/adaptive_sweep.ts,
 * src/scan/tables/discovered_servers.ts, src/scan/setup/adaptive_setup.ts,
 * src/scan/setup/adaptive_report.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { type Endpoint, endpointKey, parseAddress } from "../../../src/core/address.ts";
import type { ServerRecord } from "../../../src/core/record.ts";
import type { IPv4Endpoint } from "../../../src/discovery/contract.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { DiscoveredServers } from "../../../src/scan/tables/discovered_servers.ts";
import type { AdaptiveScan } from "../../../src/scan/setup/adaptive_setup.ts";
import { parsePassRecord, type PassRecord } from "../../../src/scan/adaptive/pass_record.ts";
import type { Checkpointer } from "../../../src/scan/setup/scan_setup.ts";
import type { Range } from "../../../src/targets/ranges.ts";
import { scanFleet, type Setting } from "../scan_harness.ts";
import { ListedPasses } from "./listed_passes.ts";

const RANGE = { start: 0x7f100000, end: 0x7f100100 };
const FLEET = { servers: 40, hostile: 0, range: RANGE, seed: 11 };
const [RAKNET] = PROTOCOLS.filter(({ name }) => name === "raknet");

/** The addresses of the range on the default port. */
const ALL = Array.from({ length: 256 }, (_, i) => ({ address: RANGE.start + i, port: 19132 }));
/** The first half, the second half, and the first half again. */
const PLAN = [ALL.slice(0, 128), ALL.slice(128), ALL.slice(0, 128)];

/** The endpoint of a row. */
function endpointOf({ host, port }: ServerRecord): Endpoint {
  return { address: parseAddress(host)!, port };
}

/** The endpoints that an even scan finds there. */
const { rows: FOUND } = await scanFleet({ fleet: FLEET, protocolNames: ["raknet"] });
const SERVERS = new Set(FOUND.map((row) => endpointKey(endpointOf(row))));

function settingOf(passes: readonly (readonly IPv4Endpoint[])[], more: Partial<AdaptiveScan> = {}) {
  const discovery = new ListedPasses(passes);
  const lines: string[] = [];
  const checkpoint: Checkpointer = {
    accepted: () => Promise.resolve(),
    optedOut: () => Promise.resolve(),
    save: () => Promise.resolve(),
    passed: (line) => {
      lines.push(line);
      return Promise.resolve();
    },
  };
  const adaptive: AdaptiveScan = {
    budget: { share: 1 },
    stopBelow: 0,
    netBudget: Infinity,
    known: [],
    discovery,
    protocols: [RAKNET],
    earlier: [],
    ...more,
  };
  const setting: Setting = { fleet: FLEET, protocolNames: ["raknet"], adaptive, checkpoint };
  return { setting, discovery, records: () => lines.map((line) => parsePassRecord(line, "test")) };
}

/** The servers that records name, in ascending order. */
function hitsOf(records: readonly PassRecord[]): (number | bigint)[] {
  return records.flatMap(({ found }) => found[0].hits.map(endpointKey)).sort();
}

Deno.test("each pass is planned from the recorded results of the pass before it", async () => {
  const { setting, discovery, records } = settingOf(PLAN);
  const { rows, end, state } = await scanFleet(setting);
  assertEquals([end.reason, discovery.next, state.adaptive?.ended], ["done", 3, "budget"]);
  assertEquals(state.adaptive?.level, 1e6 * ListedPasses.LEVEL);
  assertEquals(hitsOf(records()), [...SERVERS].sort());
  assertEquals(rows.length, SERVERS.size);
  assertEquals(discovery.folded, records().map(({ found }) => found));
  // the third pass asks only for those that did not reply in the first one
  assertEquals(state.sent, 256 + 128 - records()[0].found[0].hits.length);
});

Deno.test("a scan ends below the wanted number of servers, and when nothing is left", async () => {
  const empty = [ALL.slice(0, 1), ALL.slice(1, 2), ALL.slice(2, 3)].map((one) =>
    one.filter((endpoint) => !SERVERS.has(endpointKey(endpoint)))
  ).filter(({ length }) => length > 0);
  const low = settingOf([...empty, ...PLAN], { stopBelow: 1, budget: { share: 9 } });
  const { state } = await scanFleet(low.setting);
  assertEquals([state.adaptive?.ended, low.discovery.next], ["stop-below", 2]);
  const all = settingOf(PLAN, { budget: { share: 9 } });
  const { state: whole } = await scanFleet(all.setting);
  assertEquals([whole.adaptive?.ended, all.discovery.next], ["nothing-left", 3]);
  const rest = settingOf(PLAN, { budget: { probes: 390 } }); // 6 more than the passes have
  const { state: spent } = await scanFleet(rest.setting);
  assertEquals([spent.adaptive?.ended, rest.discovery.next], ["budget", 3]);
});

Deno.test("the caps of a pass follow from its time", async () => {
  const { setting, discovery } = settingOf(PLAN);
  const rates = { rate: 1000, netRate: 50, hostRate: 5 };
  await scanFleet({ ...setting, rates, capLoopback: true });
  const [{ probes, perNetwork, perHost, lossPerMille }] = discovery.inputs;
  assertEquals(probes, Math.min(384, 5000));
  assertEquals([perNetwork, perHost, lossPerMille], [64, 16, 24]);
});

Deno.test("canary probes stay within their part of a network budget", async () => {
  const again = Array.from({ length: 6 }, () => ALL).flat();
  const sentWith = async (netBudget: number) => {
    const { setting } = settingOf([ALL, again, again], { budget: { share: 9 }, netBudget });
    const rates = { rate: 500, netRate: undefined, hostRate: undefined };
    const { state } = await scanFleet({ ...setting, rates, audited: false });
    return state.canaries.sent;
  };
  assert(await sentWith(Infinity) > 5);
  assertEquals(await sentWith(64 * 5), 5); // all servers are in one /24
  assertEquals(await sentWith(63), 0);
});

Deno.test("an interrupted pass is not recorded, and is probed again as a whole", async () => {
  const stop = new AbortController();
  const first = settingOf(PLAN);
  const stopping = { onPass: () => void (first.discovery.next === 1 && stop.abort()) };
  const cut = await scanFleet({ ...first.setting, ...stopping, signal: stop.signal });
  assertEquals([cut.end.reason, first.records().length], ["interrupted", 1]);
  const second = settingOf(PLAN, { earlier: first.records() });
  second.discovery.plan(first.records()[0].input);
  second.discovery.fold(first.records()[0].found);
  const [lacking, ...responders] = cut.rows.map(endpointOf);
  const { state, rows } = await scanFleet({ ...second.setting, responders });
  assert(rows.map(endpointOf).some((one) => endpointKey(one) === endpointKey(lacking)));
  assertEquals(rows.length + responders.length, SERVERS.size);
  assertEquals([state.adaptive?.ended, second.discovery.next], ["budget", 3]);
  assertEquals(hitsOf([...first.records(), ...second.records()]), [...SERVERS].sort());
});

Deno.test("a resumed scan plans with the loss that earlier runs measured", async () => {
  const first = settingOf(PLAN);
  await scanFleet(first.setting);
  const [record] = first.records();
  const input = { ...record.input, lossPerMille: 7 };
  const { setting, discovery } = settingOf(PLAN, { earlier: [{ ...record, input }] });
  discovery.plan(input);
  discovery.fold(record.found);
  await scanFleet(setting);
  assertEquals(discovery.inputs.map(({ lossPerMille }) => lossPerMille), [7, 7, 7]);
});

Deno.test("a server without a row that has opted out gets nothing in a resumed scan", async () => {
  const first = settingOf(PLAN);
  await scanFleet(first.setting);
  const last = first.records().at(-1)!;
  const [{ address, port }] = first.records()[0].found[0].hits;
  const earlier = [{
    ...last,
    found: [{ ...last.found[0], hits: [{ address, port, fingerprint: 1 }] }],
  }];
  const sentWith = async (optedOut: readonly Range[]) => {
    const { setting } = settingOf([], { earlier });
    const { network } = await scanFleet({ ...setting, optedOut });
    return network.sent.filter(({ to }) => to.address === address).length;
  };
  assert(await sentWith([]) > 0);
  assertEquals(await sentWith([{ start: address, end: address + 1 }]), 0);
});

Deno.test("servers of an edited list that are no targets get nothing in a resumed scan", async () => {
  const hits = [
    { address: RANGE.end, port: 19132, fingerprint: 1 }, // outside the range
    { address: 0xe0000001, port: 19132, fingerprint: 2 }, // multicast
    { address: RANGE.start, port: 7, fingerprint: 3 }, // another port
  ];
  const input = { probes: 1, perNetwork: Infinity, perHost: Infinity, lossPerMille: 24 };
  const found = [{ hits, endedHosts: [], endedNetworks: [] }];
  const earlier = [{ pass: 0, input, digest: "0".repeat(16), elapsedMs: 1, found }];
  const { network, end } = await scanFleet(settingOf([], { earlier }).setting);
  assertEquals([network.sent.length, end.reason], [0, "done"]);
});

Deno.test("written rows of one host on eight ports are not taken for one server", () => {
  const servers = new DiscoveredServers([RAKNET], [], { add: () => {} });
  const [{ address }] = ALL;
  const rows = Array.from({ length: 8 }, (_, i) => ({ address, port: 19_132 + i }));
  servers.addWritten(rows, () => RAKNET.name);
  assertEquals(servers.take().map(({ hits, endedHosts }) => [hits.length, endedHosts]), [[8, []]]);
});

Deno.test("a time budget is that of all runs", async () => {
  const first = settingOf(PLAN, { budget: { ms: 60_000 } });
  await scanFleet(first.setting);
  const [{ elapsedMs }, last] = [first.records()[0], first.records().at(-1)!];
  assert(elapsedMs > 0 && elapsedMs < last.elapsedMs);
  const late = settingOf(PLAN, {
    budget: { ms: 60_000 },
    earlier: [{ ...last, elapsedMs: 60_000 }],
  });
  const { state } = await scanFleet(late.setting);
  assertEquals([state.sent, state.adaptive?.ended], [0, "budget"]);
});

Deno.test("rows that were written in the open pass are found by it", async () => {
  const { setting, discovery } = settingOf(PLAN, { earlier: [] });
  const written = FOUND.map(endpointOf).find(({ address }) => address < RANGE.start + 128)!;
  await scanFleet({ ...setting, responders: [written] });
  assert(discovery.folded[0][0].hits.some(({ address }) => address === written.address));
});

Deno.test("Java servers get no request that they would log as an error", async () => {
  const endpoints = ALL.map((one) => ({ ...one, port: 25565 }));
  const { setting, discovery } = settingOf([endpoints], {
    protocols: PROTOCOLS.filter(({ transport }) => transport === "tcp"),
  });
  const plan = discovery.plan.bind(discovery);
  discovery.plan = (input) => {
    const pass = plan(input);
    return { ...pass, protocols: [pass.protocols[0], pass.protocols[0]] };
  };
  const { rows, streams } = await scanFleet({
    ...setting,
    fleet: { ...FLEET, software: ["vanilla"] },
    protocolNames: ["nethernet", "slp"],
    ports: () => [25565],
  });
  assertEquals(rows.length, FLEET.servers);
  const GET = 0x47;
  assertEquals(streams.written.filter(({ bytes }) => bytes[0] === GET), []);
});
