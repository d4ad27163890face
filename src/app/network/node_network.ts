/**
 * What a query in Node.js or Bun uses of this machine: its sockets, its name servers, and its clock.
 *
 * @module
 */
import { systemClock } from "../../net/clock.ts";
import { nodeDialer, openNodeSocket } from "../../net/node/mod.ts";
import { resolveName, serviceFinder } from "../names/dns_lookup.ts";
import { nodeRecords } from "../names/node_records.ts";
import type { QueryNetwork } from "./call_context.ts";
import type { SystemNetworkOptions } from "./system_network.ts";

/** Makes the network of this machine for queries. Nothing is opened yet. */
export function nodeNetwork(
  { note, allProtocols }: Pick<SystemNetworkOptions, "note" | "allProtocols">,
): QueryNetwork {
  return {
    clock: systemClock,
    openSocket: openNodeSocket,
    dialer: nodeDialer(),
    resolve: (name) => resolveName(name, allProtocols),
    findService: serviceFinder({ recordsOf: nodeRecords(), note }),
  };
}
