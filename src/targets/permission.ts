/**
 * What may be scanned without a word, and how fast when nobody says.
 *
 * @module
 */
import { withCommas } from "../core/quantities.ts";
import type { Targets } from "./compose.ts";

/** Addresses of any kind but loopback that may be scanned without a word. */
const MOST_WITHOUT_PERMISSION = 2n ** 20n;

/**
 * Why targets need the permission of their owners, said by the user; `undefined` where they do not:
 * up to a million private addresses, and any number on loopback.
 */
export function permissionNeeded({ publicSize, size, loopbackSize }: Targets): string | undefined {
  if (publicSize > 0n) {
    return `${withCommas(publicSize)} public ${publicSize === 1n ? "address" : "addresses"}`;
  }
  return size - loopbackSize > MOST_WITHOUT_PERMISSION
    ? `more than ${withCommas(MOST_WITHOUT_PERMISSION)} addresses`
    : undefined;
}

/** Speeds that disturb nobody. */
export interface DefaultSpeed {
  /** Datagrams a second, all together; `undefined`: no limit. */
  readonly rate: number | undefined;
  /** Datagrams a second to one /24 or /48. */
  readonly netRate: number | undefined;
  /** Datagrams a second to one address. */
  readonly hostRate: number | undefined;
  /** The highest rate that is tried where it is to be found out, datagrams a second. */
  readonly mostAutoRate: number;
  /** How long to wait for late answers, milliseconds. */
  readonly cooldownMs: number;
}

/**
 * The highest rate that is tried unasked: networks and hosts have their caps, but all of it goes over
 * one line, which others share. Loopback is nobody's.
 */
const MOST_AUTO_RATE = 100_000;

/** The speed of a scan when nothing else is said. */
export const DEFAULT_SPEED = {
  rate: 1000,
  netRate: 50,
  hostRate: 5,
  mostAutoRate: MOST_AUTO_RATE,
  cooldownMs: 5000,
} as const satisfies DefaultSpeed;

/** The same for a scan of loopback alone. */
export const LOOPBACK_SPEED = {
  rate: undefined,
  netRate: undefined,
  hostRate: undefined,
  mostAutoRate: 1e9,
  cooldownMs: 1000,
} as const satisfies DefaultSpeed;

/** The speed for targets when nothing else is said: no limit where all of them are loopback. */
export function defaultSpeed({ size, loopbackSize }: Targets): DefaultSpeed {
  return size === loopbackSize ? LOOPBACK_SPEED : DEFAULT_SPEED;
}
