/**
 * Cancels the exchanges with an address that opts out. Nothing more is sent to this address.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";

/** The exchanges with one address. */
interface Running {
  readonly controller: AbortController;
  /** Number of exchanges that use the signal. */
  users: number;
}

/** One signal for each address with running exchanges. */
export class AddressSignals {
  readonly #running = new Map<Address, Running>();

  /** @param all Cancels the exchanges with all addresses. */
  constructor(private readonly all: AbortSignal) {
    all.addEventListener("abort", () => {
      for (const { controller } of this.#running.values()) controller.abort();
    }, { once: true });
  }

  /** Runs exchanges with an address. The signal is aborted when the exchanges are cancelled. */
  async run<T>(address: Address, exchanges: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const running = this.#running.get(address) ?? { controller: new AbortController(), users: 0 };
    if (running.users++ === 0) this.#running.set(address, running);
    if (this.all.aborted) running.controller.abort();
    try {
      return await exchanges(running.controller.signal);
    } finally {
      if (--running.users === 0) this.#running.delete(address);
    }
  }

  /** The addresses with running exchanges. */
  get addresses(): Iterable<Address> {
    return this.#running.keys();
  }

  /** Cancels the running exchanges with an address. Later exchanges are not affected. */
  cancel(address: Address): void {
    this.#running.get(address)?.controller.abort();
  }
}
