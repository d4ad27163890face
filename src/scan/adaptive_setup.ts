/**
 * The options of an adaptive scan.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";

/** When an adaptive scan ends: after a share of one probe for each target address, a number of probes, or a time. */
export type AdaptiveBudget =
  /** A share of one probe for each target address; 1 is one probe for each. It may exceed 1. */
  | { readonly share: number }
  /** A number of probes. */
  | { readonly probes: number }
  /** A time, milliseconds. */
  | { readonly ms: number };

/** The options of an adaptive scan. */
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
