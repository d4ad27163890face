/**
 * Waiting until what has arrived at a socket was handed on.
 *
 * @module
 */

/** What a datagram takes up of a receive buffer at the least, bytes. */
const LEAST_DATAGRAM_SPACE = 256;

/**
 * How many datagrams a receive buffer can hold at the most.
 *
 * @param receiveBuffer Its size, bytes as the system counts.
 */
export function mostDatagramsIn(receiveBuffer: number): number {
  return Math.ceil(receiveBuffer / LEAST_DATAGRAM_SPACE);
}

/** Those who wait for it. */
export class ReceiveDrain {
  #waiting: { left: number; readonly done: () => void }[] = [];

  /**
   * Nobody waits yet.
   *
   * @param most Datagrams that may have arrived.
   */
  constructor(private readonly most: number) {}

  /** Resolves when nothing more had arrived, or as much was handed on as the buffer can hold. */
  wait(): Promise<void> {
    return new Promise((done) => this.#waiting.push({ left: this.most, done }));
  }

  /**
   * Datagrams were handed on.
   *
   * @param empty Whether none is left.
   */
  delivered(count: number, empty: boolean): void {
    if (this.#waiting.length === 0) return;
    for (const waiting of this.#waiting) waiting.left -= empty ? waiting.left : count;
    for (const { left, done } of this.#waiting) if (left <= 0) done();
    this.#waiting = this.#waiting.filter(({ left }) => left > 0);
  }
}
