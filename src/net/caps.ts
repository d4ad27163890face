/**
 * Rate caps per host or per network: at most a fixed number of datagrams in any second.
 *
 * @module
 */
import { mix } from "../core/bits.ts";
import type { Endpoints } from "../core/endpoints.ts";

/**
 * The period of a cap, milliseconds: a second, and 10 ms for packets that the system delays after it
 * accepted them.
 */
export const CAP_PERIOD_MS = 1010;
/** Few, because each query of one server has caps of its own. */
const MIN_ENTRIES = 2;
/** Slots of the hash table per entry. */
const SLOTS = 4;

/**
 * The number of low address bits that a cap ignores. With 0 bits it counts hosts, with more it
 * counts networks.
 */
export interface CapBits {
  /** Ignored bits of an IPv4 address, 0 to 32. */
  readonly ipv4: number;
  /** Ignored bits of an IPv6 address, 0 to 128. */
  readonly ipv6: bigint;
}

/**
 * Rate caps for many hosts or networks. Datagram n to a host is sent at least `CAP_PERIOD_MS` after
 * datagram n - `cap` to that host. Therefore at most `cap` datagrams are sent to it in any second.
 *
 * Each host to which a datagram was sent within the last second has an entry: a ring with the times
 * of its last `cap` datagrams. The memory of entries is reused. An IPv4 probe therefore allocates
 * nothing.
 */
export class Caps {
  /** Number of entries in use. */
  #count = 0;
  #keys = new Int32Array(MIN_ENTRIES);
  #ipv6Keys: (bigint | undefined)[] = [];
  /** Index of the oldest time in each ring, and the latest time, milliseconds. */
  #oldest = new Int32Array(MIN_ENTRIES);
  #last = new Float64Array(MIN_ENTRIES);
  #times: Float64Array;
  /** Hash table of entry numbers plus one, with open addressing; 0: free. */
  #index = new Int32Array(SLOTS * MIN_ENTRIES);
  readonly #ipv6 = new Map<bigint, number>();
  #swept = -Infinity;

  /**
   * Creates caps for hosts to which nothing was sent yet.
   *
   * @param cap Maximum number of datagrams in any second.
   */
  constructor(private readonly cap: number, private readonly bits: CapBits) {
    this.#times = new Float64Array(MIN_ENTRIES * cap);
  }

  /** The entry of a target, which is valid until the next call. */
  entry(targets: Endpoints, i: number, time: Float64Array): number {
    if (time[0] - this.#swept > CAP_PERIOD_MS) this.#sweep(time[0]);
    const address = targets.ipv6[i];
    if (address !== undefined) {
      const key = address >> this.bits.ipv6;
      return this.#ipv6.get(key) ?? this.#ipv6Entry(key);
    }
    const key = targets.ipv4[i] >>> this.bits.ipv4 | 0;
    const slot = this.#find(key);
    if (this.#index[slot] !== 0) return this.#index[slot] - 1;
    const entry = this.#open();
    this.#keys[entry] = key;
    this.#index[this.#find(key)] = entry + 1;
    return entry;
  }

  /**
   * Time of the latest datagram to a target, milliseconds; `-Infinity` without one in the last
   * second.
   */
  last(targets: Endpoints, i: number): number {
    const entry = this.#existing(targets, i);
    return entry < 0 ? -Infinity : this.#last[entry];
  }

  /** Replaces the send time of a datagram that was sent later than `granted`, milliseconds. */
  postpone(targets: Endpoints, i: number, granted: number, sentAt: number): void {
    const entry = this.#existing(targets, i);
    if (entry < 0) return;
    const ring = this.#times.subarray(entry * this.cap, (entry + 1) * this.cap);
    const at = ring.indexOf(granted);
    if (at >= 0) ring[at] = sentAt;
    if (sentAt > this.#last[entry]) this.#last[entry] = sentAt;
  }

  /** The entry of a target; -1 without one. */
  #existing(targets: Endpoints, i: number): number {
    const address = targets.ipv6[i];
    return address === undefined
      ? this.#index[this.#find(targets.ipv4[i] >>> this.bits.ipv4 | 0)] - 1
      : this.#ipv6.get(address >> this.bits.ipv6) ?? -1;
  }

  /** Delays the send time in `sendAt[0]` until the cap allows one more datagram. */
  delay(entry: number, sendAt: Float64Array): void {
    const earliest = this.#times[entry * this.cap + this.#oldest[entry]] + CAP_PERIOD_MS;
    if (earliest > sendAt[0]) sendAt[0] = earliest;
  }

  /** Records a datagram that is sent at `sendAt[0]`. */
  push(entry: number, sendAt: Float64Array): void {
    this.#times[entry * this.cap + this.#oldest[entry]] = sendAt[0];
    this.#oldest[entry] = (this.#oldest[entry] + 1) % this.cap;
    if (sendAt[0] > this.#last[entry]) this.#last[entry] = sendAt[0];
  }

  #find(key: number): number {
    const mask = this.#index.length - 1;
    let slot = mix(key) & mask;
    while (this.#index[slot] !== 0 && this.#keys[this.#index[slot] - 1] !== key) {
      slot = slot + 1 & mask;
    }
    return slot;
  }

  #ipv6Entry(key: bigint): number {
    const entry = this.#open();
    this.#ipv6Keys[entry] = key;
    this.#ipv6.set(key, entry);
    return entry;
  }

  /** Allocates an empty entry. */
  #open(): number {
    if (this.#count === this.#keys.length) this.#grow();
    const entry = this.#count++;
    this.#times.fill(-Infinity, entry * this.cap, (entry + 1) * this.cap);
    this.#last[entry] = -Infinity;
    this.#oldest[entry] = 0;
    this.#ipv6Keys[entry] = undefined;
    return entry;
  }

  #grow(): void {
    const entries = 2 * this.#keys.length;
    this.#keys = grown(this.#keys, new Int32Array(entries));
    this.#oldest = grown(this.#oldest, new Int32Array(entries));
    this.#last = grown(this.#last, new Float64Array(entries));
    this.#times = grown(this.#times, new Float64Array(entries * this.cap));
    this.#index = new Int32Array(SLOTS * entries);
    this.#reindex();
  }

  /** Removes entries whose latest datagram is more than a second ago. */
  #sweep(now: number): void {
    const kept = this.#count;
    this.#count = 0;
    for (let entry = 0; entry < kept; entry++) {
      if (this.#last[entry] > now - CAP_PERIOD_MS) this.#move(entry, this.#count++);
    }
    this.#reindex();
    this.#swept = now;
  }

  #move(entry: number, to: number): void {
    const cap = this.cap;
    this.#keys[to] = this.#keys[entry];
    this.#ipv6Keys[to] = this.#ipv6Keys[entry];
    this.#oldest[to] = this.#oldest[entry];
    this.#last[to] = this.#last[entry];
    if (to !== entry) this.#times.copyWithin(to * cap, entry * cap, (entry + 1) * cap);
  }

  #reindex(): void {
    this.#index.fill(0);
    this.#ipv6.clear();
    for (let entry = 0; entry < this.#count; entry++) {
      const wide = this.#ipv6Keys[entry];
      if (wide === undefined) this.#index[this.#find(this.#keys[entry])] = entry + 1;
      else this.#ipv6.set(wide, entry);
    }
  }
}

/** Copies an array to the start of a longer one. */
function grown<T extends Int32Array | Float64Array>(old: T, fresh: T): T {
  fresh.set(old);
  return fresh;
}
