/**
 * The options of an adaptive scan.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import type { PassPlanner } from "../../discovery/mod.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { PassRecord } from "../adaptive/pass_record.ts";

/** When an adaptive scan ends: after a share of one probe for each target address, a number of probes, or a time. */
export type AdaptiveBudget =
  /** A share of one probe for each target address; 1 is one probe for each. It may exceed 1. */
  | { readonly share: number }
  /** A number of probes. */
  | { readonly probes: number }
  /** A time, milliseconds. */
  | { readonly ms: number };

export interface AdaptiveSetup {
  /** When the scan ends. */
  readonly budget: AdaptiveBudget;
  /** Servers per million probes: the scan ends when passes find fewer. 0: it does not end then. */
  readonly stopBelow: number;
  /** Maximum number of probes to one /24 in all passes. */
  readonly netBudget: number;
  /** Servers that were known before, and the protocol that each speaks. */
  readonly known: readonly { readonly endpoint: Endpoint; readonly protocol: string }[];
}

/** What is known when the next pass of an adaptive scan is to be planned. */
export interface NextPass {
  /** Number of probes that it would have. */
  readonly probes: number;
  /** Number of probes of all passes before it. */
  readonly spent: number;
}

/** The part of the network budget that each of several protocols has for its passes. */
export function netBudgetOfEach(netBudget: number, protocols: number): number {
  return Math.max(1, Math.floor((netBudget - canaryBudget(netBudget)) / protocols));
}

/** The part of the network budget that is for canary probes. */
export function canaryBudget(netBudget: number): number {
  return Math.floor(netBudget / 64);
}

/** The rate that passes are planned for if there is no limit, probes per second. */
export const UNLIMITED_RATE = 100_000;
/** The least duration of a pass, seconds: fewer passes wait less for replies. */
const MIN_PASS_SECONDS = 5;

/** What the sizes of passes depend on. */
export interface PassScale {
  /** One probe for each target address in each swept protocol. */
  readonly evenSweep: number;
  /** The rate limit, probes per second; `undefined`: none. */
  readonly rate: number | undefined;
}

/** Maximum number of probes of a pass after `spent` probes: P = max(0.05 spent, 0.0005 A, 5 s · rate). */
export function passProbes(spent: number, { evenSweep, rate = UNLIMITED_RATE }: PassScale): number {
  return Math.ceil(Math.max(0.05 * spent, 0.0005 * evenSweep, MIN_PASS_SECONDS * rate));
}

/** The number of probes that a budget allows. A time is converted at the rate limit. */
export function budgetProbes(
  budget: AdaptiveBudget,
  { evenSweep, rate = UNLIMITED_RATE }: PassScale,
): number {
  if ("probes" in budget) return budget.probes;
  return Math.ceil("share" in budget ? budget.share * evenSweep : budget.ms / 1000 * rate);
}

/** An adaptive scan whose targets are known. */
export interface AdaptiveScan extends AdaptiveSetup {
  /** Plans the passes. It has folded those of earlier runs. */
  readonly discovery: PassPlanner;
  /** The protocols that are probed, in the order of the discovery's targets. */
  readonly protocols: readonly Protocol[];
  /** The closed passes of earlier runs of the scan. */
  readonly earlier: readonly PassRecord[];
}
