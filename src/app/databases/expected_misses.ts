/**
 * Estimates how many of the servers that a scan missed are missed because of packet loss.
 *
 * @module
 */
import { missedServers } from "../../sweep/mod.ts";
import type { MemberCounts, StoredScan } from "../../store/mod.ts";
import { withCommas } from "../../core/quantities.ts";
import { DEFAULTS } from "../settings/defaults.ts";

/** Expected numbers of servers that reply to probes, and of which all probes or replies were lost. */
export interface ExpectedMisses {
  /** Those among all missed servers. */
  readonly missed?: number;
  /** Those among the lost ones. */
  readonly lost?: number;
}

/**
 * The expected numbers; empty without an estimate of the packet loss. It needs the number of passes too:
 * a scan that ended early, or was adaptive, has probed servers a different number of times.
 *
 * @example
 * ```ts
 * import { expectedMisses } from "./expected_misses.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const complete = { kind: "sweep", parts: 1, parts_done: 1, sampled: false };
 * const scan = { ...complete, packet_loss: 0.1, retries: 1 };
 * const counts = { found: 1089, new: 99, back: 0, changed: 0, missed: 40, lost: 5 };
 * // A hundredth of the known servers: 990 were found.
 * assertEquals(expectedMisses(scan, counts), { missed: 10, lost: 5 });
 * ```
 */
export function expectedMisses(
  scan: LossOfScan,
  { found, new: fresh, back, missed, lost }: MemberCounts,
): ExpectedMisses {
  const all = missedByLoss(scan, found - fresh, missed);
  return all === undefined
    ? {}
    : { missed: all, lost: missedByLoss(scan, found - fresh - back, lost) };
}

type LossOfScan = Pick<
  StoredScan,
  "kind" | "parts" | "parts_done" | "sampled" | "packet_loss" | "retries"
>;

/**
 * The expected number of servers that a scan missed because of packet loss; `undefined`: unknown.
 *
 * @param replied Number of servers that replied.
 * @param most Number of those that did not.
 */
export function missedByLoss(
  { kind, parts, parts_done: done, sampled, packet_loss: loss, retries }: LossOfScan,
  replied: number,
  most: number,
): number | undefined {
  if (kind !== "sweep" || done < parts || sampled || loss === null) return undefined;
  const passes = (retries ?? DEFAULTS.scan.retries) + 1;
  const missed = missedServers(Math.max(0, replied), loss, passes);
  return Math.min(most, Math.round(1e6 * missed) / 1e6);
}

/** Such a number in words: `about 3 by packet loss`. */
export function lossText(servers: number): string {
  if (servers < 0.05) return "about none by packet loss";
  const digits = servers < 0.95 ? servers.toFixed(1) : withCommas(Math.round(servers));
  return `about ${digits} by packet loss`;
}
