/**
 * Numbers of what is in progress for each client.
 *
 * @module
 */

/** Counts for each client what is in progress. Clients for whom nothing is take no memory. */
export class ClientCounts {
  readonly #counts = new Map<string, number>();

  /** Number of clients for whom something is in progress. */
  get size(): number {
    return this.#counts.size;
  }

  /** What is in progress for a client; 0 without a client. */
  of(client: string | undefined): number {
    return client === undefined ? 0 : this.#counts.get(client) ?? 0;
  }

  /** Counts what begins (1) or ends (-1) for a client; without a client, nothing is counted. */
  add(client: string | undefined, change: 1 | -1): void {
    if (client === undefined) return;
    const count = this.of(client) + change;
    if (count === 0) this.#counts.delete(client);
    else this.#counts.set(client, count);
  }
}
