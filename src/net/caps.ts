/**
 * The last departures to each host, or each network: no more than so many in any second.
 *
 * @module
 */
import { mix } from "../core/bits.ts";
import type { Endpoints } from "../core/endpoints.ts";

const SECOND = 1000;
const LEAST_ROWS = 16;
/** Places of the index for each row. */
const PLACES = 4;

/** What a cap is counted for: the bits of an address that are left out. */
export interface CapBits {
  /** Of IPv4. */
  readonly ipv4: number;
  /** Of IPv6. */
  readonly ipv6: bigint;
}

/**
 * Each departure is at least a second after the one `cap` before it; so the departures fall into
 * `cap` classes (by their number modulo `cap`) of which each has at most one in any second, and all
 * have at most `cap`.
 *
 * A host that was asked within the last second has a row: its last `cap` departures, in a ring. Rows
 * lie in memory that is used again, so that nothing is allocated for an IPv4 probe.
 */
export class Caps {
  /** How many rows are in use. */
  #count = 0;
  #keys = new Int32Array(LEAST_ROWS);
  #wideKeys: (bigint | undefined)[] = [];
  /** Where in its ring the oldest departure is, and when the last one is. */
  #oldest = new Int32Array(LEAST_ROWS);
  #last = new Float64Array(LEAST_ROWS);
  #times: Float64Array;
  /** Rows plus one by the hash of their key, each at the first free place; 0: free. */
  #index = new Int32Array(PLACES * LEAST_ROWS);
  readonly #wide = new Map<bigint, number>();
  #swept = -Infinity;

  /**
   * Starts with nothing sent.
   *
   * @param cap Departures in any second.
   */
  constructor(private readonly cap: number, private readonly bits: CapBits) {
    this.#times = new Float64Array(LEAST_ROWS * cap);
  }

  /** The row of a target. It stays the same until the next call. */
  entry(targets: Endpoints, i: number, time: Float64Array): number {
    if (time[0] - this.#swept > SECOND) this.#sweep(time[0]);
    const address = targets.ipv6[i];
    if (address !== undefined) {
      const key = address >> this.bits.ipv6;
      return this.#wide.get(key) ?? this.#wideRow(key);
    }
    const key = targets.ipv4[i] >>> this.bits.ipv4 | 0;
    const place = this.#find(key);
    if (this.#index[place] !== 0) return this.#index[place] - 1;
    const row = this.#open();
    this.#keys[row] = key;
    this.#index[this.#find(key)] = row + 1;
    return row;
  }

  /** The last departure to a target; `-Infinity` where none is remembered. */
  last(targets: Endpoints, i: number): number {
    const address = targets.ipv6[i];
    const row = address === undefined
      ? this.#index[this.#find(targets.ipv4[i] >>> this.bits.ipv4 | 0)] - 1
      : this.#wide.get(address >> this.bits.ipv6) ?? -1;
    return row < 0 ? -Infinity : this.#last[row];
  }

  /** Puts a departure off, in `departure[0]`, until one more may leave. */
  delay(row: number, departure: Float64Array): void {
    const earliest = this.#times[row * this.cap + this.#oldest[row]] + SECOND;
    if (earliest > departure[0]) departure[0] = earliest;
  }

  /** Notes a departure. */
  push(row: number, departure: Float64Array): void {
    this.#times[row * this.cap + this.#oldest[row]] = departure[0];
    this.#oldest[row] = (this.#oldest[row] + 1) % this.cap;
    if (departure[0] > this.#last[row]) this.#last[row] = departure[0];
  }

  #find(key: number): number {
    const mask = this.#index.length - 1;
    let place = mix(key) & mask;
    while (this.#index[place] !== 0 && this.#keys[this.#index[place] - 1] !== key) {
      place = place + 1 & mask;
    }
    return place;
  }

  #wideRow(key: bigint): number {
    const row = this.#open();
    this.#wideKeys[row] = key;
    this.#wide.set(key, row);
    return row;
  }

  /** A row of which nothing is known. */
  #open(): number {
    if (this.#count === this.#keys.length) this.#grow();
    const row = this.#count++;
    this.#times.fill(-Infinity, row * this.cap, (row + 1) * this.cap);
    this.#last[row] = -Infinity;
    this.#oldest[row] = 0;
    this.#wideKeys[row] = undefined;
    return row;
  }

  #grow(): void {
    const rows = 2 * this.#keys.length;
    this.#keys = grown(this.#keys, new Int32Array(rows));
    this.#oldest = grown(this.#oldest, new Int32Array(rows));
    this.#last = grown(this.#last, new Float64Array(rows));
    this.#times = grown(this.#times, new Float64Array(rows * this.cap));
    this.#index = new Int32Array(PLACES * rows);
    this.#reindex();
  }

  /** Forgets what has not been used for a second, and lies in the past. */
  #sweep(now: number): void {
    const kept = this.#count;
    this.#count = 0;
    for (let row = 0; row < kept; row++) {
      if (this.#last[row] > now - SECOND) this.#move(row, this.#count++);
    }
    this.#reindex();
    this.#swept = now;
  }

  #move(row: number, to: number): void {
    const cap = this.cap;
    this.#keys[to] = this.#keys[row];
    this.#wideKeys[to] = this.#wideKeys[row];
    this.#oldest[to] = this.#oldest[row];
    this.#last[to] = this.#last[row];
    if (to !== row) this.#times.copyWithin(to * cap, row * cap, (row + 1) * cap);
  }

  #reindex(): void {
    this.#index.fill(0);
    this.#wide.clear();
    for (let row = 0; row < this.#count; row++) {
      const wide = this.#wideKeys[row];
      if (wide === undefined) this.#index[this.#find(this.#keys[row])] = row + 1;
      else this.#wide.set(wide, row);
    }
  }
}

/** A longer array with the same beginning. */
function grown<T extends Int32Array | Float64Array>(old: T, fresh: T): T {
  fresh.set(old);
  return fresh;
}
