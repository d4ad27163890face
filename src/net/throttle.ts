/**
 * The rate limit for all datagrams, with caps for each host and each network.
 *
 * @module
 */
import type { Address } from "../core/address.ts";
import { Endpoints } from "../core/endpoints.ts";
import { Caps } from "./caps.ts";

/** Limits, in datagrams a second; `undefined`: no limit. */
export interface Limits {
  /** The limit for all datagrams together. */
  readonly rate: number | undefined;
  /** The cap for one /24 (IPv4) or /48 (IPv6). */
  readonly netRate: number | undefined;
  /** The cap for one address. */
  readonly hostRate: number | undefined;
}

/** The cap for one address if the user gives none, datagrams a second. */
export const HOST_RATE = 5;

/**
 * Maximum delay for which a late sender may catch up, milliseconds; the rest of a longer delay is
 * lost. Therefore at most 1.01 times the rate is sent in any second.
 */
const SLACK_MS = 10;
/**
 * A late sender catches up at twice the rate. A burst contains at most the datagrams of 2 ms at
 * that rate, or one batch.
 */
const CATCH_UP_FACTOR = 2;
const BURST_MS = 2;
const BURST = 256;

/**
 * Grants send times in the order of requests. A granted time counts even if the caller does not use
 * it.
 *
 * @example Two datagrams a second to one host
 * ```ts
 * import { assertEquals } from "@std/assert";
 *
 * const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: 2 });
 * const times = [0, 0, 0, 0, 0].map((now) => throttle.reserve(0x0a000001, now));
 * assertEquals(times, [0, 0, 1010, 1010, 2020]);
 * ```
 */
export class Throttle {
  /** Number of granted send times. */
  granted = 0;
  #interval: number;
  /** When the next datagram is due at the rate, and at twice the rate, milliseconds. */
  readonly #next = Float64Array.of(-Infinity, -Infinity);
  /**
   * How much earlier than `#next[1]` a datagram may be sent, milliseconds. It limits bursts.
   */
  #burst: number;
  readonly #hosts: Caps | undefined;
  readonly #nets: Caps | undefined;
  readonly #exempt: (address: Address) => boolean;
  readonly #one = new Endpoints(1);
  readonly #time = new Float64Array(1);

  /**
   * Creates a throttle without any datagram sent.
   *
   * @param limits The limits. Caps are at least 1; `rate` may be lower.
   * @param exempt Whether the caps do not apply to an address. Default: they apply to all.
   */
  constructor(limits: Limits, exempt: (address: Address) => boolean = () => false) {
    this.#interval = intervalOf(limits.rate);
    this.#burst = burstOf(this.#interval);
    this.#hosts = limits.hostRate === undefined ? undefined : new Caps(limits.hostRate, HOST);
    this.#nets = limits.netRate === undefined ? undefined : new Caps(limits.netRate, NET);
    this.#exempt = exempt;
  }

  /** Whether hosts and networks have no caps, so that only the rate limits datagrams. */
  get isUncapped(): boolean {
    return this.#hosts === undefined && this.#nets === undefined;
  }

