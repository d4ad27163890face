/**
 * When a datagram may leave: one pace for all of them, and caps for each host and each network.
 *
 * @module
 */
import type { Address } from "../address.ts";

/** Limits, in datagrams a second; `undefined` where there is none. */
export interface Limits {
  /** All datagrams together. */
  readonly rate: number | undefined;
  /** Those to one /24 (IPv4) or /48 (IPv6). */
  readonly netRate: number | undefined;
  /** Those to one address. */
  readonly hostRate: number | undefined;
}

/** How far a late sender may catch up: what is missed beyond it is not sent faster later. */
const SLACK_MS = 10;

/**
 * Hands out departure times. A departure that was handed out counts, whether it is used or not, so
 * that nobody is starved: the earlier asks, the earlier goes.
 *
 * @example Two datagrams a second to one host
 * ```ts
 * import { Throttle } from "blocksweep";
 * import { assertEquals } from "@std/assert";
 *
 * const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: 2 });
 * const times = [0, 0, 0, 0, 0].map((now) => throttle.reserve(0x0a000001, now));
 * assertEquals(times, [0, 0, 1000, 1000, 2000]);
 * ```
 */
export class Throttle {
  readonly #interval: number;
  /** When the next datagram may leave, by the pace alone. */
  #next = -Infinity;
  readonly #hosts: Caps | undefined;
  readonly #nets: Caps | undefined;
  readonly #exempt: (address: Address) => boolean;

  /**
   * Starts with nothing sent.
   *
   * @param limits The limits; each at least one a second, but for `rate`, which may be less.
   * @param exempt Addresses to which no cap applies. Default: none.
   */
  constructor(limits: Limits, exempt: (address: Address) => boolean = () => false) {
    this.#interval = limits.rate === undefined ? 0 : 1000 / limits.rate;
    this.#hosts = limits.hostRate === undefined ? undefined : new Caps(limits.hostRate);
    this.#nets = limits.netRate === undefined ? undefined : new Caps(limits.netRate);
    this.#exempt = exempt;
  }

  /**
   * Reserves the departure of one datagram.
   *
   * @param now The time, milliseconds.
   * @returns When it may leave: now or later.
   */
  reserve(to: Address, now: number): number {
    const paced = Math.max(this.#next, now - SLACK_MS);
    this.#next = paced + this.#interval;
    const at = Math.max(paced, now);
    if (this.#exempt(to)) return at;
    const host = this.#hosts?.ring(to, now);
    const net = this.#nets?.ring(networkOf(to), now);
    const departure = Math.max(at, host?.earliest() ?? 0, net?.earliest() ?? 0);
    host?.push(departure);
    net?.push(departure);
    return departure;
  }
}

/** The network that a cap is counted for. */
function networkOf(address: Address): Address {
  return typeof address === "number" ? address >>> 8 : address >> 80n;
}

const SECOND = 1000;

/**
 * The last `cap` departures to each address or network. Each departure is at least a second after
 * the one `cap` before it; so the departures fall into `cap` classes (by their number modulo `cap`)
 * of which each has at most one in any second, and all have at most `cap`.
 */
class Caps {
  #young = new Map<Address, Ring>();
  #old = new Map<Address, Ring>();
  #rotated = -Infinity;

  constructor(readonly cap: number) {}

  ring(key: Address, now: number): Ring {
    if (now - this.#rotated > SECOND) this.#rotate(now);
    const ring = this.#young.get(key) ?? this.#old.get(key) ?? new Ring(this.cap);
    this.#young.set(key, ring);
    return ring;
  }

  /** Forgets what has not been used for a second or two, and lies in the past. */
  #rotate(now: number): void {
    for (const [key, ring] of this.#old) {
      if (ring.last > now - SECOND) this.#young.set(key, ring);
    }
    this.#old = this.#young;
    this.#young = new Map();
    this.#rotated = now;
  }
}

/** The last departures to one key. */
class Ring {
  readonly #times: Float64Array;
  #at = 0;
  last = -Infinity;

  constructor(cap: number) {
    this.#times = new Float64Array(cap).fill(-Infinity);
  }

  /** When one more may leave. */
  earliest(): number {
    return this.#times[this.#at] + SECOND;
  }

  push(departure: number): void {
    this.#times[this.#at] = departure;
    this.#at = (this.#at + 1) % this.#times.length;
    this.last = Math.max(this.last, departure);
  }
}
