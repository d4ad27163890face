/**
 * The network contracts between engines, the sweep and inspection. They deal in bytes and
 * endpoints, and are independent of protocols.
 *
 * @module
 */
import type { Address, Endpoint } from "../core/address.ts";
import type { Endpoints } from "../core/endpoints.ts";
import type { TlsRequest } from "../protocols/protocol.ts";
import type { HostFilterMemory } from "../targets/host_filter.ts";
import type { SpaceData } from "../targets/space.ts";
import type { SendGate } from "./send_gate.ts";
import type { StreamEnd } from "./stream.ts";

export type * from "./stream.ts";

/** Error counts of a socket, by error code. */
export interface SocketErrors {
  /** Datagrams that the system refused to send. */
  readonly send: Map<string, number>;
  /**
   * Errors of receiving, for example after an ICMP message of a peer (on Windows: ConnectionReset).
   */
  readonly receive: Map<string, number>;
  /** Times that sending had to wait: the card's queue was full, or the interface was down. */
  readonly waits: Map<string, number>;
}

/** Error counts without any error. */
export function noErrors(): SocketErrors {
  return { send: new Map(), receive: new Map(), waits: new Map() };
}

/**
 * Called for each datagram that arrives.
 *
 * @param datagram A view into the socket's buffer, valid until the call returns.
 * @param from The sender.
 */
export type DatagramReceiver = (datagram: Uint8Array, from: Endpoint) => void;

/**
 * Whether a receiver accepts the next datagram: `undefined`, or a promise that settles when it
 * does.
 */
export type ReceiverCapacity = () => Promise<void> | undefined;

/** A socket that sends the probes of a sweep. `B` is the type of its engine's batches. */
export interface ProbeSocket<B extends Batch = Batch> extends AsyncDisposable {
  /** The address family of the socket. */
  readonly family: 4 | 6;
  /** Whether {@linkcode flush} itself also delivers arrived datagrams. Default: false. */
  readonly receivesWhileSending?: boolean;
  /** Size of the receive buffer, bytes as the system counts. */
  readonly receiveBuffer: number;
  /**
   * Received datagrams that the system dropped: the buffer was full, or the checksum wrong. 0 if the
   * system does not report it.
   */
  readonly dropped: number;
  /** Bytes in use in the receive buffer, as the system counts, if it reports them. */
  readonly receiveBufferUsed?: number;
  /** Error counts. Sockets with a common sender share them. */
  readonly errors: SocketErrors;
  /**
   * The sender thread of its batches. Default: the calling thread sends.
   *
   * @internal
   */
  readonly thread?: TargetThread;
  /**
   * The gate of its datagrams. While the gate is closed, nothing is sent: `send` returns false,
   * `flush` returns fewer, and the gate's `keptBack` grows. The caller waits and sends again. Default:
   * there is no gate.
   */
  readonly gate?: SendGate;
  /**
   * Resolves when every datagram that has arrived so far was delivered, or the socket is disposed
   * of.
   */
  drained(): Promise<void>;
  /**
   * Creates a batch, which any socket of the same engine and family can send.
   *
   * @param template The datagram.
   * @param capacity Maximum number of targets in the batch, up to {@linkcode MAX_IN_BATCH}.
   */
  batch(template: Template, capacity: number): B;
  /**
   * Sends a batch. It may deliver arrived datagrams meanwhile.
   *
   * @param signal Cancels waiting for an interface that is down, or until another connection may begin.
   * @returns Number of datagrams that the system accepted; a promise if it did not accept all at
   * once. The promise rejects when the interface is gone, or is down after the signal has aborted.
   */
  flush(batch: B, signal?: AbortSignal): number | Promise<number>;
}

