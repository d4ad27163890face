/**
 * The packet loss, and the result of `--rate auto`, as lines of the summary.
 *
 * @module
 */
import type { ScanState } from "../../scan/mod.ts";
import { estimateLoss, missedRange, missedServers, type RateReason } from "../../sweep/mod.ts";
import { foundIn } from "../../app/scan/mod.ts";
import { withCommas } from "../../core/quantities.ts";

/** The largest value of `--retries`. */
const MAX_RETRIES = 3;
/** Minimum expected number of missed servers at which another pass is suggested. */
const WORTH_ANOTHER_PASS = 0.05;

/**
 * The packet loss, and the estimated number of missed servers; empty if too few replies show the
 * loss. The number of missed servers is omitted if it may exceed that of the found ones.
 *
 * @param retries Number of repetitions of probes without a reply; `undefined` for a scan that ended
 * early.
 */
export function lossLines(
  state: ScanState,
  retries: number | undefined,
): string[] {
  const estimate = estimateLoss(state.canaries);
  const found = foundIn(state);
  if (estimate === undefined) return [];
  const { share, low, high } = estimate;
  const loss = `packet loss: about ${percent(share)} % ` +
    `(95 % confidence interval ${percent(low)} to ${percent(high)} %)`;
  if (retries === undefined || found === 0) return [loss];
  const missed = (more = 0) => missedServers(found, share, retries + 1 + more);
  const expected = missed();
  const range = missedRange(found, estimate, retries + 1);
  if (!(range.high <= found)) return [loss];
  const all = withCommas(Math.round(found + expected));
  const better = expected >= WORTH_ANOTHER_PASS && retries < MAX_RETRIES
    ? `; --retries ${retries + 1} would reduce this to ${amount(missed(1))}`
    : "";
  return [
    `${loss}; servers missed: about ${amount(expected)} of ${all} ` +
    `(${amount(range.low)} to ${amount(range.high)})${better}`,
  ];
}

/** The result of the rate search; empty without a search. */
export function rateLines({ rate }: Pick<ScanState, "rate">): string[] {
  if (rate === undefined) return [];
  const { rate: found, lossAt = 0, lossThere = 0, usualLoss = 0 } = rate;
  const speed = `${withCommas(Math.round(found))} packets/s`;
  const usual = `${percent(usualLoss)} % at lower rates`;
  const texts: Readonly<Record<RateReason, string>> = {
    loss: `chose ${speed}: above it canary probes were lost (${percent(lossThere)} % at ` +
      `${withCommas(Math.round(lossAt))}/s, ${usual})`,
    buffers: `chose ${speed}: above it the send or receive buffers of the system were full`,
    sender:
      `chose ${speed}: this machine, its link, or the caps per host and network allowed no more`,
    limit: `chose ${speed}, the most that is allowed: the loss was no higher than at lower rates`,
    searching: `reached ${speed} and was still searching (loss ${percent(usualLoss)} %)`,
    unknown: `stayed at ${speed}: too few servers replied to measure the loss`,
  };
  return [`--rate auto ${texts[rate.reason]}`];
}

/** A proportion in percent, with two or three significant digits. */
export function percent(share: number): string {
  const value = 100 * share;
  return value === 0 ? "0" : String(Number(value.toPrecision(value < 10 ? 2 : 3)));
}

/** A number of servers: below ten with one or two significant digits. */
function amount(servers: number): string {
  if (servers >= 9.5) return withCommas(Math.round(servers));
  return servers < 0.005 ? "0" : String(Number(servers.toPrecision(servers < 1 ? 1 : 2)));
}
