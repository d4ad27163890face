/**
 * A bound UDP socket of Linux through FFI, which sends and receives in batches.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { Endpoints } from "../../core/endpoints.ts";
import { maxDatagramsIn } from "../receive_drain.ts";
import {
  countError,
  EAGAIN,
  EINTR,
  failure,
  int32,
  isFull,
  type Libc,
  MSG_DONTWAIT,
} from "./ffi/libc.ts";
import { MessageBatch } from "./batch/message_batch.ts";
import { MessageHeaders, readSockaddr, sockaddrSize, writeSockaddr } from "./ffi/mmsghdr.ts";
import { preparedMessages, sendMessages } from "./batch/transmit.ts";
import { BatchSender } from "./batch_sender.ts";
import { type Arrivals, ReceiveLoop } from "./receive_loop.ts";
import { TargetBatch } from "./batch/target_batch.ts";
import type { SendThread } from "./thread/send_thread.ts";
import type { SendGate } from "../send_gate.ts";
import { SocketMemory } from "./ffi/socket_memory.ts";
import {
  type DatagramReceiver,
  type DatagramSocket,
  noErrors,
  type ReceiverCapacity,
  type SocketErrors,
  type Template,
} from "../socket.ts";

/** Maximum number of datagrams of one receive call. */
const ARRIVALS = 64;
/**
 * Buffer space per datagram, bytes. It exceeds the largest UDP datagram, so none is cut. It is not
 * a multiple of the page size, because buffers would then compete for the same cache lines.
 */
const DATAGRAM_SPACE = 65_536 + 64;
/** Maximum number of waits for send buffer space, after which a datagram counts as refused. */
const MAX_WAITS = 1000;

/** A UDP socket. It owns the descriptors and the library that it is given. */
export class UdpSocket implements DatagramSocket<MessageBatch | TargetBatch>, Arrivals {
  readonly port: number;
  readonly receiveBuffer: number;
  readonly receivesWhileSending = true;
  /** Whether the receive buffer was empty after the last call. */
  isEmpty = false;
  readonly #arrivals: MessageHeaders;
  /** The socket address of a single datagram. */
  readonly #name: Uint8Array<ArrayBuffer>;
  readonly #nameView: DataView;
  readonly #to = new Endpoints(1);
  readonly #memory: SocketMemory;
  #receiver: DatagramReceiver | undefined;
  readonly #loop: ReceiveLoop;
  readonly #sender: BatchSender;
  #closed: Promise<void> | undefined;
  #dropped = 0;

  /**
   * Takes ownership of a bound socket.
   *
   * @param socket Its file descriptor.
   * @param closing An eventfd that ends all waits when the socket is being closed.
   * @param thread The sender thread for batches. Default: the calling thread sends.
   * @param errors The error counts to add to. Default: counts of its own.
   * @param gate The gate of its datagrams. Default: none.
   * @throws Error with the call that failed; ownership then stays with the caller.
   */
  constructor(
    private readonly libc: Libc,
    readonly socket: number,
    private readonly closing: number,
    readonly family: 4 | 6,
    readonly thread?: SendThread,
    readonly errors: SocketErrors = noErrors(),
    readonly gate?: SendGate,
  ) {
    this.#arrivals = new MessageHeaders({ count: ARRIVALS, family, payload: DATAGRAM_SPACE });
    this.#name = new Uint8Array(sockaddrSize(family));
    this.#nameView = new DataView(this.#name.buffer);
    if (libc.call.getsockname(socket, this.#name, int32(this.#name.length)) < 0) {
      throw failure(libc, "get the local address");
    }
    this.port = readSockaddr(this.#nameView, 0).port;
    this.#memory = new SocketMemory(libc, socket);
    this.receiveBuffer = this.#memory.size;
    const most = maxDatagramsIn(this.receiveBuffer);
    this.#loop = new ReceiveLoop({ libc, socket, closing, arrivals: this, most });
    const transmit = sendMessages(libc);
    this.#sender = new BatchSender({ libc, closing, thread, transmit, errors: this.errors, gate });
    thread?.hold(this);
  }

  get dropped(): number {
    if (this.#closed === undefined) this.#dropped = this.#memory.dropped;
    return this.#dropped;
  }

  get receiveBufferUsed(): number {
    return this.#closed === undefined ? this.#memory.used : 0;
  }

  listen(receiver: DatagramReceiver, capacity?: ReceiverCapacity): Promise<void> {
    this.#receiver = receiver;
    return this.#loop.listen(capacity);
  }

  /** Receives pending datagrams with one system call, and delivers them. */
  deliver(): number {
    const { libc, socket } = this;
    const count = libc.call.recvmmsg(
      socket,
      this.#arrivals.header(0),
      ARRIVALS,
      MSG_DONTWAIT,
      null,
    );
    const errno = count < 0 ? libc.errno() : 0;
    this.isEmpty = errno === EAGAIN || count >= 0 && count < ARRIVALS;
    if (count >= 0) this.#deliver(count, this.#receiver!);
    else if (errno !== EAGAIN && errno !== EINTR) countError(this.errors.receive, errno);
    return Math.max(0, count);
  }

  drained(): Promise<void> {
    return this.#loop.drained();
  }

  #deliver(count: number, receiver: DatagramReceiver): void {
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
      if (this.gate?.isOpen() === false) {
        this.gate.keptBack++;
        return false;
      }
      this.#to.set(0, to); // written again after a wait, because other sends use the same memory
      writeSockaddr(this.#nameView, 0, this.#to, 0);
      const size = BigInt(bytes.length);
      const name = this.#name;
      if (libc.call.sendto(socket, bytes, size, MSG_DONTWAIT, name, name.length) >= 0) return true;
      const errno = libc.errno();
      if (!isFull(errno) || waits >= MAX_WAITS) {
        countError(this.errors.send, errno);
        return false;
      }
      await this.#sender.wait(errno, socket);
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
    const sent = this.#sender.send({ socket: this.socket, method, targets }, signal);
    this.receiveBetweenBatches(targets.length);
    return sent;
  }

  /** Sends the first `length` messages, as {@linkcode flush} sends a batch. */
  flushMessages(
    messages: MessageHeaders,
    length: number,
    signal?: AbortSignal,
  ): number | Promise<number> {
    if (length === 0 || this.#closed !== undefined) return 0;
    const sent = this.#sender.flush(preparedMessages(this.socket, messages.base, length), signal);
    this.receiveBetweenBatches(length);
    return sent;
  }

  /** Counts datagrams that any sender sent for this socket, and delivers arrived ones. */
  receiveBetweenBatches(sent: number): void {
    this.#loop.receiveBetweenBatches(sent);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    void this.dropped; // the getter stores the number, which cannot be read from a closed socket
    const received = this.#loop.close();
    await this.#sender.close();
    await this.thread?.idle();
    await received;
    this.libc.call.close(this.socket);
    this.libc.call.close(this.closing);
    this.libc[Symbol.dispose]();
    await this.thread?.release(this);
  }
}
