/**
 * Simulated servers on loopback, for tests that use real sockets.
 *
 * @module
 */
import { manifestEntries, type ManifestEntry, openFleet } from "../fleet/mod.ts";
import { systemClock } from "../net/clock.ts";
import { drawPlan, type SimulatedFleetPlan } from "./simulated_network.ts";

/** Simulated servers. They run until they are disposed of. */
export interface StartedFleet extends AsyncDisposable {
  /** The values that a record of each server must contain; `listed` is false for hosts without a record. */
  readonly servers: readonly ManifestEntry[];
}

/**
 * Starts simulated servers on loopback addresses.
 *
 * Needs `--allow-net=127.0.0.0/8`, and Linux for addresses other than 127.0.0.1.
 *
 * @throws InputError for a plan that cannot be used, and for an address that is not loopback or is in
 * use.
 *
 * @example
 * ```ts
 * import { query } from "blocksweep";
 * import { startFleet } from "blocksweep/testing";
 * import { assertEquals } from "@std/assert";
 *
 * await using fleet = await startFleet({ range: "127.99.2.0/28", software: ["vanilla"], servers: 3 });
 * for (const { host } of fleet.servers) {
 *   const [server] = await query(host, { protocol: ["slp"] });
 *   assertEquals(server.port, 25565);
 * }
 * ```
 */
export async function startFleet(plan: SimulatedFleetPlan): Promise<StartedFleet> {
  const hosts = drawPlan(plan);
  const fleet = await openFleet(hosts, { clock: systemClock, seed: plan.seed ?? 1 });
  return {
    servers: manifestEntries(hosts),
    [Symbol.asyncDispose]: () => fleet[Symbol.asyncDispose](),
  };
}
