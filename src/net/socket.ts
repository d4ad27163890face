/**
 * The contracts of the network: what engines offer, and what the sweep and inspection use. Bytes
 * and endpoints; nothing here knows a protocol.
 *
 * @module
 */
import type { Address, Endpoint } from "../core/address.ts";
import type { Endpoints } from "../core/endpoints.ts";

/** What happened on a socket besides datagrams. */
export interface SocketErrors {
  /** Datagrams that the system refused to send, by error code. */
  readonly send: Map<string, number>;
  /** Errors while receiving, by error code: a peer's ICMP, Windows' ConnectionReset. */
  readonly receive: Map<string, number>;
  /** Times that sending had to wait, by error code: a card without room, an interface that is down. */
  readonly waits: Map<string, number>;
}

/** Nothing went wrong yet. */
export function noErrors(): SocketErrors {
  return { send: new Map(), receive: new Map(), waits: new Map() };
}

/**
 * Called for each datagram that arrives.
 *
 * @param datagram A view into the socket's buffer: gone when the call returns.
 * @param from Who sent it.
 */
export type DatagramReceiver = (datagram: Uint8Array, from: Endpoint) => void;

/** Whether a receiver takes the next datagram: `undefined`, or settles when it will. */
export type ReceiverCapacity = () => Promise<void> | undefined;

/** A UDP socket, which sends batches of its own engine: type `B`. */
export interface DatagramSocket<B extends Batch = Batch> extends AsyncDisposable {
  /** The family of its addresses. */
  readonly family: 4 | 6;
  /** Its own port. */
  readonly port: number;
  /** Whether what has arrived is handed on at each {@linkcode flush}, and needs no turn. Default: no. */
  readonly receivesWhileSending?: boolean;
  /** What datagrams may take up that have arrived and not been read, bytes as the system counts. */
  readonly receiveBuffer: number;
  /** Datagrams that found no room there, where the system tells; else 0. */
  readonly dropped: number;
  /** How much is in there, bytes as the system counts, where it tells. */
  readonly receiveBufferUsed?: number;
  /** What went wrong so far. Sockets that send through one outlet count together. */
  readonly errors: SocketErrors;
  /**
   * Hands every datagram that arrives to the receiver.
   *
   * @param capacity While it gives a promise, datagrams wait in the system's buffer, until that settles.
   * Default: there is always room for the next.
   * @returns Resolves when the socket was disposed of; rejects when it fails, or the receiver does.
   */
  listen(receiver: DatagramReceiver, capacity?: ReceiverCapacity): Promise<void>;
  /** Resolves when all that has arrived by now was handed on, or the socket was disposed of. */
  drained(): Promise<void>;
  /**
   * Sends one datagram.
   *
   * @returns Whether the system took it; if not, it is counted in `errors`.
   */
  send(datagram: Uint8Array, to: Endpoint): Promise<boolean>;
  /**
   * Makes a batch, which any socket of the same engine and family can send.
   *
   * @param template The datagram.
   * @param capacity How many targets fit in: {@linkcode MOST_IN_BATCH} at the most.
   */
  batch(template: Template, capacity: number): B;
  /**
   * Sends a batch. What has arrived may be handed on meanwhile.
   *
   * @param signal Ends waiting for an interface that is down, where the engine waits for that.
   * @returns How many of it the system took; a promise where it did not take them at once. It
   * rejects when the rest of it waits for a network that is gone, or that nobody waits for.
   */
  flush(batch: B, signal?: AbortSignal): number | Promise<number>;
}

/** Targets that a batch has room for, at the most. */
export const MOST_IN_BATCH = 256;

/** A datagram whose copies differ by a token and a time, of 32 bits each, big endian. */
export interface Template {
  /** The datagram, with both of them zero. */
  readonly template: Uint8Array;
  /** Where the token goes. Default: nowhere. */
  readonly tokenAt?: number;
  /** Whether the token is written as eight hexadecimal digits of text. Default: as four bytes. */
  readonly tokenText?: boolean;
  /** Where the time goes. Default: nowhere. */
  readonly clockAt?: number;
}

/** Writes what copies of a datagram differ by. */
export class Stamp {
  readonly #tokenAt: number;
  readonly #isText: boolean;
  readonly #clockAt: number;

  /** Notes where that goes. */
  constructor({ tokenAt = -1, tokenText = false, clockAt = -1 }: Template) {
    this.#tokenAt = tokenAt;
    this.#isText = tokenText;
    this.#clockAt = clockAt;
  }

