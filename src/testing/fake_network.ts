/**
 * A network in one process, with a simulated clock. A seed determines which datagrams are delayed, lost,
 * duplicated and reordered. A simulated hour takes only as long as the computation of its events.
 */
import {
  type Address,
  type Endpoint,
  endpointKey,
  family,
  formatEndpoint,
} from "../core/address.ts";
import {
  drawDelays,
  type Faults,
  NO_FAULTS,
  Random,
  type Responder,
  type WitnessLine,
} from "../fleet/mod.ts";
import { USUAL_RECEIVE_BUFFER } from "../net/deno/mod.ts";
import {
  DatagramBatch,
  type DatagramReceiver,
  type DatagramSocket,
  noErrors,
  type ReceiverCapacity,
  type SendGate,
  type SocketErrors,
  type Template,
} from "../net/mod.ts";
import type { Clock } from "../net/clock.ts";
import { setImmediate, setTimeout } from "node:timers";

/** Turns of the event loop, without an event, in which the program's promises are settled. */
const IDLE_TURNS = 100;
/**
 * Further turns of a real millisecond or more, in which operations on files proceed. A disk can be busy
 * for seconds.
 */
const IDLE_WAITS = 30_000;

interface Event {
  readonly at: number;
  readonly number: number;
  readonly run: () => void;
}

/** A datagram that was sent. */
export interface Sent {
  /** Time of sending, milliseconds of the network's clock. */
  readonly at: number;
  /** The local endpoint of the socket that sent the datagram. */
  readonly from: Endpoint;
  /** The endpoint that the datagram was sent to. */
  readonly to: Endpoint;
  /** A copy of its bytes. */
  readonly bytes: Uint8Array;
}

/**
 * A network of simulated hosts, and its clock. The clock stands still until {@linkcode
 * FakeNetwork.run} advances it from event to event.
 */
export class FakeNetwork implements Clock {
  /** Datagrams that the program's sockets sent, if `record` is true. */
  readonly sent: Sent[] = [];
  /** Datagrams that hosts received or sent, for `audit()`, if `record` is true. */
  readonly lines: WitnessLine[] = [];
  /**
   * Whether datagrams are recorded in `sent` and `lines`.
   *
   * @default false
   */
  record = false;
  /** Number of datagrams that the program's sockets sent. */
  count = 0;
  /**
   * Capacity of the receive buffers of the program's sockets, datagrams, and how many datagrams are
   * read from each per millisecond. Default: unlimited.
   */
  buffers: { readonly datagrams: number; readonly perMs: number } | undefined;
  /** Number of datagrams that were dropped for lack of buffer space. */
  overflowed = 0;
  /** Broadcast and multicast addresses, which reach all hosts. */
  readonly broadcasts: Address[] = [];
  readonly #endpoints: Endpoint[] = [];
  #time = 1000;
  #number = 0;
  /** Number of operations for which the clock stands still. */
  #held = 0;
  readonly #heap: Event[] = [];
  readonly #hosts = new Map<number | bigint, Responder>();
  /** The program's sockets, by port. Each port has at most one socket. */
  readonly #sockets = new Map<number, FakeSocket>();
  readonly #random: Random;
  /** How long {@link run} waits without an event, real milliseconds. */
  idleWaits: number = IDLE_WAITS;
  #port = 40000;

  /**
   * Creates a network without hosts.
   *
   * @param seed Seed of delays and losses. Equal seeds give equal delays and losses.
   * @param faults Loss, delay and other faults of datagrams. Default: none.
   */
  constructor(seed: number, readonly faults: Faults = NO_FAULTS) {
    this.#random = new Random(seed);
  }

  now(): number {
    return this.#time;
  }

