/**
 * Lets the transactions of one connection run one after the other.
 *
 * @module
 */

/** The transactions and streams of a connection, which has at most one at a time. */
export class TransactionQueue {
  #last: Promise<void> = Promise.resolve();

  /** Waits until the earlier ones have ended. Disposing of the result lets the next one begin. */
  async begin(): Promise<Disposable> {
    const earlier = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await earlier;
    return { [Symbol.dispose]: resolve };
  }
}
