/**
 * Batches on their way out: some are filled while others leave.
 *
 * @module
 */
import type { Batch, DatagramSocket, Template } from "../net/socket.ts";

/** Batches that are filled and sent together, one of each family. */
export class BatchInFlight {
  /** Settles when it has left, and all before it; `undefined` where it has. */
  landing: Promise<void> | undefined;
  /** How many in it are no probes, but questions to servers that have answered. */
  canaries = 0;

  /** Takes empty batches. */
  constructor(readonly ipv4: Batch | undefined, readonly ipv6: Batch | undefined) {}

  /** How many probes are in it. */
  get length(): number {
    return (this.ipv4?.length ?? 0) + (this.ipv6?.length ?? 0);
  }

  /** Empties it. */
  clear(): void {
    this.ipv4?.clear();
    this.ipv6?.clear();
    this.canaries = 0;
  }
}

/** What flights need. */
export interface BatchesInFlightOptions {
  /** The sockets, of one or both families. */
  readonly sockets: readonly DatagramSocket[];
  /** The datagram that is sent to all. */
  readonly template: Template;
  /** How many of it are in a batch. */
  readonly batch: number;
  /** Flights under way at once. */
  readonly count: number;
  /** Ends waiting for an interface that is down. */
  readonly signal?: AbortSignal;
  /**
   * Told of each that left, in order: what `launch()` was given, how many probes the system took, and
   * how many it did not.
   */
  readonly onLanded: (visited: number, sent: number, refused: number) => void;
}

/** Sends batches in turn, and so that they land in order: what is reported was sent. */
export class BatchesInFlight {
  /** How many probes are under way. */
  aloft = 0;
  readonly #flights: readonly BatchInFlight[];
  readonly #sockets: Readonly<Record<4 | 6, readonly DatagramSocket[]>>;
  readonly #onLanded: BatchesInFlightOptions["onLanded"];
  readonly #signal: AbortSignal | undefined;
  #launched = 0;
  /** Settles when all have landed; `undefined` where they have. */
  #landing: Promise<void> | undefined;
  #failure: Error | undefined;

  /** Makes the batches. */
  constructor({ sockets, template, batch, count, signal, onLanded }: BatchesInFlightOptions) {
    this.#signal = signal;
    const of = (bits: 4 | 6) => sockets.filter(({ family }) => family === bits);
    this.#sockets = { 4: of(4), 6: of(6) };
    const empty = (bits: 4 | 6) => this.#sockets[bits][0]?.batch(template, batch);
    this.#flights = Array.from({ length: count }, () => new BatchInFlight(empty(4), empty(6)));
    this.#onLanded = onLanded;
  }

  /**
   * The one that is to be filled next, and sent; it may have to land first.
   *
   * @throws What a socket threw.
   */
  get next(): BatchInFlight {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#flights[this.#launched % this.#flights.length];
  }

  /** Whether there is only one, so that it has to land before anything else is done. */
  get single(): boolean {
    return this.#flights.length === 1;
  }

  /**
   * Sends the next one.
   *
   * @param visited Told again when it has landed.
   */
  launch(visited: number): void {
    const flight = this.next;
    const turn = this.#launched++;
    const one = this.#flush(flight.ipv4, 4, turn);
    const other = this.#flush(flight.ipv6, 6, turn);
    if (this.#landing === undefined && typeof one === "number" && typeof other === "number") {
      this.#report(flight, visited, one + other);
    } else {
      this.aloft += flight.length;
      this.#landing = flight.landing = this.#land(flight, visited, one, other, this.#landing);
    }
  }

  /** Sends the batch of a family from the next of its sockets. */
  #flush(batch: Batch | undefined, bits: 4 | 6, turn: number): number | Promise<number> {
    if (batch === undefined || batch.length === 0) return 0;
    const sockets = this.#sockets[bits];
    return sockets[turn % sockets.length].flush(batch, this.#signal);
  }

  /** Waits until a flight has left, and all before it. It never rejects: who waits is told later. */
  async #land(
    flight: BatchInFlight,
    visited: number,
    one: number | Promise<number>,
    other: number | Promise<number>,
    before: Promise<void> | undefined,
  ): Promise<void> {
    try {
      // Mostly there is one of them: waiting for several allocates more.
      const sent = typeof other === "number"
        ? await one + other
        : (await Promise.all([one, other])).reduce((sum, part) => sum + part);
      await before;
      this.aloft -= flight.length;
      if (this.#failure === undefined) this.#report(flight, visited, sent);
    } catch (error) {
      this.#failure ??= error as Error;
    }
    if (this.#landing === flight.landing) this.#landing = undefined;
    flight.landing = undefined;
  }

  #report(flight: BatchInFlight, visited: number, sent: number): void {
    const refused = flight.length - sent;
    const probes = Math.max(0, sent - flight.canaries);
    flight.clear();
    this.#onLanded(visited, probes, refused);
  }

  /**
   * Waits until a flight has landed; without one, until all have.
   *
   * @throws What a socket threw.
   */
  async landed(flight?: BatchInFlight): Promise<void> {
    await (flight === undefined ? this.#landing : flight.landing);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Whether none is under way. */
  get idle(): boolean {
    return this.#landing === undefined;
  }
}