  wall(): number {
    return 1.8e12 + Math.floor(this.#time);
  }

  after(ms: number, callback: () => void): () => void {
    let run = callback;
    this.#push(this.#time + Math.max(0, ms), () => run());
    return () => run = () => {};
  }

  yieldToEvents(): Promise<void> {
    return new Promise((resolve) => this.#push(this.#time + 0.02, resolve));
  }

  pollSockets(): Promise<void> {
    return this.yieldToEvents();
  }

  /** Places a responder on an endpoint. */
  host(endpoint: Endpoint, responder: Responder): void {
    this.#hosts.set(endpointKey(endpoint), responder);
    this.#endpoints.push({ ...endpoint });
  }

  /** Opens a socket of the program, on a local address. */
  open(
    bits: 4 | 6,
    address: Address = bits === 4 ? 0x7f000001 : 1n,
    gate?: SendGate,
  ): DatagramSocket {
    const local = { address, port: this.#port++ };
    const socket = new FakeSocket(this, local, gate);
    this.#sockets.set(local.port, socket);
    return socket;
  }

  /** The ports of the program's open sockets. */
  get ports(): number[] {
    return [...this.#sockets.keys()];
  }

  /** Closes a socket of the program. Later datagrams to this socket are lost. */
  close(local: Endpoint): void {
    this.#sockets.delete(local.port);
  }

  /** Delivers a datagram to a socket of the program, as if `from` had sent it. */
  inject(from: Endpoint, to: { port: number }, bytes: Uint8Array, delay = 0): void {
    this.#push(this.#time + delay, () => this.#sockets.get(to.port)?.receive(bytes, from));
  }

  /**
   * Sends a datagram from a socket of the program to a host, or to all hosts if it is a broadcast.
   */
  transmit(from: Endpoint, to: Endpoint, bytes: Uint8Array): void {
    this.count++;
    if (this.record) this.sent.push({ at: this.#time, from, to: { ...to }, bytes: bytes.slice() });
    if (this.broadcasts.includes(to.address)) {
      for (const peer of this.#endpoints) {
        if (peer.port === to.port) this.#deliver(from, peer, bytes, true);
      }
    } else {
      this.#deliver(from, { ...to }, bytes);
    }
  }

  /**
   * @param toAll Whether the datagram was broadcast.
   */
  #deliver(from: Endpoint, peer: Endpoint, bytes: Uint8Array, toAll = false): void {
    const host = this.#hosts.get(endpointKey(peer));
    if (host === undefined) return;
    const copy = bytes.slice();
    for (const delay of drawDelays(this.faults, this.#random)) {
      this.#push(this.#time + delay, () => {
        if (!toAll) this.#note("in", peer, from, copy, false);
        for (const reply of host.respond(copy, from, this.#time)) {
          const delays = drawDelays(this.faults, this.#random);
          this.#note("out", peer, from, reply, delays.length === 0);
          for (const back of delays) this.inject(peer, from, reply, back);
        }
      });
    }
  }

  #note(way: WitnessLine["way"], at: Endpoint, from: Endpoint, bytes: Uint8Array, lost: boolean) {
    if (!this.record) return;
    const [host, peer] = [formatEndpoint(at), formatEndpoint(from)];
    const hex = bytes.subarray(0, 64).toHex();
    this.lines.push({ at: this.#time, way, host, peer, lost, hex, size: bytes.length });
  }

  /** Waits for an operation outside of the network. The clock stands still meanwhile. */
  async hold<T>(operation: Promise<T>): Promise<T> {
    this.#held++;
    return await operation.finally(() => this.#held--);
  }

  /**
   * Advances the clock until the promise settles. When no event is left, the clock stands still while
   * operations outside of the network proceed, for example on files. Fails when no event is added and
   * the promise is not settled for `idleWaits` milliseconds of real time.
   */
  async run<T>(promise: Promise<T>): Promise<T> {
    let settled = false;
    const done = () => settled = true;
    promise.then(done, done);
    let idle = 0;
    while (!settled) {
      await new Promise<void>((resolve) =>
        idle < IDLE_TURNS ? setImmediate(resolve) : setTimeout(resolve, 1)
      );
      if (settled) break;
      if (this.#held > 0) continue;
      const event = this.#pop();
      if (event === undefined) {
        if (++idle <= IDLE_TURNS + this.idleWaits) continue;
        throw new Error("the network is idle, but an operation is pending");
      }
      idle = 0;
      this.#time = event.at;
      event.run();
      while (this.#heap[0]?.at === this.#time) this.#pop()!.run();
    }
    return await promise;
  }

  #push(at: number, run: () => void): void {
    const heap = this.#heap;
    heap.push({ at, number: this.#number++, run });
    for (let i = heap.length - 1; i > 0;) {
      const parent = i - 1 >> 1;
      if (!before(heap[i], heap[parent])) break;
      [heap[i], heap[parent]] = [heap[parent], heap[i]];
      i = parent;
    }
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    heap[0] = last;
    for (let i = 0;;) {
      const [left, right] = [2 * i + 1, 2 * i + 2];
      const least = right < heap.length && before(heap[right], heap[left]) ? right : left;
      if (least >= heap.length || !before(heap[least], heap[i])) break;
      [heap[i], heap[least]] = [heap[least], heap[i]];
      i = least;
    }
    return first;
  }
}

function before(a: Event, b: Event): boolean {
  return a.at < b.at || a.at === b.at && a.number < b.number;
}

class FakeSocket implements DatagramSocket<DatagramBatch> {
  readonly receiveBuffer = USUAL_RECEIVE_BUFFER;
  readonly dropped = 0;
  readonly errors: SocketErrors = noErrors();
  #receiver: DatagramReceiver | undefined;
  #room: ReceiverCapacity | undefined;
  /** Arrived datagrams that were not delivered yet. */
  readonly #held: [bytes: Uint8Array, from: Endpoint][] = [];
  #closed: (() => void) | undefined;

  constructor(
    private readonly network: FakeNetwork,
    private readonly local: Endpoint,
    readonly gate?: SendGate,
  ) {}

  get family(): 4 | 6 {
    return family(this.local.address);
  }

  get port(): number {
    return this.local.port;
  }

  listen(receiver: DatagramReceiver, room?: ReceiverCapacity): Promise<void> {
    this.#receiver = receiver;
    this.#room = room;
    return new Promise((resolve) => this.#closed = resolve);
  }

  async drained(): Promise<void> {
    while (this.#held.length > 0) await new Promise<void>((done) => this.network.after(1, done));
  }

  receive(bytes: Uint8Array, from: Endpoint): void {
    if (this.#held.length >= (this.network.buffers?.datagrams ?? Infinity)) {
      this.network.overflowed++;
      return;
    }
    this.#held.push([bytes.slice(), from]);
    if (this.#held.length > 1) return;
    const { perMs } = this.network.buffers ?? {};
    if (perMs === undefined) this.#handOn();
    else this.network.after(1 / perMs, () => this.#handOn());
  }

  /** Delivers arrived datagrams while the receive buffer has space. */
  #handOn(): void {
    while (this.#held.length > 0) {
      const full = this.#room?.();
      if (full !== undefined) return void full.then(() => this.#handOn());
      // All datagrams share one buffer, as in a real socket. A view of the buffer changes with the
      // next datagram.
      const [buffer, from] = this.#held[0];
      this.#receiver?.(buffer, from);
      buffer.fill(0xee);
      this.#held.shift();
      const { perMs } = this.network.buffers ?? {};
      if (perMs !== undefined && this.#held.length > 0) {
        return void this.network.after(1 / perMs, () => this.#handOn());
      }
    }
  }

  send(datagram: Uint8Array, to: Endpoint): Promise<boolean> {
    return Promise.resolve(this.#transmit(datagram, to));
  }

  #transmit(datagram: Uint8Array, to: Endpoint): boolean {
    if (this.gate?.isOpen() === false) {
      this.gate.keptBack++;
      return false;
    }
    this.network.transmit(this.local, to, datagram);
    return true;
  }

  batch(template: Template, capacity: number): DatagramBatch {
    return new DatagramBatch(template, capacity);
  }

  flush(batch: DatagramBatch): Promise<number> {
    const { length, addresses, ports } = batch;
    let sent = 0;
    for (let slot = 0; slot < length; slot++) {
      const to = { address: addresses[slot], port: ports[slot] };
      if (this.#transmit(batch.datagram(slot), to)) sent++;
    }
    return Promise.resolve(sent);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.network.close(this.local);
    this.#closed?.();
    return Promise.resolve();
  }
}
