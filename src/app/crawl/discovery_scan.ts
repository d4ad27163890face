/**
 * The adaptive scan of a round of discovery.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import type { GivenOptions } from "../options/given_options.ts";
import { type PreparedScan, prepareScan } from "../scan/prepare_scan.ts";
import { readScan, type WritePlan } from "../scan/read_scan.ts";
import type { PreparedWatch } from "../watch/prepare_watch.ts";
import type { CrawlRequest } from "./read_crawl.ts";

/** Maximum number of probes of a round: the budget of the crawl for this number of days. */
const ROUND_DAYS = 30;

/** The options of a crawl that its discovery has too. */
const SHARED: readonly string[] = [
  ...["exclude", "exclude-file", "ports", "allow-private", "i-have-permission", "contact"],
  ...["stop-below", "net-budget", "rate", "net-rate", "host-rate", "timeout", "retries"],
  ...["opt-out-file", "tag"],
];

/**
 * Prepares the scan of a round.
 *
 * @param ranges The targets.
 * @throws InputError for targets that cannot be used, and without a permission that they need.
 */
export async function prepareRound(
  { options: { names }, perDay, secret, context }: CrawlRequest,
  ranges: readonly string[],
  { network, optOuts }: Pick<PreparedWatch, "network" | "optOuts">,
): Promise<{ readonly scan: PreparedScan; readonly writes: WritePlan }> {
  const { words: [database], given: all } = secret;
  const given: GivenOptions = {
    words: ranges,
    given: new Map([
      ...[...all].filter(([name]) => SHARED.includes(name)),
      ["adaptive", ["true"]],
      ["known", [database]],
      ["output", [database]],
      ["quiet", ["true"]],
      ...(names ? [] : [["no-players", ["true"]] as const]),
    ]),
  };
  const note = (address: Address) => {
    optOuts.add(address); // no poll is sent to it either
    network.optOuts.note(address);
  };
  const optOutList = { ...network.optOuts, note };
  const { request, writes } = await readScan(given, { ...context, optOuts: optOutList }, true);
  const budget = { probes: ROUND_DAYS * perDay };
  const choice = { ...request.choice, adaptive: { ...request.choice.adaptive!, budget } };
  return { scan: await prepareScan({ ...request, choice }), writes };
}
