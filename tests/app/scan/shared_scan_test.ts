/**
 * What a process passes to several scans that it runs at once: a throttle, a gate, opt-outs, an
 * identity, a checkpointer. Covers src/app/scan/run_scan.ts too.
 */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Address, formatAddress, parseIpv4 } from "../../../src/core/address.ts";
import { InputError } from "../../../src/core/errors.ts";
import type { ServerRecord } from "../../../src/core/record.ts";
import { prepareScan } from "../../../src/app/scan/prepare_scan.ts";
import { readScan } from "../../../src/app/scan/read_scan.ts";
import { type RunOptions, runPreparedScan } from "../../../src/app/scan/run_scan.ts";
import { callContext } from "../../../src/library/common_options.ts";
import { givenOptions } from "../../../src/library/given_options.ts";
import type { ScanOptions } from "../../../src/library/scan_options.ts";
import type { SendGate } from "../../../src/net/send_gate.ts";
import type { OptOutList } from "../../../src/net/network.ts";
import { throttleOf } from "../../../src/scan/scan.ts";
import type { ScanControls } from "../../../src/scan/setup/scan_setup.ts";
import { MemorySink } from "../../scan/scan_harness.ts";
import { SimulatedNetwork } from "../../../src/testing/simulated_network.ts";

/** Runs a scan with the arguments of a process that runs several. */
async function scan(
  network: SimulatedNetwork | undefined,
  target: string,
  options: Partial<ScanOptions>,
  given: Partial<RunOptions>,
  optOuts?: OptOutList,
) {
  const { request, writes } = await readScan(
    givenOptions("scan", [target], { ...options, network }),
    {
      ...callContext("scan", { network }),
      optOuts,
      program: "1.0.0",
      takesRows: true,
      writeRows: () => Promise.resolve(0),
    },
  );
  const prepared = await prepareScan(request);
  const sink = new MemorySink();
  const result = await runPreparedScan(prepared, writes, {
    signal: new AbortController().signal,
    begin: () => [sink],
    ...given,
  });
  return { ...result, rows: sink.rows };
}

const hostsOf = (rows: readonly ServerRecord[]) => rows.map(({ host }) => host).sort();

Deno.test("scans that share a throttle share its rate, and each finds its servers", async () => {
  const network = new SimulatedNetwork();
  network.datagrams.record = true;
  const ranges = ["10.0.0.0/24", "10.0.1.0/24", "10.0.2.0/24"];
  const fleets = ranges.map((range, seed) =>
    network.addFleet({ range, servers: 20, seed, software: ["bds"] })
  );
  const throttle = throttleOf({
    rates: { rate: 100, netRate: undefined, hostRate: undefined },
    capLoopback: true,
  });
  const options = { protocol: ["raknet" as const], retries: 0, rate: 5000 };
  const results = await network.run(
    Promise.all(ranges.map((range) => scan(network, range, options, { throttle }))),
  );
  const times = network.datagrams.sent.map(({ at }) => at);
  const most = times.map((at, i) => times.findLastIndex((other) => other < at + 1000) - i + 1);
  assert(times.length > 3 * 256);
  assert(Math.max(...most) <= 101, `${Math.max(...most)} datagrams in a second`);
  assert(times.at(-1)! - times[0] > 7000);
  results.forEach(({ rows, end }, i) => {
    assertEquals(end.reason, "done");
    assertEquals(hostsOf(rows), fleets[i].map(({ host }) => host).sort());
  });
});

