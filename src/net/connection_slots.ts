/**
 * So many connections at once, and so many to one host.
 *
 * @module
 */
import type { Address } from "../core/address.ts";

/** Hands out places for connections, first come, first served. */
export class ConnectionSlots {
  #taken = 0;
  readonly #of = new Map<Address, number>();
  readonly #waiting = new Set<{ readonly address: Address; readonly start: () => void }>();

  /**
   * Starts with all places free.
   *
   * @param most How many connections there may be.
   * @param mostOfHost How many of them to one address.
   */
  constructor(private most: number, private readonly mostOfHost: number) {}

  /** How many places are taken. */
  get inUse(): number {
    return this.#taken;
  }

  /** How many there are. */
  get limit(): number {
    return this.most;
  }

  /** Allows no more than are taken now, less the one that could not be used; at least one. */
  reduceLimit(): void {
    this.most = Math.max(1, Math.min(this.most, this.#taken - 1));
  }

  /**
   * Takes a place as soon as there is one.
   *
   * @returns Gives it back; call it once.
   */
  async acquire(address: Address): Promise<() => void> {
    if (!this.#free(address) || this.#waiting.size > 0) {
      await new Promise<void>((start) => {
        this.#waiting.add({ address, start });
        this.#next();
      });
    } else {
      this.#note(address, 1);
    }
    return () => {
      this.#note(address, -1);
      this.#next();
    };
  }

  #free(address: Address): boolean {
    return this.#taken < this.most && (this.#of.get(address) ?? 0) < this.mostOfHost;
  }

  #note(address: Address, change: number): void {
    this.#taken += change;
    const count = (this.#of.get(address) ?? 0) + change;
    if (count === 0) this.#of.delete(address);
    else this.#of.set(address, count);
  }

  /** Who waits for a busy host holds nobody else up. */
  #next(): void {
    for (const one of this.#waiting) {
      if (this.#taken >= this.most) return;
      if (!this.#free(one.address)) continue;
      this.#waiting.delete(one);
      this.#note(one.address, 1);
      one.start();
    }
  }
}