/** A UDP socket. */
export interface DatagramSocket<B extends Batch = Batch> extends ProbeSocket<B> {
  /** The local port, 1 to 65535. */
  readonly port: number;
  /**
   * Delivers every arriving datagram to the receiver.
   *
   * @param capacity While it returns a promise, datagrams stay in the receive buffer until the
   * promise settles. Default: the receiver accepts every datagram.
   * @returns Resolves when the socket is disposed of; rejects when the socket or the receiver
   * fails.
   */
  listen(receiver: DatagramReceiver, capacity?: ReceiverCapacity): Promise<void>;
  /**
   * Sends one datagram.
   *
   * @returns Whether the system accepted it; if not, it is counted in `errors`, or in the gate's
   * `keptBack`.
   */
  send(datagram: Uint8Array, to: Endpoint): Promise<boolean>;
}

/** Maximum number of targets in a batch. */
export const MAX_IN_BATCH = 256;

/** A datagram whose copies differ by a token and a time: 32 bits each, big endian. */
export interface Template {
  /** The datagram, with token and time zero. */
  readonly template: Uint8Array;
  /** Offset of the token, bytes. Default: the datagram contains none. */
  readonly tokenAt?: number;
  /** Whether the token is text of eight hexadecimal digits. Default: false, four bytes. */
  readonly tokenText?: boolean;
  /** Offset of the time, bytes. Default: the datagram contains none. */
  readonly clockAt?: number;
  /** `"tcp"`: a TCP header without payload, in place of a datagram. Default: a datagram. */
  readonly transport?: "tcp";
}

/** Writes token and time into copies of a datagram. */
export class Stamp {
  readonly #tokenAt: number;
  readonly #isText: boolean;
  readonly #clockAt: number;

  /** Takes the offsets from a template. */
  constructor({ tokenAt = -1, tokenText = false, clockAt = -1 }: Template) {
    this.#tokenAt = tokenAt;
    this.#isText = tokenText;
    this.#clockAt = clockAt;
  }