Deno.test("an opt-out from outside ends the interview of a server, and nothing more is sent to it", async () => {
  const network = new SimulatedNetwork();
  network.datagrams.record = true;
  const fleet = network.addFleet({
    range: "10.0.0.0/28",
    servers: 8,
    software: ["bds", "vanilla"],
  });
  const address = parseIpv4(fleet[0].host);
  let controls: ScanControls | undefined;
  let optedOutAt = Infinity;
  const sent = () =>
    [...network.datagrams.sent, ...network.streams.begun, ...network.streams.written]
      .filter(({ to }) => to.address === address);
  const check = () => {
    // the second packet is the first one of an interview
    if (sent().length < 2) return network.datagrams.after(1, check);
    optedOutAt = network.clock.now();
    controls!.optOut(address);
    controls!.optOut(address);
  };
  check();
  const saved: Address[] = [];
  const { rows, state, end } = await network.run(scan(network, "10.0.0.0/28", { retries: 2 }, {
    onStart: (given) => controls = given,
    checkpointer: {
      accepted: () => Promise.resolve(),
      optedOut: (one) => Promise.resolve(void saved.push(one)),
      save: () => Promise.resolve(),
    },
  }));
  assert(optedOutAt < Infinity);
  assertEquals(sent().filter(({ at }) => at > optedOutAt), []);
  assertEquals(hostsOf(rows), fleet.slice(1).map(({ host }) => host).sort());
  assertEquals([saved, network.optedOut], [[address], []]);
  assertEquals([state.optedOut, end.reason], [0, "done"]);
});

Deno.test("a marker that a scan finds is reported, and opts the address out of the other scans", async () => {
  const network = new SimulatedNetwork();
  network.addServer({ host: "10.0.0.7", software: "bds", status: { name: "§b§d§f§d§b" } });
  const running: ScanControls[] = [];
  const reported: string[] = [];
  const options = { protocol: ["raknet" as const] };
  const given: Partial<RunOptions> = {
    onStart: (controls) => running.push(controls),
  };
  const optOuts: OptOutList = {
    read: () => Promise.resolve([]),
    note(address) {
      reported.push(formatAddress(address));
      for (const { optOut } of running) optOut(address);
    },
  };
  const results = await network.run(Promise.all(
    ["10.0.0.7", "10.0.0.0/28"].map((target) => scan(network, target, options, given, optOuts)),
  ));
  assertEquals(reported, ["10.0.0.7"]);
  assertEquals(results.map(({ rows }) => rows.length), [0, 0]);
  assertEquals(results.map(({ state }) => state.optedOut).sort(), [0, 1]);
  assertEquals(network.optedOut, []);
});

Deno.test("a scan gets its id, its key and a checkpointer, and saves its progress each second", async () => {
  const network = new SimulatedNetwork();
  network.addFleet({ range: "10.0.0.0/24", servers: 20, software: ["bds"] });
  const scanId = "01928d5e-0000-7000-8000-000000000000";
  const positions: number[] = [];
  let accepted = 0;
  const { state, checkpoint, rows } = await network.run(scan(network, "10.0.0.0/24", {
    protocol: ["raknet"],
    rate: 20,
    retries: 0,
  }, {
    identity: { scanId, key: new Uint8Array(8).fill(7) },
    checkpointer: {
      accepted: (records) => Promise.resolve(void (accepted += records.length)),
      optedOut: () => Promise.resolve(),
      save: ({ udp }) => Promise.resolve(void positions.push(udp.position)),
    },
  }));
  assertEquals([state.scanId, checkpoint, accepted], [scanId, undefined, 20]);
  assertEquals(new Set(rows.map(({ scan_id }) => scan_id)), new Set([scanId]));
  assert(positions.length >= 12);
  assertEquals(positions, positions.toSorted((a, b) => a - b));
});

const CLOSED: SendGate = {
  keptBack: 0,
  isOpen: () => false,
  whenOpen: () => Promise.resolve(false),
};

Deno.test("a gate reaches the sockets and the connections of a scan", async () => {
  const network = new SimulatedNetwork();
  network.datagrams.record = true;
  network.addFleet({ range: "10.0.0.0/28", servers: 8 });
  const { end, rows } = await network.run(scan(network, "10.0.0.0/28", {}, {
    gate: CLOSED,
    signal: AbortSignal.timeout(0),
  }));
  assertEquals([network.datagrams.sent, network.streams.begun, rows], [[], [], []]);
  assert(end.reason === "incomplete" || end.reason === "interrupted");
  assert(CLOSED.keptBack > 0);
});

Deno.test("a gate and sender threads are refused together", async () => {
  await assertRejects(
    () => scan(new SimulatedNetwork(), "10.0.0.0/28", { threads: 2 }, { gate: CLOSED }),
    InputError,
    "Cannot use --threads 2: a part of a campaign is sent from the main thread only",
  );
});
