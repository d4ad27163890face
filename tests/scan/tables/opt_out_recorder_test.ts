import { assert, assertEquals } from "@std/assert";
import type { Address } from "../../../src/core/address.ts";
import { type Marks, START } from "../../../src/scan/setup/low_water_mark.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { scanFleet } from "../scan_harness.ts";

/**
 * A scan of ten seconds that finds two servers that opted out. The disk of its checkpoint is slow.
 *
 * @param msOf How long the first or second opt-out takes to save, milliseconds.
 */
async function scanWithSlowDisk(msOf: (optOut: number) => number) {
  const network = new FakeNetwork(1);
  const saves: { readonly at: number; readonly marks: Marks }[] = [];
  const recordedAt: number[] = [];
  let begun = 0;
  const saved: { readonly address: Address; readonly at: number }[] = [];
  const { end, hosts } = await scanFleet({
    network,
    fleet: {
      servers: 2,
      range: { start: 0x7f200000, end: 0x7f2001f4 },
      seed: 3,
      software: ["bdsOptedOut"],
    },
    protocolNames: ["raknet"],
    rates: { rate: 50, netRate: undefined, hostRate: undefined },
    retries: 0,
    onOptOut: () => recordedAt.push(network.now()),
    checkpoint: {
      accepted: () => Promise.resolve(),
      async optedOut(address) {
        const ms = msOf(++begun);
        await new Promise<void>((resolve) => network.after(ms, resolve));
        saved.push({ address, at: network.now() });
      },
      save(marks) {
        saves.push({ at: network.now(), marks });
        return Promise.resolve();
      },
    },
  });
  assertEquals([end.reason, recordedAt.length], ["done", 2]);
  return { addresses: hosts.map(({ endpoint }) => endpoint.address), saves, recordedAt, saved };
}

Deno.test("the checkpoint does not advance past an opt-out until it contains the opt-out", async () => {
  const { saves, recordedAt, saved } = await scanWithSlowDisk(() => 3300);
  for (const [i, recorded] of recordedAt.entries()) {
    const { marks: before } = saves.findLast(({ at }) => at < recorded) ?? { marks: START };
    const pending = saves.filter(({ at }) => at > recorded && at < saved[i].at);
    assert(pending.length >= 3);
    for (const { marks } of pending) assertEquals(marks, before);
    assert(
      saves.some(({ at, marks: { udp } }) =>
        at > saved[i].at && udp.position > before.udp.position
      ),
    );
  }
});

Deno.test("a scan ends when its checkpoint contains every opt-out", async () => {
  const { addresses, saved } = await scanWithSlowDisk((optOut) => optOut === 1 ? 60_000 : 1);
  assertEquals(saved.map(({ address }) => address).toSorted(), addresses.toSorted());
});
