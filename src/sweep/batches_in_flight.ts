/**
 * Batches of probes that are filled and sent in turn: one is filled while others are being sent.
 *
 * @module
 */
import type { SendGate } from "../net/send_gate.ts";
import type { Batch, DatagramSocket, Template } from "../net/socket.ts";

/** A pair of batches, one per address family, that are filled and sent together. */
export class BatchInFlight {
  /** Settles when this pair and all earlier ones are sent; `undefined`: they are sent. */
  sending: Promise<void> | undefined;
  /** Number of canary probes in the batches. */
  canaries = 0;
  /** What the gate had kept back when the batches were passed to the sockets. */
  keptBack = 0;

  /** Creates a pair from empty batches. */
  constructor(readonly ipv4: Batch | undefined, readonly ipv6: Batch | undefined) {}

  /** Number of probes in both batches. */
  get length(): number {
    return (this.ipv4?.length ?? 0) + (this.ipv6?.length ?? 0);
  }

  /** Removes all probes. The pair can then be filled again. */
  clear(): void {
    this.ipv4?.clear();
    this.ipv6?.clear();
    this.canaries = 0;
  }
}

/** Options of {@linkcode BatchesInFlight}. */
export interface BatchesInFlightOptions {
  /** The sockets, of one or both address families. */
  readonly sockets: readonly DatagramSocket[];
  /** The probe's datagram, which is copied into each slot. */
  readonly template: Template;
  /** Number of probes per batch. */
  readonly batch: number;
  /** Number of pairs of batches, at least 1. */
  readonly count: number;
  /** Cancels a wait for an interface that is down. */
  readonly signal?: AbortSignal;
  /**
   * Called for each pair that was sent, in order: with the argument of `send()`, the number of
   * probes that the system accepted, and the number that it refused.
   */
  readonly onSent: (visited: number, sent: number, refused: number) => void;
}

/** Sends pairs of batches in turn and reports them in order. */
export class BatchesInFlight {
  /** Number of probes in pairs that are being sent. */
  probesInFlight = 0;
  /** The gate of the sockets; `undefined`: none. */
  readonly gate: SendGate | undefined;
  /**
   * Whether the gate kept back probes of the last pair, whose positions were not visited then. A
   * probe that the system refused meanwhile counts as kept back.
   */
  isCut = false;
  readonly #pairs: readonly BatchInFlight[];
  readonly #sockets: Readonly<Record<4 | 6, readonly DatagramSocket[]>>;
  readonly #onSent: BatchesInFlightOptions["onSent"];
  readonly #signal: AbortSignal | undefined;
  #count = 0;
  /** Settles when all pairs are sent; `undefined`: all are sent. */
  #sending: Promise<void> | undefined;
  #failure: Error | undefined;

  /** Allocates the batches, from the first socket of each family. */
  constructor(
    { sockets, template, batch, count, signal, onSent }: BatchesInFlightOptions,
  ) {
    this.#signal = signal;
    this.gate = sockets.find(({ gate }) => gate !== undefined)?.gate;
    const of = (bits: 4 | 6) => sockets.filter(({ family }) => family === bits);
    this.#sockets = { 4: of(4), 6: of(6) };
    const empty = (bits: 4 | 6) => this.#sockets[bits][0]?.batch(template, batch);
    this.#pairs = Array.from({ length: count }, () => new BatchInFlight(empty(4), empty(6)));
    this.#onSent = onSent;
  }

  /**
   * The pair to fill next. If the pair is still in flight, the caller has to wait for it.
   *
   * @throws The error of a socket.
   */
  get next(): BatchInFlight {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#pairs[this.#count % this.#pairs.length];
  }

  /** Whether there is only one pair. Filling and sending then cannot overlap. */
  get isSinglePair(): boolean {
    return this.#pairs.length === 1;
  }

  /**
   * Sends the pair that was filled.
   *
   * @param visited Passed to `onSent` when the pair is sent.
   */
  send(visited: number): void {
    const flight = this.next;
    const number = this.#count++;
    flight.keptBack = this.gate?.keptBack ?? 0;
    const one = this.#flush(flight.ipv4, 4, number);
    const other = this.#flush(flight.ipv6, 6, number);
    if (this.#sending === undefined && typeof one === "number" && typeof other === "number") {
      this.#report(flight, visited, one + other);
    } else {
      this.probesInFlight += flight.length;
      this.#sending = flight.sending = this.#finish(flight, visited, one, other, this.#sending);
    }
  }

  /** Sends a batch from the next socket of its family. */
  #flush(batch: Batch | undefined, bits: 4 | 6, number: number): number | Promise<number> {
    if (batch === undefined || batch.length === 0) return 0;
    const sockets = this.#sockets[bits];
    return sockets[number % sockets.length].flush(batch, this.#signal);
  }

  /** Waits until a pair and all earlier ones are sent. Never rejects: errors are thrown later. */
  async #finish(
    flight: BatchInFlight,
    visited: number,
    one: number | Promise<number>,
    other: number | Promise<number>,
    before: Promise<void> | undefined,
  ): Promise<void> {
    try {
      // Usually there is one batch. Promise.all(), which several batches need, allocates more
      // memory.
      const sent = typeof other === "number"
        ? await one + other
        : (await Promise.all([one, other])).reduce((sum, part) => sum + part);
      await before;
      this.probesInFlight -= flight.length;
      if (this.#failure === undefined) this.#report(flight, visited, sent);
    } catch (error) {
      this.#failure ??= error as Error;
    }
    if (this.#sending === flight.sending) this.#sending = undefined;
    flight.sending = undefined;
  }

  #report(flight: BatchInFlight, visited: number, sent: number): void {
    const refused = flight.length - sent;
    const probes = Math.max(0, sent - flight.canaries);
    this.isCut = refused > 0 && this.gate !== undefined && this.gate.keptBack > flight.keptBack;
    flight.clear();
    if (this.isCut) this.#onSent(0, probes, 0);
    else this.#onSent(visited, probes, refused);
  }

  /**
   * Waits until a pair is sent; without an argument, until all are sent.
   *
   * @throws The error of a socket.
   */
  async whenSent(flight?: BatchInFlight): Promise<void> {
    await (flight === undefined ? this.#sending : flight.sending);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Whether no pair is being sent. */
  get isIdle(): boolean {
    return this.#sending === undefined;
  }
}