  /**
   * Writes token and time into a copy.
   *
   * @param at Offset of the copy in `slots`.
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

  /** Sets token and time to zero. */
  clear(slots: DataView, at: number): void {
    if (this.#tokenAt >= 0) slots.setUint32(at + this.#tokenAt, 0);
    if (this.#tokenAt >= 0 && this.#isText) slots.setUint32(at + this.#tokenAt + 4, 0);
    if (this.#clockAt >= 0) slots.setUint32(at + this.#clockAt, 0);
  }

  /** The sum of the 16-bit words of token and time in a copy, not folded: an integer below 2^19. */
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
 * Formats 16 bits as four hexadecimal digits in lower case, one byte each, big endian.
 *
 * The four digits are spread over the bytes of a word. Adding 6 sets bit 4 in the bytes above 9.
 * These bytes get the offset of the letters, `a` - 10 - `0` = 39. No byte overflows, so the four
 * bytes are converted at once.
 */
function hexDigits(bits: number): number {
  const spread = (bits & 0xf000) << 12 | (bits & 0xf00) << 8 | (bits & 0xf0) << 4 | bits & 0xf;
  const isLetter = spread + 0x06060606 >>> 4 & 0x01010101;
  return spread + 0x30303030 + Math.imul(isLetter, 39) | 0;
}

/** The sum of the 16-bit words of four bytes; at an odd offset the bytes span three words. */
function sumOfWord(bytes: number, at: number): number {
  return (at & 1) === 0
    ? (bytes >>> 16) + (bytes & 0xffff)
    : (bytes >>> 24) + (bytes >>> 8 & 0xff) + ((bytes >>> 16 & 0xff) + (bytes & 0xff) << 8);
}

/** Copies of one datagram for many targets; only token, time and address differ. */
export interface Batch {
  /** Number of targets in the batch. */
  readonly length: number;
  /**
   * Adds a target.
   *
   * @param targets A list of endpoints.
   * @param i Index of the target in the list.
   * @param token The token of the datagram.
   * @param clock The time of the call, microseconds modulo 2^32. A sender thread adds the time that
   * the target waits.
   */
  add(targets: Endpoints, i: number, token: number, clock: number): void;
  /** Removes all targets from the batch. */
  clear(): void;
}

/** A batch for engines that send one datagram at a time. */
export class DatagramBatch implements Batch {
  length = 0;
  /** The address of each target. */
  readonly addresses: Address[] = [];
  /** The port of each target. */
  readonly ports: number[] = [];
  readonly #size: number;
  readonly #bytes: Uint8Array;
  readonly #slots: DataView;
  readonly #stamp: Stamp;

  /**
   * Creates the copies.
   *
   * @param of The datagram.
   * @param capacity Maximum number of targets in the batch.
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

/** Maximum number of positions in a block: seven batches. */
export const MAX_IN_BLOCK = 1792;

/** A pass over a target space, as plain data for a worker. */
export interface ThreadPass {
  /** The targets in their order. */
  readonly space: SpaceData;
  /** The datagram of its probes. */
  readonly template: Template;
  /** The key of tokens, 8 bytes. */
  readonly key: Uint8Array;
  /** Number of the kind of probe, which is part of the token, 0 to 255. */
  readonly kind: number;
  /** The bits of the token that the probe contains. */
  readonly macMask: number;
  /** The addresses that may have to be skipped. */
  readonly filter: HostFilterMemory;
  /** Maximum number of datagrams per system call, which one socket sends. */
  readonly batchSize: number;
}

/** The outcome of a block. */
export interface SentBlock {
  /** Number of probes that the system accepted. */
  readonly sent: number;
  /**
   * Positions whose targets may have to be skipped, ascending, counted from the start of the block.
   * No probe was sent to them: the caller decides.
   */
  readonly left: ArrayLike<number>;
  /** Number of positions that were visited: fewer than all only after the signal. */
  readonly visited: number;
}

/**
 * A sender thread that computes its targets. The main thread passes blocks of positions to it, and
 * does no work per target.
 */
export interface TargetThread {
  /** Number of pending jobs. */
  readonly pending: number;
  /** Begins a pass. Blocks that are sent later belong to it. */
  begin(pass: ThreadPass): void;
  /**
   * Sends probes to the targets at consecutive positions, apart from those in the filter.
   *
   * @param from The first position.
   * @param count Number of positions, 1 to {@linkcode MAX_IN_BLOCK}.
   * @param stamp The time of the call, microseconds modulo 2^32, of which the stamps are counted.
   * @param errors Gets the errors of the system.
   * @param signal Ends the block early, and the wait for an interface that is down.
   * @returns Resolves when the probes are sent; rejects when the thread or the interface has failed.
   */
  sendBlock(
    from: number,
    count: number,
    stamp: number,
    errors: SocketErrors,
    signal?: AbortSignal,
  ): Promise<SentBlock>;
}

/** The channel to one peer: sends and receives datagrams over UDP, or bytes over TCP. */
export interface Link extends AsyncDisposable {
  /** The properties of a stream; `undefined` for a link over UDP. */
  readonly stream?: StreamSide;
  /** Sends one datagram once the throttle allows it; false when the system refuses it. */
  send(datagram: Uint8Array): Promise<boolean>;
  /**
   * The next datagram of the peer, or the next bytes of a stream, as a copy. `undefined` when none
   * arrives in time, the stream has ended, or the link is disposed of.
   */
  next(timeoutMs: number): Promise<Uint8Array | undefined>;
}

/** The properties of a link over a stream. */
export interface StreamSide {
  /** Why the stream has ended; `undefined` while it is open. */
  readonly end: StreamEnd | undefined;
  /** Whether a connection has ever opened; if none has, a further attempt is useless. */
  readonly opened: boolean;
  /**
   * Closes the connection; the next `send` opens a new one.
   *
   * @param tls Encrypts the new connection. Default: it is not encrypted.
   */
  renew(tls?: TlsRequest): void;
}
