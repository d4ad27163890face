/**
 * When a datagram may leave: one pace for all of them, and caps for each host and each network.
 *
 * @module
 */
import type { Address } from "../core/address.ts";
import { Endpoints } from "../core/endpoints.ts";
import { Caps } from "./caps.ts";

/** Limits, in datagrams a second; `undefined` where there is none. */
export interface Limits {
  /** All datagrams together. */
  readonly rate: number | undefined;
  /** Those to one /24 (IPv4) or /48 (IPv6). */
  readonly netRate: number | undefined;
  /** Those to one address. */
  readonly hostRate: number | undefined;
}

/**
 * How far a late sender may catch up, milliseconds: what is missed beyond it is not sent faster later.
 * So no second holds more than a hundredth more.
 */
const SLACK_MS = 10;
/**
 * It catches up at twice the pace, and what leaves at once is no more than what is due in so many
 * milliseconds, or one batch.
 */
const HASTE = 2;
const BURST_MS = 2;
const BURST = 256;

/**
 * Hands out departure times. A departure that was handed out counts, whether it is used or not, so
 * that nobody is starved: the earlier asks, the earlier goes.
 *
 * @example Two datagrams a second to one host
 * ```ts
 * import { Throttle } from "blocksweep/scan";
 * import { assertEquals } from "@std/assert";
 *
 * const throttle = new Throttle({ rate: undefined, netRate: undefined, hostRate: 2 });
 * const times = [0, 0, 0, 0, 0].map((now) => throttle.reserve(0x0a000001, now));
 * assertEquals(times, [0, 0, 1000, 1000, 2000]);
 * ```
 */
export class Throttle {
  /** Departures that were handed out. */
  granted = 0;
  #interval: number;
  /** When the next datagram is due, and when one may leave behind all others at twice the pace. */
  readonly #next = Float64Array.of(-Infinity, -Infinity);
  /** How long before that it may leave, as part of a burst. */
  #burst: number;
  readonly #hosts: Caps | undefined;
  readonly #nets: Caps | undefined;
  readonly #exempt: (address: Address) => boolean;
  readonly #one = new Endpoints(1);
  readonly #time = new Float64Array(1);

  /**
   * Starts with nothing sent.
   *
   * @param limits The limits; each at least one a second, but for `rate`, which may be less.
   * @param exempt Addresses to which no cap applies. Default: none.
   */
  constructor(limits: Limits, exempt: (address: Address) => boolean = () => false) {
    this.#interval = intervalOf(limits.rate);
    this.#burst = burstOf(this.#interval);
    this.#hosts = limits.hostRate === undefined ? undefined : new Caps(limits.hostRate, HOST);
    this.#nets = limits.netRate === undefined ? undefined : new Caps(limits.netRate, NET);
    this.#exempt = exempt;
  }

  /**
   * Changes the pace of all, from the next departure on. What was let go counts on: nothing leaves at
   * once that would not have with the new pace alone.
   *
   * @param rate Datagrams a second, above 0.
   * @param now The time, milliseconds.
   */
  setRate(rate: number, now: number): void {
    this.#interval = intervalOf(rate);
    this.#burst = burstOf(this.#interval);
    const next = this.#next;
    // What the old pace owes is not paid at the new one: neither a burst nor a pause comes of it.
    if (next[0] !== -Infinity) next[0] = Math.min(Math.max(next[0], now), now + this.#interval);
    next[1] = Math.min(next[1], now + this.#burst);
  }

  /**
   * When the last datagram to a host left, or will; `-Infinity` where that was more than a second
   * ago, or hosts have no cap.
   */
  lastTo(address: Address): number {
    this.#one.set(0, { address, port: 0 });
    return this.#hosts?.last(this.#one, 0) ?? -Infinity;
  }

  /**
   * Reserves the departure of one datagram.
   *
   * @param now The time, milliseconds.
   * @returns When it may leave: now or later.
   */
  reserve(to: Address, now: number): number {
    this.#one.set(0, { address: to, port: 0 });
    this.#time[0] = now;
    this.reserveAt(this.#one, 0, this.#time);
    return this.#time[0];
  }

  /**
   * The same for an endpoint of a row; nothing is allocated for IPv4.
   *
   * @param time The time, in its first element, which becomes that of the departure.
   */
  reserveAt(targets: Endpoints, i: number, time: Float64Array): void {
    this.granted++;
    const next = this.#next;
    const behind = next[0] === -Infinity ? 0 : SLACK_MS; // who begins is not late
    const due = Math.max(next[0], time[0] - behind);
    const paced = Math.max(due, time[0], next[1] - this.#burst);
    next[0] = due + this.#interval;
    next[1] = Math.max(paced, next[1]) + this.#interval / HASTE;
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
}

function intervalOf(rate: number | undefined): number {
  return rate === undefined ? 0 : 1000 / rate;
}

function burstOf(interval: number): number {
  return Math.max(BURST * interval, BURST_MS) / HASTE;
}

const HOST = { ipv4: 0, ipv6: 0n };
/** A /24, and a /48. */
const NET = { ipv4: 8, ipv6: 80n };
