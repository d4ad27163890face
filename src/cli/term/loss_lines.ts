/**
 * What is lost on the way, in words; and what rate that is for.
 *
 * @module
 */
import type { ScanState } from "../../scan/scan_state.ts";
import type { RateReason } from "../../sweep/rate/rate_search.ts";
import { estimateLoss, missedServers } from "../../sweep/canaries/loss_estimate.ts";
import { countOf, withCommas } from "../../core/quantities.ts";

/** Passes over the silent, at the most, beside the first. */
const MOST_RETRIES = 3;
/** From how many servers that a scan misses another pass is worth a word. */
const WORTH_A_WORD = 0.05;

/**
 * The loss, and how many servers are missing for it; nothing where nobody was asked again.
 *
 * @param retries How often the silent were asked again; `undefined` where the scan ended early, so
 * that they were not all asked as often.
 */
export function lossLines(
  { canaries, replies }: Pick<ScanState, "canaries" | "replies">,
  retries: number | undefined,
): string[] {
  const estimate = estimateLoss(canaries);
  if (estimate === undefined) return [];
  const { share, low, high } = estimate;
  const loss = `about ${percent(share)} % of replies lost (${percent(low)} to ${percent(high)}, ` +
    `of ${countOf(canaries.sent, "question")} to servers that had answered)`;
  if (retries === undefined || replies.valid === 0) return [loss];
  const missed = (p: number, more = 0) => missedServers(replies.valid, p, retries + 1 + more);
  const [expected, most] = [missed(share), missed(high)];
  const all = Number.isFinite(expected) ? replies.valid + expected : Infinity;
  if (all === Infinity) return [loss];
  const range = most < 0.005 ? "" : ` (${amount(missed(low))} to ${amount(most)})`;
  const better = expected >= WORTH_A_WORD && retries < MOST_RETRIES
    ? `; --retries ${retries + 1} would leave ${amount(missed(share, 1))}`
    : "";
  return [
    `${loss}: expect ${amount(expected)} of ${withCommas(Math.round(all))} servers missed${range}` +
    better,
  ];
}

/** What the search for the highest rate came to; nothing where there was none. */
export function rateLines({ rate }: Pick<ScanState, "rate">): string[] {
  if (rate === undefined) return [];
  const { rate: found, lossAt = 0, lossThere = 0, usualLoss = 0 } = rate;
  const speed = `${withCommas(Math.round(found))} a second`;
  const usual = `${percent(usualLoss)} % at lower rates`;
  const texts: Readonly<Record<RateReason, string>> = {
    loss: `settled on ${speed}: above it canaries were lost (${percent(lossThere)} % at ` +
      `${withCommas(Math.round(lossAt))} a second, ${usual})`,
    buffers: `settled on ${speed}: above it the system had no room for what left, or came back`,
    sender: `settled on ${speed}: caps for hosts and networks, or this machine, let no more leave`,
    limit: `settled on ${speed}, the most that is allowed: no more was lost than at lower rates`,
    searching: `came to ${speed}, and was still looking for the highest rate (${
      percent(usualLoss)
    } % lost)`,
    unknown: `stayed at ${speed}: too few servers answered to tell whether more would be lost`,
  };
  return [`--rate auto ${texts[rate.reason]}`];
}

/** A share of a hundred with two digits that say something. */
function percent(share: number): string {
  const value = 100 * share;
  return value === 0 ? "0" : String(Number(value.toPrecision(value < 10 ? 2 : 3)));
}

/** How many servers: below ten with the digits that say something. */
function amount(servers: number): string {
  if (servers >= 9.5) {
    return Number.isFinite(servers) ? withCommas(Math.round(servers)) : "any number";
  }
  return servers < 0.005 ? "0" : String(Number(servers.toPrecision(servers < 1 ? 1 : 2)));
}
