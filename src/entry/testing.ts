/**
 * Simulated servers for tests of programs that find servers: on a simulated network, where a
 * simulated hour takes milliseconds, or on loopback with real sockets.
 *
 * @module
 */
export type { Label, ManifestEntry, Truth } from "../fleet/manifest.ts";
export type { Faults } from "../fleet/simulate/network/faults.ts";
export {
  type SimulatedFleetPlan,
  SimulatedNetwork,
  type SimulatedNetworkOptions,
  type SimulatedServerPlan,
} from "../testing/simulated_network.ts";
export { type StartedFleet, startFleet } from "../testing/start_fleet.ts";
