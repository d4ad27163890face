/**
 * Limits the time that a scan spends on the unproved endpoints of each address.
 *
 * An interview that proves nothing is charged to its address, from the end of the sweep on: before it,
 * nothing waits for the interview. Once an address has used up its budget, its other unproved
 * endpoints are omitted.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";

/** The budget of an address, milliseconds of each interview that may run there at once. */
const BUDGET_MS = 45_000;

/** The time that addresses have used up. */
export class UnprovedBudget {
  readonly #spent = new Map<Address, number>();
  readonly #budget: number;
  #sweepEnd = Infinity;

  /** @param atOnce How many unproved endpoints of one address are interviewed at once. */
  constructor(atOnce: number) {
    this.#budget = BUDGET_MS * atOnce;
  }

  /** Notes that the sweep has ended: from now on the scan waits for interviews alone. */
  sweepEnded(now: number): void {
    this.#sweepEnd = Math.min(this.#sweepEnd, now);
  }

  /** Charges an interview that proved nothing to its address. */
  charge(address: Address, from: number, to: number): void {
    const spent = to - Math.max(from, this.#sweepEnd);
    if (spent > 0) this.#spent.set(address, (this.#spent.get(address) ?? 0) + spent);
  }

  /** Whether an address has used up its budget. */
  isSpent(address: Address): boolean {
    return (this.#spent.get(address) ?? 0) >= this.#budget;
  }
}
