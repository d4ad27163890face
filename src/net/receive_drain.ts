/**
 * Waits until all datagrams that have arrived at a socket were delivered.
 *
 * @module
 */

/** Minimum buffer space of one datagram, bytes. */
const MIN_DATAGRAM_SPACE = 256;

/**
 * Maximum number of datagrams in a receive buffer.
 *
 * @param receiveBuffer Size of the buffer, bytes as the system counts.
 */
export function maxDatagramsIn(receiveBuffer: number): number {
  return Math.ceil(receiveBuffer / MIN_DATAGRAM_SPACE);
}

/** The pending waits of one socket. */
export class ReceiveDrain {
  #waiting: { left: number; readonly done: () => void }[] = [];

  /**
   * Creates a drain without pending waits.
   *
   * @param most Maximum number of datagrams in the receive buffer.
   */
  constructor(private readonly most: number) {}

  /**
   * Resolves when the buffer is empty, or after the delivery of as many datagrams as the buffer can
   * contain.
   */
  wait(): Promise<void> {
    return new Promise((done) => this.#waiting.push({ left: this.most, done }));
  }

  /**
   * Records the delivery of datagrams.
   *
   * @param empty Whether the buffer is empty.
   */
  delivered(count: number, empty: boolean): void {
    if (this.#waiting.length === 0) return;
    for (const waiting of this.#waiting) waiting.left -= empty ? waiting.left : count;
    for (const { left, done } of this.#waiting) if (left <= 0) done();
    this.#waiting = this.#waiting.filter(({ left }) => left > 0);
  }
}
