/**
 * Limits of requests for each client, target or network: token buckets in a table of bounded size.
 *
 * @module
 */
import { type Address, family, formatAddress } from "../../core/address.ts";

/** A limit. */
export interface LimitRate {
  /** How many requests are granted in a minute. */
  readonly perMinute: number;
  /** How many are granted at once to a key that had none lately. */
  readonly burst: number;
}

/** Maximum number of keys that are remembered. */
const MAX_KEYS = 8192;

/**
 * Grants requests to keys.
 *
 * @example Two at once, then one a second
 * ```ts
 * import { KeyedLimit } from "./keyed_limit.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const limit = new KeyedLimit({ perMinute: 60, burst: 2 });
 * assertEquals([0, 0, 0, 1000].map((now) => limit.take("192.0.2.1", now)), [0, 0, 1, 0]);
 * ```
 */
export class KeyedLimit {
  /** When the bucket of each key is full again, milliseconds; the key that was used last is the last. */
  readonly #fullAt = new Map<string, number>();
  readonly #intervalMs: number;
  readonly #burstMs: number;

  /** @param maxKeys Maximum number of keys; beyond it, the key that was used first is forgotten. */
  constructor({ perMinute, burst }: LimitRate, private readonly maxKeys = MAX_KEYS) {
    this.#intervalMs = 60_000 / perMinute;
    this.#burstMs = burst * this.#intervalMs;
  }

  /** Number of keys that are remembered. */
  get size(): number {
    return this.#fullAt.size;
  }

  /**
   * Grants a request.
   *
   * @param now The time, milliseconds of any clock.
   * @returns 0 if it is granted, else after how many seconds it will be.
   */
  take(key: string, now: number): number {
    const waitMs = this.#waitMs(key, now);
    if (waitMs > 0) return Math.ceil(waitMs / 1000);
    const fullAt = Math.max(now, this.#fullAt.get(key) ?? now) + this.#intervalMs;
    this.#fullAt.delete(key);
    this.#expire(now);
    this.#fullAt.set(key, fullAt);
    return 0;
  }

  #waitMs(key: string, now: number): number {
    return (this.#fullAt.get(key) ?? now) + this.#intervalMs - this.#burstMs - now;
  }

  /** Forgets the first keys if their buckets are full, and one more if the table is full. */
  #expire(now: number): void {
    for (const [key, fullAt] of this.#fullAt) {
      if (fullAt > now && this.#fullAt.size < this.maxKeys) return;
      this.#fullAt.delete(key);
    }
  }
}

/** The network of an address as a text. */
export function limitKey(address: Address, prefix: Readonly<Record<4 | 6, number>>): string {
  const bits = family(address);
  const rest = BigInt((bits === 4 ? 32 : 128) - prefix[bits]);
  const start = BigInt(address) >> rest << rest;
  return `${formatAddress(bits === 4 ? Number(start) : start)}/${prefix[bits]}`;
}
