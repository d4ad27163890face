/**
 * Which targets need the permission of their owners, and the default speed of a scan.
 *
 * @module
 */
import { countOf, withCommas } from "../core/quantities.ts";
import type { Targets } from "./compose.ts";

/** Most addresses outside loopback that may be scanned without a permission. */
const MOST_WITHOUT_PERMISSION = 2n ** 20n;

/**
 * The reason why the user has to confirm the permission of the targets' owners. `undefined`: no
 * permission is needed, for up to a million private addresses, and any number on loopback.
 */
export function permissionNeeded({ publicSize, size, loopbackSize }: Targets): string | undefined {
  if (publicSize > 0n) {
    return countOf(publicSize, "public address", "public addresses");
  }
  return size - loopbackSize > MOST_WITHOUT_PERMISSION
    ? `more than ${withCommas(MOST_WITHOUT_PERMISSION)} addresses`
    : undefined;
}

/** The default speed of a scan, which does not disturb the network. */
export interface DefaultSpeed {
  /** Datagrams a second in all; `undefined`: no limit. */
  readonly rate: number | undefined;
  /** Datagrams a second to one /24 (IPv6: /48); `undefined`: no cap. */
  readonly netRate: number | undefined;
  /** Datagrams a second to one address; `undefined`: no cap. */
  readonly hostRate: number | undefined;
  /** Highest rate that `--rate auto` tries, datagrams a second. */
  readonly mostAutoRate: number;
  /** Cooldown: how long the scan waits for late replies, milliseconds. */
  readonly cooldownMs: number;
}

/**
 * Default for the highest rate of `--rate auto`, datagrams a second. Networks and hosts have caps,
 * but all datagrams use one uplink, which other hosts share. Loopback has no uplink.
 */
const MOST_AUTO_RATE = 100_000;

/** The default speed of a scan outside loopback. */
export const DEFAULT_SPEED = {
  rate: 1000,
  netRate: 50,
  hostRate: 5,
  mostAutoRate: MOST_AUTO_RATE,
  cooldownMs: 5000,
} as const satisfies DefaultSpeed;

/** The default speed of a scan of loopback alone. */
export const LOOPBACK_SPEED = {
  rate: undefined,
  netRate: undefined,
  hostRate: undefined,
  mostAutoRate: 1e9,
  cooldownMs: 1000,
} as const satisfies DefaultSpeed;

/** The default speed for targets: no limit where all of them are loopback. */
export function defaultSpeed({ size, loopbackSize }: Targets): DefaultSpeed {
  return size === loopbackSize ? LOOPBACK_SPEED : DEFAULT_SPEED;
}
