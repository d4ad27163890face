/**
 * A UDP socket of Linux through FFI, once it is set up: batches out, batches in.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { Endpoints } from "../../core/endpoints.ts";
import { mostDatagramsIn, ReceiveDrain } from "../receive_drain.ts";
import {
  EAGAIN,
  EINTR,
  failure,
  int32,
  isFull,
  type Libc,
  MSG_DONTWAIT,
  POLLIN,
} from "./ffi/libc.ts";
import { MessageBatch } from "./batch/message_batch.ts";
import { MessageHeaders, readSockaddr, sockaddrSize, writeSockaddr } from "./ffi/mmsghdr.ts";
import { preparedMessages, sendMessages } from "./batch/transmit.ts";
import { BatchSender, countError } from "./batch_sender.ts";
import { TargetBatch } from "./batch/target_batch.ts";
import type { SendThread } from "./thread/send_thread.ts";
import { SocketMemory } from "./ffi/socket_memory.ts";
import {
  type DatagramReceiver,
  type DatagramSocket,
  noErrors,
  type ReceiverCapacity,
  type SocketErrors,
  type Template,
} from "../socket.ts";

/** Datagrams that are received at once. */
const ARRIVALS = 64;
/**
 * Room for each: more than UDP can carry, so that none is cut; and no whole number of pages, so
 * that they do not all fall on the same lines of the processor's caches.
 */
const DATAGRAM_SPACE = 65_536 + 64;
/** Calls for arrivals in a row before others have their turn: between two batches, and at a poll. */
const CALLS_BETWEEN_BATCHES = 4;
const CALLS_PER_POLL = 16;
/**
 * Datagrams between two looks of the receiver from which on it stays away: what has arrived is taken
 * between batches, and each datagram that leaves a socket costs the system more while somebody
 * waits for that socket (measured: 3 %).
 */
const BUSY_SENDS = 32;
/** How long it stays away at the most, where nothing arrives, and at first, milliseconds. */
const MOST_PAUSE_MS = 16;
/** How long a wait for datagrams lasts at the most, milliseconds. */
const POLL_MS = 50;
const LEAST_PAUSE_MS = 1;
/** How long the system may have no room for what we send before it counts as refused. */
const MOST_WAITS = 1000;

/** The socket. It owns the descriptors and the library that it is given. */
export class UdpSocket implements DatagramSocket<MessageBatch | TargetBatch> {
  readonly port: number;
  readonly receiveBuffer: number;
  readonly receivesWhileSending = true;
  readonly #arrivals: MessageHeaders;
  /** The address of a datagram that is sent alone. */
  readonly #name: Uint8Array<ArrayBuffer>;
  readonly #nameView: DataView;
  readonly #to = new Endpoints(1);
  readonly #memory: SocketMemory;
  #receiver: DatagramReceiver | undefined;
  #room: ReceiverCapacity | undefined;
  #receiving: Promise<void> = Promise.resolve();
  readonly #outlet: BatchSender;
  /** What ended receiving. */
  #failure: Error | undefined;
  #closed: Promise<void> | undefined;
  #dropped = 0;
  #comeBack = () => {};
  /** Datagrams that were to leave in batches since the receiver looked. */
  #sends = 0;
  /** Datagrams that arrived since then. */
  #arrived = 0;
  readonly #catchUp: ReceiveDrain;

