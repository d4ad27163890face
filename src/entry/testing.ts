/**
 * Simulated servers for tests of programs that find servers: on a simulated network, where a
 * simulated hour takes milliseconds, or on loopback with real sockets.
 *
 * @module
 */
export * from "../fleet/manifest.ts";
export { type Faults, NO_FAULTS } from "../fleet/simulate/network/faults.ts";
export * from "../fleet/random.ts";
export type { Certificate } from "../fleet/simulate/network/certificate.ts";
export * from "../fleet/simulate/responder.ts";
export type { WitnessLine } from "../fleet/witness_log.ts";
export * from "../testing/fake_network.ts";
export * from "../testing/fake_streams.ts";
export {
  type SimulatedFleetPlan,
  SimulatedNetwork,
  type SimulatedNetworkOptions,
  type SimulatedServerPlan,
} from "../testing/simulated_network.ts";
export * from "../testing/start_fleet.ts";
