/**
 * The progress of an adaptive scan.
 *
 * @module
 */
import type { Estimate } from "../../discovery/mod.ts";

export type AdaptiveEnd = "budget" | "stop-below" | "nothing-left";

export interface AdaptiveReport {
  /** Number of probes that ended passes planned. */
  spent: number;
  /** Maximum number of probes; `undefined`: only the time is limited. */
  readonly budget: number | undefined;
  /** One probe for each target address, for all protocols. */
  readonly evenSweep: number;
  /** Servers that were found, aliases of a host counted once. */
  found: number;
  /** Servers per million probes in the last two passes. */
  recentYield: number;
  /** Servers per million probes below which the running pass probes nothing. */
  level: number;
  /** The estimated number of servers on default ports, by protocol. */
  estimates: readonly { readonly protocol: string; readonly estimate: Estimate }[];
  /** Hosts that are not probed any more, because they show one server on many ports. */
  endedHosts: number;
  /** /24s that are not probed any more, because they contain many such hosts. */
  endedNetworks: number;
  /** Why it has ended; `undefined` while it runs, and after an interruption. */
  ended?: AdaptiveEnd;
}
