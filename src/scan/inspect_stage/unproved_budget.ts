/**
 * Limits the time that a scan spends on the unproved endpoints of each address.
 *
 * The time of an interview without a valid reply is charged to the address. Only time after the end
 * of the sweep counts, because the scan does not wait for interviews before that. Once an address
 * has used up its budget, its other unproved endpoints are omitted.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";

/** Budget of an address: milliseconds for each interview that may run at once. */
const BUDGET_MS = 45_000;

/** The time that addresses have used up. */
export class UnprovedBudget {
  readonly #spent = new Map<Address, number>();
  readonly #budget: number;
  #sweepEnd = Infinity;

  /** @param atOnce Number of unproved endpoints of one address that are interviewed at once. */
  constructor(atOnce: number) {
    this.#budget = BUDGET_MS * atOnce;
  }

  /** Records that the sweep has ended. From now on the scan only waits for interviews. */
  sweepEnded(now: number): void {
    this.#sweepEnd = Math.min(this.#sweepEnd, now);
  }

  /** Charges the time of an interview without a valid reply to its address. */
  charge(address: Address, from: number, to: number): void {
    const spent = to - Math.max(from, this.#sweepEnd);
    if (spent > 0) this.#spent.set(address, (this.#spent.get(address) ?? 0) + spent);
  }

  /** Whether an address has used up its budget. */
  isSpent(address: Address): boolean {
    return (this.#spent.get(address) ?? 0) >= this.#budget;
  }
}
