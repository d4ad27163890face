/**
 * The contracts of the network: what engines offer, and what the sweep and inspection use. Bytes
 * and endpoints; nothing here knows a protocol.
 *
 * @module
 */
import type { Address, Endpoint } from "../address.ts";
import type { Endpoints } from "../endpoints.ts";

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
export type Room = () => Promise<void> | undefined;

/** A UDP socket. */
export interface DatagramSocket extends AsyncDisposable {
  /** The family of its addresses. */
  readonly family: 4 | 6;
  /** Its own port. */
  readonly port: number;
  /** Whether what has arrived is handed on at each {@linkcode flush}, and needs no turn. Default: no. */
  readonly hearsWhileSending?: boolean;
  /** What datagrams may take up that have arrived and not been read, bytes as the system counts. */
  readonly receiveBuffer: number;
  /** Datagrams that found no room there, where the system tells; else 0. */
  readonly dropped: number;
  /** What went wrong so far. Sockets that send through one outlet count together. */
  readonly errors: SocketErrors;
  /**
   * Hands every datagram that arrives to the receiver.
   *
   * @param room While it gives a promise, datagrams wait in the system's buffer, until that settles.
   * Default: there is always room for the next.
   * @returns Resolves when the socket was disposed of; rejects when it fails, or the receiver does.
   */
  listen(receiver: DatagramReceiver, room?: Room): Promise<void>;
  /** Resolves when all that has arrived by now was handed on, or the socket was disposed of. */
  caughtUp(): Promise<void>;
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
   * @param capacity How many targets fit in.
   */
  batch(template: Uint8Array, capacity: number): Batch;
  /**
   * Sends a batch. What has arrived may be handed on meanwhile.
   *
   * @param signal Ends waiting for an interface that is down, where the engine waits for that.
   * @returns How many of it the system took; a promise where it did not take them at once. It
   * rejects when the rest of it waits for a network that is gone, or that nobody waits for.
   */
  flush(batch: Batch, signal?: AbortSignal): number | Promise<number>;
}

/** Copies of one datagram for many targets: only what differs is written per target. */
export interface Batch {
  /** All copies, one after the other, somewhere in here. */
  readonly slots: DataView;
  /** How many are in use. */
  readonly length: number;
  /** Takes the next slot for a target of a row and returns where it starts in `slots`. */
  add(targets: Endpoints, i: number): number;
  /** Empties it. */
  clear(): void;
}

/** A batch of engines that send datagram by datagram. */
export class DatagramBatch implements Batch {
  readonly slots: DataView;
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
  constructor(private readonly template: Uint8Array, capacity: number) {
    this.#bytes = new Uint8Array(template.length * capacity);
    for (let i = 0; i < capacity; i++) this.#bytes.set(template, i * template.length);
    this.slots = new DataView(this.#bytes.buffer);
  }

  add(targets: Endpoints, i: number): number {
    const slot = this.length++;
    this.addresses[slot] = targets.address(i);
    this.ports[slot] = targets.ports[i];
    return slot * this.template.length;
  }

  /** The datagram in a slot. */
  datagram(slot: number): Uint8Array {
    const size = this.template.length;
    return this.#bytes.subarray(slot * size, (slot + 1) * size);
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
export type ConnectFailure = "refused" | "unreachable" | "silent" | "cancelled" | "exhausted";

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
