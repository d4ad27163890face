import { assertEquals } from "@std/assert";
import { parseAddress } from "../../../src/core/address.ts";
import { systemClock } from "../../../src/net/clock.ts";
import type { PassPlan } from "../../../src/scan/plan/pass_plan.ts";
import type { ScanSetup } from "../../../src/scan/setup/scan_setup.ts";
import type { ScanTables } from "../../../src/scan/tables/scan_tables.ts";
import { ScanPorts } from "../../../src/scan/sweep_stage/scan_ports.ts";
import { compose } from "../../../src/targets/compose.ts";

/** The sockets that a scan opens: their family, and how many connections of each may wait. */
function opened(targets: readonly string[], pendingProbes: number): [4 | 6, number][] {
  const inclusions = targets.map((text) => {
    const start = parseAddress(text)!;
    const end = typeof start === "bigint" ? start + 1n : start + 1;
    return { range: { start, end }, port: undefined };
  });
  const all: [4 | 6, number][] = [];
  const setup = {
    targets: { addresses: compose(inclusions, { never: [], private: [], chosen: [] }) },
    limits: { pendingProbes },
    io: {
      clock: systemClock,
      openPorts: (bits: 4 | 6, { atOnce }: { atOnce: number }) => {
        all.push([bits, atOnce]);
        return [];
      },
    },
  } as unknown as ScanSetup;
  new ScanPorts(setup, { tcpKinds: [{}] } as unknown as PassPlan, {} as ScanTables);
  return all;
}

Deno.test("the sockets of both families share the number of pending probes by their targets", () => {
  assertEquals(opened(["127.0.0.1"], 301), [[4, 301]]);
  assertEquals(opened(["127.0.0.1", "::1"], 301), [[4, 151], [6, 151]]);
  assertEquals(opened(["127.0.0.1", "127.0.0.2", "127.0.0.3", "::1"], 400), [[4, 300], [6, 100]]);
  assertEquals(opened(["127.0.0.1", "::1"], 1), [[4, 1], [6, 1]]);
});
