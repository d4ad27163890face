/**
 * What adaptive discovery is given, and what it returns. It plans a scan in passes: each pass is
 * computed from the servers that earlier passes found. Discovery is pure: the same targets, seed,
 * pass inputs and pass results give the same passes, in any process.
 *
 * @module
 */
import type { Address } from "../core/address.ts";
import type { RangeSet } from "../targets/ranges.ts";
import type { ProbeSpace } from "../targets/space.ts";

/** An endpoint with an IPv4 address. */
export interface IPv4Endpoint {
  readonly address: number;
  readonly port: number;
}

export interface DiscoveryTargets {
  readonly protocol: string;
  /** The IPv4 addresses that may be probed, without exclusions. */
  readonly addresses: RangeSet<number>;
  /** The ports that may be probed, at most 1,024, the default port first. */
  readonly ports: readonly number[];
  /** Servers that were known before. Those among the targets are probed first, in pass 0. */
  readonly known: readonly IPv4Endpoint[];
}

export interface DiscoveryOptions {
  readonly targets: readonly DiscoveryTargets[];
  /** Selects the order of addresses: a whole number, at most 2^53. */
  readonly seed: number;
  /** Maximum number of probes to one /24 in all passes of a protocol. */
  readonly netBudget: number;
}

/** What a pass is planned with, besides the results of earlier passes. */
export interface PassInput {
  /** Maximum number of probes of the pass, for all protocols together. */
  readonly probes: number;
  /** Maximum number of probes of the pass to one /24; `Infinity`: no maximum. */
  readonly perNetwork: number;
  /** Maximum number of probes of the pass to one host; `Infinity`: no maximum. */
  readonly perHost: number;
  /** Share of probes without a reply although the server is up, per mille. */
  readonly lossPerMille: number;
}

/** The probes of a pass for one protocol. */
export interface ProtocolPass {
  /** Number of planned probes. */
  readonly probes: number;
  /** The endpoints, each once, in a shuffled order. Computed at each call. */
  space(): ProbeSpace;
}

export interface DiscoveryPass {
  /** Number of the pass, from 0. */
  readonly number: number;
  /** A digest of the plan: equal plans have equal digests. 16 hexadecimal digits. */
  readonly digest: string;
  /** Number of planned probes of all protocols. 0: nothing is left to probe. */
  readonly probes: number;
  /** The water level: probes with an expectation of fewer servers were not chosen. Servers per probe. */
  readonly level: number;
  /** The pass of each protocol, in the order of {@linkcode DiscoveryOptions.targets}. */
  readonly protocols: readonly ProtocolPass[];
}

/** What a pass found for one protocol. */
export interface PassResult {
  /** The servers that were found, each endpoint in one pass only, in any order. */
  readonly hits: readonly IPv4Endpoint[];
  /** The hosts that are not probed any more, because they show one server on many ports. */
  readonly endedHosts: readonly number[];
  /** The /24s that are not probed any more, as address / 256. */
  readonly endedNetworks: readonly number[];
}

/** An estimated number of servers on the default port. */
export interface Estimate {
  /** Number of servers that were found on the default port. */
  readonly found: number;
  /** The estimated number of all. */
  readonly total: number;
  /** The interval that contains the number in 95 of 100 scans. */
  readonly low: number;
  /** The end of that interval. */
  readonly high: number;
  /** The /12s that were not sampled because few servers are there, as addresses of their start. */
  readonly skipped: readonly number[];
}

/** Plans the passes of an adaptive scan. */
export interface PassPlanner {
  /** Number of the next pass to plan, from 0. */
  readonly next: number;
  /** Number of planned probes of all folded passes. */
  readonly spent: number;
  /** Number of servers that were found. */
  readonly found: number;
  /** Servers per million probes in the last two folded passes. */
  readonly recentYield: number;
  /** One probe for each target address, for all protocols: the unit of a budget in percent. */
  readonly evenSweep: number;
  /** Memory of the counters, bytes. */
  readonly bytes: number;
  /** Plans the next pass. It is planned once; {@linkcode PassPlanner.fold} ends it. */
  plan(input: PassInput): DiscoveryPass;
  /** Ends the planned pass with its results, one for each protocol. */
  fold(results: readonly PassResult[]): void;
  /**
   * The estimate of one protocol; `undefined` before one address of every /24 was sampled.
   *
   * @param index Index of the protocol in {@linkcode DiscoveryOptions.targets}.
   */
  estimate(index: number): Estimate | undefined;
  /**
   * Whether a pass that was folded contained an endpoint. False for hosts and networks that are not
   * probed any more: they may have ended before the pass reached the endpoint.
   */
  wasProbed(index: number, address: Address, port: number): boolean;
}
