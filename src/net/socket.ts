/**
 * The contracts of the network: what engines offer, and what the sweep and inspection use. Bytes
 * and endpoints; nothing here knows a protocol.
 *
 * @module
 */
import type { Address, Endpoint } from "../address.ts";

/** What happened on a socket besides datagrams. */
export interface SocketErrors {
  /** Datagrams that the system refused to send, by error code. */
  readonly send: Map<string, number>;
  /** Errors while receiving, by error code: a peer's ICMP, Windows' ConnectionReset. */
  readonly receive: Map<string, number>;
}

/**
 * Called for each datagram that arrives.
 *
 * @param datagram A view into the socket's buffer: gone when the call returns.
 * @param from Who sent it.
 */
export type DatagramReceiver = (datagram: Uint8Array, from: Endpoint) => void;

/** A UDP socket. */
export interface DatagramSocket extends AsyncDisposable {
  /** The family of its addresses. */
  readonly family: 4 | 6;
  /** Its own port. */
  readonly port: number;
  /** What went wrong so far. */
  readonly errors: SocketErrors;
  /**
   * Hands every datagram that arrives to the receiver.
   *
   * @returns Resolves when the socket was disposed of; rejects when it fails, or the receiver does.
   */
  listen(receiver: DatagramReceiver): Promise<void>;
  /**
   * Sends one datagram.
   *
   * @returns Whether the system took it; if not, it is counted in `errors`.
   */
  send(datagram: Uint8Array, to: Endpoint): Promise<boolean>;
  /**
   * Sends a batch.
   *
   * @returns How many of it the system took.
   */
  flush(batch: Batch): Promise<number>;
}

/** Copies of one datagram for many targets: only what differs is written per target. */
export class Batch {
  /** All copies, one after the other. */
  readonly slots: DataView;
  /** How many are in use. */
  length = 0;
  /** Where each goes. */
  readonly addresses: Address[] = [];
  /** On which port. */
  readonly ports: number[] = [];
  readonly #bytes: Uint8Array;

  /**
   * Makes the copies.
   *
   * @param template The datagram.
   * @param capacity How many targets fit in.
   */
  constructor(readonly template: Uint8Array, readonly capacity: number) {
    this.#bytes = new Uint8Array(template.length * capacity);
    for (let i = 0; i < capacity; i++) this.#bytes.set(template, i * template.length);
    this.slots = new DataView(this.#bytes.buffer);
  }

  /** Takes the next slot for a target and returns where it starts in `slots`. */
  add({ address, port }: Endpoint): number {
    const slot = this.length++;
    this.addresses[slot] = address;
    this.ports[slot] = port;
    return slot * this.template.length;
  }

  /** The datagram in a slot. */
  datagram(slot: number): Uint8Array {
    const size = this.template.length;
    return this.#bytes.subarray(slot * size, (slot + 1) * size);
  }

  /** Empties it. */
  clear(): void {
    this.length = 0;
  }
}

/** A conversation with one peer. */
export interface Link extends AsyncDisposable {
  /** Sends one datagram when it may leave; false when the system refused it. */
  send(datagram: Uint8Array): Promise<boolean>;
  /**
   * The next datagram of the peer, in a copy of its own; `undefined` when none comes in time, or
   * the link was disposed of.
   */
  next(timeoutMs: number): Promise<Uint8Array | undefined>;
}
