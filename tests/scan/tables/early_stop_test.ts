/** When a scan ends after its maximum runtime. */
import { assert, assertEquals } from "@std/assert";
import { STREAM_LIMITS } from "../../../src/net/stream_link.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { scanFleet, type Setting } from "../scan_harness.ts";

const BASE = 0x7f100000;
const SILENT: Setting = {
  fleet: { range: { start: BASE, end: BASE + 1024 }, servers: 0, seed: 1 },
  prepare: (_network, _hosts, streams) => void (streams.absent = "timeout"),
};

/** How long after its maximum runtime a scan ended, milliseconds. */
async function overtime(maxRuntimeMs: number, setting: Partial<Setting>): Promise<number> {
  const network = new FakeNetwork(1);
  const start = network.now();
  const { end } = await scanFleet({ ...SILENT, network, maxRuntimeMs, ...setting });
  assertEquals(end.reason, "max-runtime");
  return network.now() - start - maxRuntimeMs;
}

Deno.test("connections in flight at --max-runtime may use their time, but at most 5 seconds", async () => {
  const slp = { protocolNames: ["slp"] };
  const usual = await overtime(1000, slp); // the last connections begin just before the end
  assert(usual >= 780 && usual <= 920, `${usual} ms`);
  const slow: Partial<Setting> = {
    ...slp,
    streamLimits: { ...STREAM_LIMITS, firstByteMs: 60_000, totalMs: 60_000 },
    prepare: (_network, _hosts, streams) => {
      streams.absent = { accept: () => ({ opening: [], receive: () => [] }) };
    },
  };
  assertEquals(await overtime(1000, slow), 5000);
});

Deno.test("a scan waits for late replies after --max-runtime for the time of --cooldown", async () => {
  const raknet = {
    protocolNames: ["raknet"],
    rates: { rate: 100, netRate: undefined, hostRate: undefined },
  };
  for (const cooldownMs of [1000, 8000]) {
    const late = await overtime(2000, { ...raknet, cooldownMs });
    assert(late > cooldownMs - 20 && late <= cooldownMs, `${late} ms of ${cooldownMs}`);
  }
});