  /**
   * Takes a socket that is bound.
   *
   * @param closing An event that wakes up whoever waits, when the socket is to be closed.
   * @param thread Sends the batches, where this thread is not to.
   * @param errors Where to count what goes wrong. Default: a place of its own.
   * @throws Error with the call that failed; then what was given is still the caller's.
   */
  constructor(
    private readonly libc: Libc,
    private readonly socket: number,
    private readonly closing: number,
    readonly family: 4 | 6,
    private readonly thread?: SendThread,
    readonly errors: SocketErrors = noErrors(),
  ) {
    this.#arrivals = new MessageHeaders({ count: ARRIVALS, family, payload: DATAGRAM_SPACE });
    this.#name = new Uint8Array(sockaddrSize(family));
    this.#nameView = new DataView(this.#name.buffer);
    if (libc.call.getsockname(socket, this.#name, int32(this.#name.length)) < 0) {
      throw failure(libc, "tell our own address");
    }
    this.port = readSockaddr(this.#nameView, 0).port;
    this.#memory = new SocketMemory(libc, socket);
    this.receiveBuffer = this.#memory.size;
    this.#catchUp = new ReceiveDrain(mostDatagramsIn(this.receiveBuffer));
    const transmit = sendMessages(libc);
    this.#outlet = new BatchSender({ libc, closing, thread, transmit, errors: this.errors });
    thread?.hold();
  }

  get dropped(): number {
    if (this.#closed === undefined) this.#dropped = this.#memory.dropped;
    return this.#dropped;
  }

  get receiveBufferUsed(): number {
    return this.#closed === undefined ? this.#memory.used : 0;
  }

  listen(receiver: DatagramReceiver, room?: ReceiverCapacity): Promise<void> {
    this.#receiver = receiver;
    this.#room = room;
    return this.#receiving = this.#receive();
  }

  async #receive(): Promise<void> {
    let away = LEAST_PAUSE_MS;
    while (this.#closed === undefined && this.#failure === undefined) {
      this.#drain(CALLS_PER_POLL);
      const full = this.#room?.();
      if (full !== undefined) {
        await full;
        continue;
      }
      const busy = this.#sends >= BUSY_SENDS;
      if (this.#arrived > 0) away = LEAST_PAUSE_MS;
      else away = Math.min(MOST_PAUSE_MS, 2 * away);
      this.#sends = this.#arrived = 0;
      await (busy ? this.#stayAway(away) : this.#poll());
    }
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Waits until something has arrived, or the socket is to be closed, or receiving has failed. */
  #poll(): Promise<number> {
    const wanted = new Int32Array(4);
    wanted[0] = this.socket;
    wanted[1] = POLLIN; // `events` in the low half, `revents` in the high one
    wanted[2] = this.closing;
    wanted[3] = POLLIN;
    return this.libc.call.poll(wanted, 2n, POLL_MS);
  }

  /** Waits so many milliseconds, or until the socket is to be closed, or receiving has failed. */
  #stayAway(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#comeBack = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #wake(): void {
    this.libc.call.eventfd_write(this.closing, 1n);
    this.#comeBack();
  }

  /** Hands on what is there, with so many calls at the most. */
  #drain(calls: number): void {
    if (this.#receiver === undefined || this.#failure !== undefined) return;
    const { libc, socket } = this;
    try {
      for (let left = calls; left > 0 && this.#closed === undefined; left--) {
        if (this.#room?.() !== undefined) return;
        const first = this.#arrivals.header(0);
        const count = libc.call.recvmmsg(socket, first, ARRIVALS, MSG_DONTWAIT, null);
        if (count < 0) return this.#miss(libc.errno());
        this.#arrived += count;
        this.#handOn(count, this.#receiver);
        this.#catchUp.delivered(count, count < ARRIVALS);
        if (count < ARRIVALS) return;
      }
    } catch (error) {
      this.#failure = error as Error;
      this.#catchUp.delivered(0, true);
      this.#wake();
    }
  }

  #miss(errno: number): void {
    if (errno === EAGAIN) this.#catchUp.delivered(0, true);
    else if (errno !== EINTR) countError(this.errors.receive, errno);
  }

  drained(): Promise<void> {
    const over = this.#closed !== undefined || this.#failure !== undefined;
    return over || this.#receiver === undefined ? Promise.resolve() : this.#catchUp.wait();
  }

  #handOn(count: number, receiver: DatagramReceiver): void {
    const arrivals = this.#arrivals;
    for (let i = 0; i < count; i++) {
      const from = readSockaddr(arrivals.view, arrivals.name(i));
      arrivals.reset(i);
      receiver(arrivals.received(i), from);
    }
  }

  async send(datagram: Uint8Array, to: Endpoint): Promise<boolean> {
    const { libc, socket } = this;
    const bytes = datagram as Uint8Array<ArrayBuffer>;
    for (let waits = 0; this.#closed === undefined; waits++) {
      this.#to.set(0, to); // each time: other sends may come between
      writeSockaddr(this.#nameView, 0, this.#to, 0);
      const size = BigInt(bytes.length);
      const name = this.#name;
      if (libc.call.sendto(socket, bytes, size, MSG_DONTWAIT, name, name.length) >= 0) return true;
      const errno = libc.errno();
      if (!isFull(errno) || waits >= MOST_WAITS) {
        countError(this.errors.send, errno);
        return false;
      }
      await this.#outlet.wait(errno, socket);
    }
    return false;
  }

  batch(template: Template, capacity: number): MessageBatch | TargetBatch {
    const { thread, family } = this;
    if (thread === undefined) return new MessageBatch(template, capacity, family);
    return new TargetBatch(template, capacity, family);
  }

  flush(batch: MessageBatch | TargetBatch, signal?: AbortSignal): number | Promise<number> {
    if (batch instanceof TargetBatch) return this.#flushTargets(batch, signal);
    const { messages, length } = batch;
    return this.flushMessages(messages, length, signal);
  }

  #flushTargets(targets: TargetBatch, signal?: AbortSignal): number | Promise<number> {
    if (targets.length === 0 || this.#closed !== undefined) return 0;
    const method = this.family === 4 ? "ipv4" : "ipv6";
    const sent = this.#outlet.send({ socket: this.socket, method, targets }, signal);
    this.receiveBetweenBatches(targets.length);
    return sent;
  }

  /** Sends the first of some messages: see {@linkcode flush}. */
  flushMessages(
    messages: MessageHeaders,
    length: number,
    signal?: AbortSignal,
  ): number | Promise<number> {
    if (length === 0 || this.#closed !== undefined) return 0;
    const sent = this.#outlet.flush(preparedMessages(this.socket, messages.base, length), signal);
    this.receiveBetweenBatches(length);
    return sent;
  }

  /** Notes that so many left just now, whoever sent them, and hands on what has arrived. */
  receiveBetweenBatches(sent: number): void {
    this.#sends += sent;
    this.#drain(CALLS_BETWEEN_BATCHES);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    void this.dropped; // the last time that it can be asked
    this.#wake();
    await this.#outlet.close();
    await Promise.allSettled([this.#receiving]); // whoever called listen() was told
    this.#catchUp.delivered(0, true);
    this.libc.call.close(this.socket);
    this.libc.call.close(this.closing);
    this.libc[Symbol.dispose]();
    await this.thread?.release();
  }
}
