/**
 * Scans on a machine without enough free descriptors.
 *
 * Covers src/scan/inspect_stage/, src/inspect/run_interview.ts and src/inspect/verify_joinable.ts.
 */
import { assert, assertEquals } from "@std/assert";
import type { DatagramSocket } from "../../../src/net/socket.ts";
import { NO_FAULTS } from "../../../src/fleet/simulate/network/faults.ts";
import { readNdjson } from "../../../src/fleet/judge/verify_rows.ts";
import { serverId } from "../../../src/core/record.ts";
import { type Checkpoint, readCheckpoint } from "../../../src/scan/checkpoint/checkpoint_file.ts";
import { Uninspected } from "../../../src/scan/tables/uninspected_servers.ts";
import { FakeDisk } from "../../fakes/disk.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { scanFleet, type Setting } from "../scan_harness.ts";
import { CHECKPOINT, PROGRAM, resumeScan, startScan } from "../checkpoint/resumable_scan.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";

const RANGE = { start: 0x7f100000, end: 0x7f100100 };
/**
 * Software whose pongs lack the time of the ping. Each server is therefore inspected on a socket of
 * its own.
 */
const NODES = { servers: 40, range: RANGE, seed: 3, software: ["raknetNode"] };

/** Fails to open sockets for inspections, as in a process without free descriptors. */
function exhausted(): DatagramSocket {
  throw Object.assign(new Error("Too many open files"), { code: "EMFILE" });
}

/** A network without descriptors for inspections, and the reports of the scan. */
function short(over: Setting): { setting: Setting; troubles: string[]; network: FakeNetwork } {
  const troubles: string[] = [];
  const network = new FakeNetwork(1);
  const onTrouble = (code: string, kind: string) => void troubles.push(`${code} ${kind}`);
  return { setting: { network, openExclusive: exhausted, onTrouble, ...over }, troubles, network };
}

Deno.test("servers that cannot be inspected for lack of descriptors are counted, and the wait is reported", async () => {
  const { setting, troubles, network } = short({ fleet: NODES });
  const { state, end, rows } = await scanFleet(setting);
  assertEquals([rows.length, state.uninspected, state.inspectedInPart], [0, 40, 0]);
  assertEquals(troubles, ["EMFILE short"]);
  assertEquals([end.reason, end.marks.udp], ["incomplete", { pass: 1, position: 0 }]);
  assertEquals([state.replies.forged, state.noStatus], [0, 0]);
  assert(network.now() < 60_000, `${network.now()} ms for waits of 15 s each`);
});

Deno.test("servers that wait for a descriptor are finished when their address opts out", () => {
  const state = { uninspected: 0 };
  const servers = new Uninspected(state);
  const finished: string[] = [];
  for (const [address, port] of [[1, 1], [1, 2], [2, 1], [1, 1]]) {
    servers.add({ address, port }, () => finished.push(`${address}:${port}`));
  }
  servers.removeHost(1);
  assertEquals([finished, state.uninspected], [["1:1", "1:1", "1:2"], 1]);
});

Deno.test("a verification without a free descriptor is reported, and its row is flagged", async () => {
  const fleet = { ...NODES, servers: 20, software: ["bds"] };
  const { setting, troubles } = short({ fleet, verify: true, protocolNames: ["raknet"] });
  const { state, end, rows } = await scanFleet(setting);
  assertEquals([rows.length, state.uninspected, state.inspectedInPart], [20, 0, 20]);
  assert(rows.every(({ joinable, flags }) => joinable === null && flags.includes("cutShort")));
  assertEquals([end.reason, troubles], ["done", ["EMFILE short"]]);
});

Deno.test("a known server that cannot be interviewed for lack of descriptors is counted", async () => {
  const target = { endpoint: { address: RANGE.start, port: 19132 }, protocols: ["sqp"] };
  const { setting } = short({
    fleet: { ...NODES, servers: 0 },
    ...{ known: [target], queriesKnown: true },
    first: [target.endpoint],
    protocolNames: ["raknet"],
  });
  const { state, end } = await scanFleet(setting);
  assertEquals([state.uninspected, end.reason], [1, "incomplete"]);
});

Deno.test("a server that a later pass can inspect is not counted, and does not stop the low-water mark", async () => {
  const network = new FakeNetwork(1);
  let pass = 0;
  const { state, end, rows } = await scanFleet({
    ...{ network, fleet: NODES, protocolNames: ["raknet"], onPass: () => pass++ },
    cooldownMs: 20_000,
    rates: { rate: 10, netRate: undefined, hostRate: undefined },
    openExclusive: (family) => pass < 2 ? exhausted() : network.open(family),
  });
  assertEquals([rows.length, state.uninspected], [40, 0]);
  assertEquals([end.reason, end.marks.udp], ["done", { pass: 3, position: 0 }]);
});

Deno.test("when all sockets of inspections can be opened, nothing is reported", async () => {
  const troubles: string[] = [];
  const onTrouble = (code: string, kind: string) => void troubles.push(`${code} ${kind}`);
  const { state, end } = await scanFleet({ fleet: NODES, onTrouble });
  assertEquals([state.written, state.uninspected, end.reason, troubles], [40, 0, "done", []]);
});

Deno.test("an incomplete scan keeps its checkpoint, and the resumed scan finds the remaining servers", async () => {
  const disk = new FakeDisk();
  const settings: Setting = { fleet: NODES, retries: 0, audited: false };
  const part = await startScan(disk, { ...settings, openExclusive: exhausted });
  assertEquals([part.result.end.reason, part.resumable], ["incomplete", true]);
  const { state }: Checkpoint = await readCheckpoint(disk, CHECKPOINT, PROGRAM, PROTOCOLS);
  assertEquals(state, "incomplete");
  const rest = await resumeScan(disk, settings);
  assertEquals([rest?.result.end.reason, rest?.resumable], ["done", false]);
  const rows = readNdjson(disk.text("rows.ndjson")!).map(serverId);
  assertEquals([rows.length, new Set(rows).size], [40, 40]);
  assertEquals(disk.bytes(CHECKPOINT), undefined);
});

Deno.test("the checkpoint is also kept if the sweep over TCP gets no descriptor until the scan is stopped", async () => {
  const disk = new FakeDisk();
  const fleet = { ...NODES, software: ["vanilla"] };
  const settings: Setting = { fleet, retries: 0, audited: false, protocolNames: ["slp"] };
  const part = await startScan(disk, {
    ...settings,
    maxRuntimeMs: 60_000,
    prepare: (_network, _hosts, streams) => {
      streams.connect = () => Promise.resolve("exhausted");
    },
  });
  assertEquals([part.result.end.reason, part.resumable], ["max-runtime", true]);
  assertEquals(part.result.state.tcp.sent, 0);
  const rest = await resumeScan(disk, settings);
  assertEquals(rest?.result.end.reason, "done");
  assertEquals(readNdjson(disk.text("rows.ndjson")!).length, 40);
});

Deno.test("no more sockets of inspections are open at once than allowed", async () => {
  const network = new FakeNetwork(1, { ...NO_FAULTS, delay: 20 });
  let [open, most] = [0, 0];
  const openExclusive = (family: 4 | 6) => {
    most = Math.max(most, ++open);
    const socket = network.open(family);
    const { [Symbol.asyncDispose]: dispose } = socket;
    socket[Symbol.asyncDispose] = () => {
      open--;
      return dispose.call(socket);
    };
    return socket;
  };
  const { rows } = await scanFleet({ network, fleet: NODES, openExclusive, exclusiveSockets: 3 });
  assertEquals([rows.length, most, open], [40, 3, 0]);
});
