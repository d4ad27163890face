/**
 * The speed of a scan: what the user requested, completed by defaults once the targets are known.
 *
 * @module
 */
import type { Limits } from "../../net/throttle.ts";
import type { ProtocolSelection } from "../../protocols/list.ts";
import type { Targets } from "../../targets/compose.ts";
import { rateOf } from "./bandwidth.ts";
import { defaultSpeed } from "./defaults.ts";

/** A rate that the scan searches for (`--rate auto`). */
export interface AutoRate {
  /** The highest allowed rate, datagrams per second; `undefined`: none was given. */
  readonly most: number | undefined;
}

/** The speed that the user requested. Missing values are filled in when the targets are known. */
export interface GivenSpeed {
  readonly rate: number | AutoRate | undefined;
  /** Maximum bandwidth of sent packets, bits per second. */
  readonly bandwidth: number | undefined;
  readonly netRate: number | "off" | undefined;
  readonly hostRate: number | "off" | undefined;
  readonly cooldownMs: number | undefined;
}

/** The rate limit and the caps, and whether they apply to loopback too. */
export interface SpeedSettings {
  readonly limits: Limits;
  /** The highest rate that the rate search may try; it starts from the rate in `limits`. */
  readonly autoRate?: { readonly most: number };
  readonly capLoopback: boolean;
  readonly cooldownMs: number;
}

/** The settings of a scan from which its limits are computed. */
export interface SpeedChoices extends ProtocolSelection {
  /** The speed that the user requested. */
  readonly speed: GivenSpeed;
}

/** The limits and the cooldown, with cautious defaults. Of a rate and a bandwidth, the lower one applies. */
export function speedFor(
  targets: Targets,
  { speed, ...selection }: SpeedChoices,
): SpeedSettings {
  const defaults = defaultSpeed(targets);
  const cap = (given: number | "off" | undefined, usual: number | undefined) =>
    given === "off" ? undefined : given ?? usual;
  const { bandwidth, rate: given, netRate, hostRate } = speed;
  const bandwidthRate = bandwidth === undefined ? Infinity : rateOf(bandwidth, targets, selection);
  const auto = typeof given === "object";
  const most = Math.min(bandwidthRate, auto ? given.most ?? defaults.mostAutoRate : Infinity);
  const rate = auto ? AUTO_START : given ?? (bandwidth === undefined ? defaults.rate : Infinity);
  const lowest = Math.min(most, rate ?? Infinity);
  return {
    limits: {
      rate: lowest === Infinity ? undefined : lowest,
      netRate: cap(netRate, defaults.netRate),
      hostRate: cap(hostRate, defaults.hostRate),
    },
    ...(auto ? { autoRate: { most } } : {}),
    capLoopback: typeof netRate === "number" || typeof hostRate === "number",
    cooldownMs: speed.cooldownMs ?? defaults.cooldownMs,
  };
}

/** The limits of a scan at the highest rate that it may try. */
export function fastest({ limits, autoRate }: SpeedSettings): Limits {
  return { ...limits, rate: autoRate?.most ?? limits.rate };
}

/** The first rate of a rate search, datagrams per second. */
const AUTO_START = 1000;
