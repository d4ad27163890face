/**
 * The parts of a scan's setup that follow from its settings: targets and order, limits, interviews.
 *
 * @module
 */
import type { ScanInterviews, ScanLimits, ScanSelection } from "../../scan/scan_setup.ts";
import { optOutCheck } from "../../targets/builtin_lists.ts";
import type { NamedTargets } from "../targets/find_targets.ts";
import type { ScanSettings } from "./scan_settings.ts";
import type { SpeedSettings } from "./speed.ts";

/** Which endpoints a scan probes, and in which order, by the user's choice. */
export function scanSelectionOf(chosen: ScanSettings, named: NamedTargets): ScanSelection {
  const { protocols, allProtocols, ports, queriesKnown, seed, shard, maxTargets } = chosen;
  const { targets: addresses, names, services, knownNames, known, optedOut, first } = named;
  const probed = { addresses, protocols, allProtocols, ports, known, queriesKnown };
  return {
    targets: { ...probed, names, services, knownNames, optedOut, responders: [] },
    order: {
      seed,
      shard,
      limit: maxTargets,
      first,
      from: { udp: chosen.from, tcp: chosen.fromTcp },
    },
  };
}

/** The limits of a scan that the user chose. */
export function limitsOf(
  chosen: ScanSettings,
  { limits: rates, autoRate, capLoopback, cooldownMs }: SpeedSettings,
  capacity: Pick<ScanLimits, "connections" | "exclusiveSockets">,
): ScanLimits {
  const { retries, timeoutMs, streamLimits, concurrency, maxResults, maxRuntimeMs } = chosen;
  const counts = { retries, concurrency, maxResults, ...capacity };
  const times = { timeoutMs, cooldownMs, maxRuntimeMs, streamLimits };
  return { rates, autoRate, capLoopback, ...counts, ...times };
}

/** What the interviews of a scan query, as the user chose. */
export function interviewsOf({ follow, verify, players }: ScanSettings): ScanInterviews {
  return { follow, verify, players, optsOut: optOutCheck() };
}