  /**
   * Changes the rate from the next send time on. Send times that were granted before still count:
   * the change allows no burst that the new rate alone would forbid.
   *
   * @param rate Datagrams a second, above 0.
   * @param now The time, milliseconds.
   */
  setRate(rate: number, now: number): void {
    this.#interval = intervalOf(rate);
    this.#burst = burstOf(this.#interval);
    const next = this.#next;
    // Time lost or gained at the old rate does not carry over: neither a burst nor a pause follows.
    if (next[0] !== -Infinity) next[0] = Math.min(Math.max(next[0], now), now + this.#interval);
    next[1] = Math.min(next[1], now + this.#burst);
  }

  /**
   * Send time of the last datagram to a host, past or future; `-Infinity` if that was more
   * than a second ago, or hosts have no cap.
   */
  lastTo(address: Address): number {
    this.#one.set(0, { address, port: 0 });
    return this.#hosts?.last(this.#one, 0) ?? -Infinity;
  }

  /**
   * Reserves the send time of one datagram.
   *
   * @param now The time, milliseconds.
   * @returns The send time, now or later.
   */
  reserve(to: Address, now: number): number {
    this.#one.set(0, { address: to, port: 0 });
    this.#time[0] = now;
    this.reserveAt(this.#one, 0, this.#time);
    return this.#time[0];
  }

  /**
   * Reports that a datagram was sent later than granted, so that the caps count the later time. A
   * busy event loop delays datagrams; without the report, up to twice the cap could be sent in one
   * second.
   *
   * @param granted The send time that was reserved, milliseconds.
   * @param now The time, milliseconds.
   */
  sent(to: Address, granted: number, now: number): void {
    this.#one.set(0, { address: to, port: 0 });
    this.sentTo(this.#one, 0, granted, now);
  }

  /** Reports that a datagram to `targets[i]` was sent later than granted: see `sent()`. */
  sentTo(targets: Endpoints, i: number, granted: number, now: number): void {
    if (now <= granted) return;
    this.#hosts?.postpone(targets, i, granted, now);
    this.#nets?.postpone(targets, i, granted, now);
  }

  /**
   * Reserves the send time of a datagram to `targets[i]`, without an allocation for IPv4.
   *
   * @param time `time[0]` is the time, and becomes the send time.
   */
  reserveAt(targets: Endpoints, i: number, time: Float64Array): void {
    const paced = this.#pacedAt(time[0]);
    this.#grant(time[0], paced);
    const hosts = this.#hosts;
    const nets = this.#nets;
    if (hosts === undefined && nets === undefined || this.#exempt(targets.address(i))) {
      if (paced > time[0]) time[0] = paced;
      return;
    }
    const host = hosts === undefined ? 0 : hosts.entry(targets, i, time);
    const net = nets === undefined ? 0 : nets.entry(targets, i, time);
    if (paced > time[0]) time[0] = paced;
    hosts?.delay(host, time);
    nets?.delay(net, time);
    hosts?.push(host, time);
    nets?.push(net, time);
  }

  /**
   * Reserves the send times of several datagrams, up to the first that is not due yet. Only for a
   * throttle without caps.
   *
   * @param most Maximum number of datagrams.
   * @param now The time, milliseconds.
   * @param dueAt If fewer than `most` are due, one more is reserved, for the time `dueAt[0]`.
   * @returns Number of datagrams that are due now.
   */
  reserveDue(most: number, now: number, dueAt: Float64Array): number {
    if (this.#interval === 0) {
      this.granted += most;
      return most;
    }
    for (let count = 0; count < most; count++) {
      const paced = this.#pacedAt(now);
      this.#grant(now, paced);
      if (paced > now) {
        dueAt[0] = paced;
        return count;
      }
    }
    return most;
  }

  /** Gives back the send times of datagrams that were not sent. Only for a throttle without caps. */
  giveBack(count: number): void {
    this.granted -= count;
    if (count === 0 || this.#interval === 0) return;
    this.#next[0] -= count * this.#interval;
    this.#next[1] -= count * this.#interval / CATCH_UP_FACTOR;
  }

  /** When the rate allows the next datagram, now or later. */
  #pacedAt(now: number): number {
    return Math.max(this.#dueAt(now), now, this.#next[1] - this.#burst);
  }

  /** When the next datagram is due, which may be in the past. */
  #dueAt(now: number): number {
    const slack = this.#next[0] === -Infinity ? 0 : SLACK_MS; // the first datagram is not late
    return Math.max(this.#next[0], now - slack);
  }

  /** Counts a datagram that the rate allows at `paced`. */
  #grant(now: number, paced: number): void {
    const next = this.#next;
    this.granted++;
    next[0] = this.#dueAt(now) + this.#interval;
    next[1] = Math.max(paced, next[1]) + this.#interval / CATCH_UP_FACTOR;
  }
}

function intervalOf(rate: number | undefined): number {
  return rate === undefined ? 0 : 1000 / rate;
}

function burstOf(interval: number): number {
  return Math.max(BURST * interval, BURST_MS) / CATCH_UP_FACTOR;
}

const HOST = { ipv4: 0, ipv6: 0n };
/** Bits below a /24 of IPv4 and a /48 of IPv6. */
const NET = { ipv4: 8, ipv6: 80n };
