/**
 * Limits on concurrent connections, in all and to one host.
 *
 * @module
 */
import type { Address } from "../core/address.ts";

/** Grants slots for connections in the order of requests. */
export class ConnectionSlots {
  #used = 0;
  readonly #byAddress = new Map<Address, number>();
  readonly #waiting = new Set<{ readonly address: Address; readonly start: () => void }>();

  /**
   * Creates the slots, all free.
   *
   * @param most Maximum number of concurrent connections.
   * @param maxOfHost Maximum number of concurrent connections to one address.
   */
  constructor(private most: number, private readonly maxOfHost: number) {}

  /** Number of slots in use. */
  get inUse(): number {
    return this.#used;
  }

  /** Number of slots, free and in use. */
  get limit(): number {
    return this.most;
  }

  /**
   * Reduces the limit after a connection failed for lack of descriptors: to one less than the slots
   * in use, and at least to one.
   */
  reduceLimit(): void {
    this.most = Math.max(1, Math.min(this.most, this.#used - 1));
  }

  /**
   * Acquires a slot as soon as one is free.
   *
   * @returns A function that releases the slot; call it once.
   */
  async acquire(address: Address): Promise<() => void> {
    if (!this.#free(address) || this.#waiting.size > 0) {
      await new Promise<void>((start) => {
        this.#waiting.add({ address, start });
        this.#next();
      });
    } else {
      this.#change(address, 1);
    }
    return () => {
      this.#change(address, -1);
      this.#next();
    };
  }

  #free(address: Address): boolean {
    return this.#used < this.most && (this.#byAddress.get(address) ?? 0) < this.maxOfHost;
  }

  #change(address: Address, change: number): void {
    this.#used += change;
    const count = (this.#byAddress.get(address) ?? 0) + change;
    if (count === 0) this.#byAddress.delete(address);
    else this.#byAddress.set(address, count);
  }

  /** Grants free slots. A request for a busy host does not delay requests for other hosts. */
  #next(): void {
    for (const one of this.#waiting) {
      if (this.#used >= this.most) return;
      if (!this.#free(one.address)) continue;
      this.#waiting.delete(one);
      this.#change(one.address, 1);
      one.start();
    }
  }
}
