/**
 * Lets the transactions of one connection run one after the other.
 *
 * @module
 */

/** The transactions and streams of a connection, which has at most one at a time. */
export class TransactionQueue {
  #last: Promise<void> = Promise.resolve();

  /**
   * Waits until the earlier transactions have ended. The next one begins when the result is
   * disposed of.
   */
  async begin(): Promise<Disposable> {
    const earlier = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    await earlier;
    return { [Symbol.dispose]: resolve };
  }
}
