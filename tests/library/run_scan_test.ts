/** runScan() of the library, on a simulated network. */
import { assertEquals, assertRejects } from "@std/assert";
import { formatAddress } from "../../src/core/address.ts";
import { InputError } from "../../src/core/errors.ts";
import type { ServerRecord } from "../../src/core/record.ts";
import { type GivenScan, runScan, type ScanCounters } from "../../src/library/run_scan.ts";
import type { ScanControls } from "../../src/scan/setup/scan_setup.ts";
import type { Sink } from "../../src/sinks/sink.ts";
import { compose } from "../../src/targets/compose.ts";
import { parseTarget, type RangeTarget } from "../../src/targets/parse.ts";
import { optOutCheck, optOutMarkers } from "../../src/targets/shipped_lists.ts";
import { SimulatedNetwork } from "../../src/testing/simulated_network.ts";

const SCAN_ID = "01890a5d-ac96-774b-bcce-b302099a8057";

/** A scan of 10.0.0.0/28 that adds its records to a list. */
function scanOf(network: SimulatedNetwork, rows: ServerRecord[]): GivenScan {
  const target = parseTarget("10.0.0.0/28") as RangeTarget;
  const sink: Sink = {
    write: (records) => Promise.resolve(void rows.push(...records)),
    flush: () => Promise.resolve(),
    position: () => rows.length,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
  const open = (family: 4 | 6) => network.openSocket({ address: family === 4 ? 0 : 0n, port: 0 });
  return {
    scanId: SCAN_ID,
    targets: { addresses: compose([target], { never: [], private: [], chosen: [] }) },
    order: { seed: 1 },
    limits: {
      rates: { rate: 100, netRate: undefined, hostRate: undefined },
      capLoopback: false,
      retries: 0,
      timeoutMs: 1500,
      cooldownMs: 1000,
      concurrency: 16,
      connections: 16,
    },
    interviews: { follow: true, optsOut: optOutCheck(), players: true },
    io: {
      openSockets: (family) => [open(family)],
      openExclusive: open,
      dialer: network.dialer,
      sinks: [sink],
      clock: network.clock,
      random: (size) => crypto.getRandomValues(new Uint8Array(size)),
    },
    signal: new AbortController().signal,
  };
}

/** A network with a Bedrock server on 10.0.0.7 and a Java server on 10.0.0.9. */
function networkOfTwo(name = "Lobby"): SimulatedNetwork {
  const network = new SimulatedNetwork();
  network.addServer({ host: "10.0.0.7", software: "bds", status: { name } });
  network.addServer({ host: "10.0.0.9", software: "vanilla" });
  return network;
}

Deno.test("without further options, all usual protocols and ports are probed", async () => {
  const rows: ServerRecord[] = [];
  const network = networkOfTwo();
  const { reason } = await network.run(runScan(scanOf(network, rows)));
  assertEquals(reason, "done");
  assertEquals(rows.map(({ host, port }) => `${host}:${port}`).sort(), [
    "10.0.0.7:19132",
    "10.0.0.9:25565",
  ]);
  assertEquals(rows.map(({ scan_id }) => scan_id), [SCAN_ID, SCAN_ID]);
});

Deno.test("named protocols only are probed, and the counters follow the scan", async () => {
  const rows: ServerRecord[] = [];
  const network = networkOfTwo();
  const given = scanOf(network, rows);
  const targets = { ...given.targets, protocols: ["raknet"], ports: () => [19132] };
  let counters: ScanCounters | undefined;
  const onStart = (_: ScanControls, ofScan: ScanCounters) => {
    counters = ofScan;
    assertEquals(ofScan.written, 0);
  };
  await network.run(runScan({ ...given, targets, onStart }));
  assertEquals(rows.map(({ host }) => host), ["10.0.0.7"]);
  const { total, visited, sent, written } = counters!;
  assertEquals({ total, visited, written }, { total: 16, visited: 16, written: 1 });
  assertEquals(sent >= 16, true, `${sent} datagrams`);
});

Deno.test("a server that opts out is reported, and gets no record", async () => {
  const rows: ServerRecord[] = [];
  const network = networkOfTwo(`Lobby ${optOutMarkers()[0]}`);
  const optedOut: string[] = [];
  const given = scanOf(network, rows);
  const onOptOut = (address: number | bigint) => void optedOut.push(formatAddress(address));
  await network.run(runScan({ ...given, onOptOut }));
  assertEquals(optedOut, ["10.0.0.7"]);
  assertEquals(rows.map(({ host }) => host), ["10.0.0.9"]);
});

Deno.test("nothing is sent to an address that opts out elsewhere", async () => {
  const rows: ServerRecord[] = [];
  const network = networkOfTwo();
  const onStart = ({ optOut }: ScanControls) => optOut(0x0a000007);
  await network.run(runScan({ ...scanOf(network, rows), onStart }));
  assertEquals(rows.map(({ host }) => host), ["10.0.0.9"]);
});

Deno.test("a protocol that does not exist is refused by name", async () => {
  const given = scanOf(new SimulatedNetwork(), []);
  const targets = { ...given.targets, protocols: ["raknett"] };
  await assertRejects(
    () => runScan({ ...given, targets }),
    InputError,
    'Cannot use protocol "raknett"',
  );
});
