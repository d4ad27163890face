/**
 * Default values of options, for commands, help and the library. Defaults that only the command line
 * reads are in the table of options.
 *
 * @module
 */

import { HOST_RATE } from "../../net/mod.ts";
import type { Targets } from "../../targets/compose.ts";

/** The default speed of a scan, which does not disturb the network. */
export interface DefaultSpeed {
  /** Datagrams a second in all; `undefined`: no limit. */
  readonly rate: number | undefined;
  /** Datagrams a second to one /24 (IPv6: /48); `undefined`: no cap. */
  readonly netRate: number | undefined;
  /** Datagrams a second to one address; `undefined`: no cap. */
  readonly hostRate: number | undefined;
  /** Highest rate that `--rate auto` tries, datagrams a second. */
  readonly maxAutoRate: number;
  /** Cooldown: how long the scan waits for late replies, milliseconds. */
  readonly cooldownMs: number;
}

/**
 * Default for the highest rate of `--rate auto`, datagrams a second. Networks and hosts have caps,
 * but all datagrams use one uplink, which other hosts share. Loopback has no uplink.
 */
const MAX_AUTO_RATE = 100_000;

/** Default limit for all datagrams of a scan, and of a watch, outside loopback, datagrams a second. */
const RATE = 1000;

/** The default speed of a scan outside loopback. */
export const DEFAULT_SPEED = {
  rate: RATE,
  netRate: 50,
  hostRate: HOST_RATE,
  maxAutoRate: MAX_AUTO_RATE,
  cooldownMs: 5000,
} as const satisfies DefaultSpeed;

/** The default speed of a scan of only loopback. */
export const LOOPBACK_SPEED = {
  rate: undefined,
  netRate: undefined,
  hostRate: undefined,
  maxAutoRate: 1e9,
  cooldownMs: 1000,
} as const satisfies DefaultSpeed;

/** The default speed for targets: no limit if all of them are loopback. */
export function defaultSpeed({ size, loopbackSize }: Targets): DefaultSpeed {
  return size === loopbackSize ? LOOPBACK_SPEED : DEFAULT_SPEED;
}

/** The defaults that several modules read. */
export const DEFAULTS = {
  /** Timeout for a reply over UDP, milliseconds; for TCP see {@linkcode STREAM_LIMITS}. */
  timeoutMs: 1500,
  scan: { retries: 1, concurrency: 256, downAfter: 3 },
  /**
   * Budgets of an adaptive scan: a share of one probe for each target address, and probes to a /24; and
   * the number of ports that it probes on either side of the usual port.
   */
  adaptive: { share: 0.5, netBudget: 16_384, portsAround: 100 },
  query: { retries: 1 },
  /** Duration of a discovery that does not continue until Ctrl-C, seconds. */
  lan: { once: 3 },
  /** `concurrency` and `rate` apply unless `--interval` needs more, or all targets are loopback. */
  watch: { retries: 2, concurrency: 256, rate: RATE, intervalMs: 60_000, downAfter: 3 },
} as const;