  /**
   * Stamps a copy.
   *
   * @param at Where in `slots` it starts.
   */
  write(slots: DataView, at: number, token: number, clock: number): void {
    if (this.#tokenAt >= 0) {
      if (this.#isText) {
        slots.setUint32(at + this.#tokenAt, hexDigits(token >>> 16));
        slots.setUint32(at + this.#tokenAt + 4, hexDigits(token & 0xffff));
      } else slots.setUint32(at + this.#tokenAt, token);
    }
    if (this.#clockAt >= 0) slots.setUint32(at + this.#clockAt, clock);
  }

  /** Fills with zeros what {@linkcode write} writes. */
  clear(slots: DataView, at: number): void {
    if (this.#tokenAt >= 0) slots.setUint32(at + this.#tokenAt, 0);
    if (this.#tokenAt >= 0 && this.#isText) slots.setUint32(at + this.#tokenAt + 4, 0);
    if (this.#clockAt >= 0) slots.setUint32(at + this.#clockAt, 0);
  }

  /** What that adds to the sum of a copy's 16-bit words, not folded: an integer below 2^19. */
  sumOf(token: number, clock: number): number {
    return (this.#tokenAt >= 0 ? this.#sumOfToken(token) : 0) +
      (this.#clockAt >= 0 ? sumOfWord(clock, this.#clockAt) : 0);
  }

  #sumOfToken(token: number): number {
    const at = this.#tokenAt;
    if (!this.#isText) return sumOfWord(token, at);
    return sumOfWord(hexDigits(token >>> 16), at) + sumOfWord(hexDigits(token & 0xffff), at);
  }
}

/**
 * Sixteen bits as the text of four hexadecimal digits in lower case, a byte each, big endian.
 *
 * The four digits are spread over the bytes of a word. Adding 6 carries into bit 4 of the bytes above
 * 9: those get the letters' offset, `a` - 10 - `0` = 39. No byte overflows, so all are done at once.
 */
function hexDigits(bits: number): number {
  const spread = (bits & 0xf000) << 12 | (bits & 0xf00) << 8 | (bits & 0xf0) << 4 | bits & 0xf;
  const isLetter = spread + 0x06060606 >>> 4 & 0x01010101;
  return spread + 0x30303030 + Math.imul(isLetter, 39) | 0;
}

/** The sum of the 16-bit words that four bytes are part of: those at an odd place lie across them. */
function sumOfWord(bytes: number, at: number): number {
  return (at & 1) === 0
    ? (bytes >>> 16) + (bytes & 0xffff)
    : (bytes >>> 24) + (bytes >>> 8 & 0xff) + ((bytes >>> 16 & 0xff) + (bytes & 0xff) << 8);
}

/** Copies of one datagram for many targets: only what differs is written per target. */
export interface Batch {
  /** How many targets are in it. */
  readonly length: number;
  /**
   * Adds a target of a row.
   *
   * @param token What goes where the token does.
   * @param clock What goes where the time does: microseconds modulo 2^32, when this is called. What
   * leaves later by another thread says how much later.
   */
  add(targets: Endpoints, i: number, token: number, clock: number): void;
  /** Empties it. */
  clear(): void;
}

/** A batch of engines that send datagram by datagram. */
export class DatagramBatch implements Batch {
  length = 0;
  /** Where each goes. */
  readonly addresses: Address[] = [];
  /** On which port. */
  readonly ports: number[] = [];
  readonly #size: number;
  readonly #bytes: Uint8Array;
  readonly #slots: DataView;
  readonly #stamp: Stamp;

  /**
   * Makes the copies.
   *
   * @param of The datagram.
   * @param capacity How many targets fit in.
   */
  constructor(of: Template, capacity: number) {
    const { template } = of;
    this.#size = template.length;
    this.#bytes = new Uint8Array(this.#size * capacity);
    for (let i = 0; i < capacity; i++) this.#bytes.set(template, i * this.#size);
    this.#slots = new DataView(this.#bytes.buffer);
    this.#stamp = new Stamp(of);
  }

  add(targets: Endpoints, i: number, token: number, clock: number): void {
    const slot = this.length++;
    this.addresses[slot] = targets.address(i);
    this.ports[slot] = targets.ports[i];
    this.#stamp.write(this.#slots, slot * this.#size, token, clock);
  }

  /** The datagram in a slot. */
  datagram(slot: number): Uint8Array {
    return this.#bytes.subarray(slot * this.#size, (slot + 1) * this.#size);
  }

  clear(): void {
    this.length = 0;
  }
}

/** A conversation with one peer. */
export interface Link extends AsyncDisposable {
  /** What a stream has beyond datagrams; `undefined` where there are datagrams. */
  readonly stream?: StreamSide;
  /** Sends one datagram when it may leave; false when the system refused it. */
  send(datagram: Uint8Array): Promise<boolean>;
  /**
   * The next datagram of the peer, or the next bytes of a stream, in a copy of its own; `undefined`
   * when none comes in time, the stream has ended, or the link was disposed of.
   */
  next(timeoutMs: number): Promise<Uint8Array | undefined>;
}

/** What a link over a stream has beyond datagrams. */
export interface StreamSide {
  /** Why nothing more can come; `undefined` while something can. */
  readonly end: StreamEnd | undefined;
  /** Whether a connection has ever opened: where none has, no other will. */
  readonly opened: boolean;
  /** Hangs up: what is sent next goes over a new connection. */
  renew(): void;
}

/**
 * Why a connection did not open: the peer said no, a router said no, nobody said anything, we were
 * told to end, or the system has no descriptors or ports left.
 */
export type ConnectFailure = "refused" | "unreachable" | "timeout" | "cancelled" | "exhausted";

/**
 * Why a stream says no more: it never opened, the peer closed or reset it, the peer was too slow, or
 * it said too much.
 */
export type StreamEnd = ConnectFailure | "closed" | "reset" | "slow" | "flood";

/** An open connection. */
export interface Stream extends Disposable {
  /**
   * The next bytes, in a copy of its own; how it ended when none come. What a peer does is never
   * thrown. Only one call at a time; disposing of the stream ends it.
   */
  read(): Promise<Uint8Array | "closed" | "reset">;
  /** Writes all; false when the connection is gone. */
  write(bytes: Uint8Array): Promise<boolean>;
}

/** Opens connections. */
export interface Dialer {
  /** Connections that did not open or broke, by error code. */
  readonly errors: ReadonlyMap<string, number>;
  /**
   * Connects.
   *
   * @param signal Gives up: `"cancelled"`.
   * @returns The connection, or why there is none; what a peer does is never thrown.
   * @throws Deno.errors.NotCapable.
   */
  connect(to: Endpoint, signal: AbortSignal): Promise<Stream | ConnectFailure>;
}
