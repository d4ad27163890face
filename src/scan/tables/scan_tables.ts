/**
 * The tables that the stages of a scan share. They are created before the stages. A stage never
 * calls another stage: it changes tables, and adds to queues.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import { EndpointSet } from "../../core/endpoint_set.ts";
import type { Demultiplexer } from "../../net/mod.ts";
import { FloodingHosts, Responders } from "../../sweep/mod.ts";
import { isShortage, Shortage } from "../../net/file_descriptors.ts";
import { HostFilter } from "../../targets/host_filter.ts";
import { Tokens } from "../../targets/token.ts";
import { LowWaterMark } from "../setup/low_water_mark.ts";
import { AddressSignals } from "./address_signals.ts";
import type { EarlyStop } from "./early_stop.ts";
import { KnownServerProtocols } from "./known_server_protocols.ts";
import { OptedOutAddresses } from "./opted_out_addresses.ts";
import { Uninspected } from "./uninspected_servers.ts";
import { OwnNetwork } from "./own_network.ts";
import { seedOf } from "../setup/random_numbers.ts";
import type { ScanSetup } from "../setup/scan_setup.ts";
import { ProbedEndpoints } from "./probed_endpoints.ts";
import { SuppressionTable } from "./suppression_table.ts";

/** The tables that the stages of a scan share. */
export interface ScanTables {
  /** Computes the tokens of probes. */
  readonly tokens: Tokens;
  /** The addresses of all targets that the sweep may have to skip. */
  readonly filter: HostFilter;
  /** Endpoints that replied, and the holds of unproved ones. */
  readonly responders: Responders;
  /**
   * Unproved endpoints in the queue of sightings, or in an interview. The sweep sends nothing more
   * to them. (Proved endpoints are responders.)
   */
  readonly interviewed: EndpointSet;
  readonly optedOut: OptedOutAddresses;
  /** Endpoints for which protocols are suppressed. */
  readonly suppression: SuppressionTable;
  /** Hosts that flood: they send far more datagrams than the scan sent probes to them. */
  readonly floods: FloodingHosts;
  /** The protocols in which known servers are queried. */
  readonly known: KnownServerProtocols;
  readonly probed: ProbedEndpoints;
  /** The low-water marks: all targets before them are finished. */
  readonly lowWater: LowWaterMark;
  /** Servers that wait for an inspection because no descriptor was free. */
  readonly uninspected: Uninspected;
  /** The state of a shortage of descriptors. */
  readonly shortage: Shortage;
  /** Cancels the exchanges with one address, or with all when the scan ends early. */
  readonly signals: AddressSignals;
  /** Ends the scan early. */
  readonly stop: EarlyStop;
  /** Notices outages of the scan's own network. */
  readonly network: OwnNetwork;
}

/**
 * Creates the tables of a scan.
 *
 * @param demultiplexer The shared sockets. Links of hosts that flood or opt out are cancelled on
 * these sockets.
 */
export function makeTables(
  options: ScanSetup,
  demultiplexer: Pick<Demultiplexer, "cancel">,
  stop: EarlyStop,
): ScanTables {
  const { targets, order, hooks, io: { random, clock, state, dialer, key } } = options;
  const seed = seedOf(random);
  const filter = new HostFilter(seed);
  const responders = new Responders(seed, filter);
  for (const endpoint of targets.responders) responders.add(endpoint);
  const known = new KnownServerProtocols(targets, seed, filter);
  const optedOut = new OptedOutAddresses(targets.optedOut, seed, filter);
  const probed = new ProbedEndpoints(
    options,
    (endpoint, protocol) => known.withholds(endpoint, protocol),
    optedOut,
  );
  const network = new OwnNetwork(options, stop);
  const onFlood = (address: Address) => {
    demultiplexer.cancel(address);
    network.remove(address);
  };
  const signals = new AddressSignals(stop.interviewSignal);
  const uninspected = new Uninspected(state);
  optedOut.onAdd((address) => {
    signals.cancel(address);
    uninspected.removeHost(address);
    demultiplexer.cancel(address);
    network.remove(address);
  });
  return {
    tokens: new Tokens(key ?? random(8)),
    filter,
    responders,
    interviewed: new EndpointSet(seed, filter),
    optedOut,
    suppression: new SuppressionTable(targets.protocols, seedOf(random), filter),
    floods: new FloodingHosts(seed, state.floods, onFlood, probed.maxProbes, filter),
    known,
    probed,
    lowWater: new LowWaterMark(order.from),
    shortage: new Shortage(clock, (code) => {
      const shown = code ?? [...dialer.errors.keys()].find(isShortage) ?? "EMFILE";
      hooks?.onTrouble?.(shown, "short");
    }),
    uninspected,
    signals,
    stop,
    network,
  };
}
