/**
 * The limits and the interviews of a scan, by its settings.
 *
 * @module
 */
import type { ScanInterviews, ScanLimits } from "../../scan/scan_setup.ts";
import { optOutCheck } from "../../targets/builtin_lists.ts";
import type { ScanSettings } from "./scan_settings.ts";
import type { SpeedSettings } from "./speed.ts";

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

/** The options of a scan that determine what its interviews query and which columns they keep. */
export function interviewsOf({ follow, verify, players }: ScanSettings): ScanInterviews {
  return { follow, verify, players, optsOut: optOutCheck() };
}
