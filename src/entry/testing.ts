/**
 * What tests of a program need that finds servers: simulated servers on loopback, and a network with
 * a clock of its own on which an hour passes in milliseconds.
 *
 * @module
 */
export * from "../fleet/manifest.ts";
export * from "../fleet/random.ts";
export * from "../fleet/simulate/draw_fleet.ts";
export * from "../fleet/simulate/network/faults.ts";
export type { DatagramNetwork, StreamNetwork } from "../fleet/simulate/network/fleet_network.ts";
export type { StreamEvent } from "../fleet/simulate/network/tcp_connection.ts";
export * from "../fleet/simulate/open_fleet.ts";
export * from "../fleet/simulate/responder.ts";
export * from "../fleet/witness_log.ts";
export * from "../testing/fake_network.ts";
export * from "../testing/fake_streams.ts";
