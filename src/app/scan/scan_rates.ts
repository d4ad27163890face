/**
 * The rates, timeouts and numbers of a scan, by its options and its targets.
 *
 * @module
 */
import type { Limits } from "../../net/throttle.ts";
import { STREAM_LIMITS, type StreamLimits } from "../../net/stream_link.ts";
import type { ProtocolSelection } from "../../protocols/list.ts";
import type { ScanLimits } from "../../scan/scan_setup.ts";
import type { Targets } from "../../targets/compose.ts";
import { rateOf } from "../settings/bandwidth.ts";
import { DEFAULTS, defaultSpeed } from "../settings/defaults.ts";
import type { ScanOptions } from "./scan_choice.ts";

/** The limits of a scan that do not depend on free descriptors. */
export type ChosenLimits =
  & Omit<ScanLimits, "connections" | "exclusiveSockets">
  & Required<Pick<ScanLimits, "streamLimits" | "maxRuntimeMs">>;

/** The options from which limits are computed. */
export type LimitOptions = Pick<
  ScanOptions,
  | "rate"
  | "bandwidth"
  | "netRate"
  | "hostRate"
  | "cooldown"
  | "retries"
  | "timeout"
  | "concurrency"
  | "maxResults"
  | "maxRuntime"
>;

/** The limits, with cautious defaults for the targets. Of a rate and a bandwidth, the lower one applies. */
export function scanLimits(
  options: LimitOptions,
  targets: Targets,
  selection: ProtocolSelection,
): ChosenLimits {
  const { bandwidth, rate: given, netRate, hostRate, retries, timeout, concurrency } = options;
  const defaults = defaultSpeed(targets);
  const cap = (given: number | "off" | undefined, usual: number | undefined) =>
    given === "off" ? undefined : given ?? usual;
  const bandwidthRate = bandwidth === undefined ? Infinity : rateOf(bandwidth, targets, selection);
  const auto = typeof given === "object";
  const most = Math.min(bandwidthRate, auto ? given.most ?? defaults.mostAutoRate : Infinity);
  const rate = auto ? AUTO_START : given ?? (bandwidth === undefined ? defaults.rate : Infinity);
  const lowest = Math.min(most, rate ?? Infinity);
  return {
    rates: {
      rate: lowest === Infinity ? undefined : lowest,
      netRate: cap(netRate, defaults.netRate),
      hostRate: cap(hostRate, defaults.hostRate),
    },
    ...(auto ? { autoRate: { most } } : {}),
    capLoopback: typeof netRate === "number" || typeof hostRate === "number",
    retries,
    concurrency,
    timeoutMs: timeout ?? DEFAULTS.timeoutMs,
    cooldownMs: options.cooldown ?? defaults.cooldownMs,
    streamLimits: streamLimits(timeout),
    maxResults: options.maxResults ?? Infinity,
    maxRuntimeMs: options.maxRuntime ?? Infinity,
  };
}

/** The limits of a scan at the highest rate that it may try. */
export function fastest({ rates, autoRate }: Pick<ScanLimits, "rates" | "autoRate">): Limits {
  return { ...rates, rate: autoRate?.most ?? rates.rate };
}

/** The first rate of a rate search, datagrams per second. */
const AUTO_START = 1000;

/**
 * Time limits of connections: those of real clients; with `--timeout`, its value for the connection
 * and for the first byte, and twice its value in total.
 */
export function streamLimits(timeoutMs: number | undefined): StreamLimits {
  if (timeoutMs === undefined) return STREAM_LIMITS;
  const [connectMs, firstByteMs, totalMs] = [timeoutMs, timeoutMs, 2 * timeoutMs];
  return { ...STREAM_LIMITS, connectMs, firstByteMs, totalMs };
}
