/**
 * A UDP socket that sends its batches as Ethernet frames and receives replies through the system.
 * Targets that are not behind the gateway, and single datagrams, are sent through the system too.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { FrameBatch, framedAddresses, type FrameRoute } from "./batch/frame_batch.ts";
import { FrameTargetBatch, type TargetBatch } from "./batch/target_batch.ts";
import type { SendThread } from "./thread/send_thread.ts";
import type {
  DatagramReceiver,
  DatagramSocket,
  ReceiverCapacity,
  SocketErrors,
  Template,
} from "../socket.ts";
import type { SendGate } from "../send_gate.ts";
import type { UdpSocket } from "./udp_socket.ts";

/** A sender of frames on one interface, shared by sockets. */
export interface FrameSender {
  /** Error counts, which its sockets share. */
  readonly errors: SocketErrors;
  readonly isClosed: boolean;
  /** The sender thread that writes and sends frames. Default: this thread. */
  readonly thread?: SendThread;
  /** Sends the frames of a batch on this thread, like `flush` of a socket. */
  flush(batch: FrameBatch, signal?: AbortSignal): number | Promise<number>;
  /** Sends frames with a source port through the sender thread. */
  send(targets: TargetBatch, port: number, signal?: AbortSignal): Promise<number>;
  /** Registers a socket that sends through it. */
  hold(): void;
  /** Unregisters a socket; the sender closes with the last one. */
  release(): Promise<void>;
}

/** A UDP socket that sends frames. It owns the UDP socket that receives. */
export class FrameSocket implements DatagramSocket<FrameBatch | FrameTargetBatch> {
  readonly family = 4;
  readonly receivesWhileSending = true;
  #closed: Promise<void> | undefined;

  /**
   * Wraps a bound UDP socket.
   *
   * @param udp The socket that receives, and that sends datagrams without frames.
   * @param sender The sender of frames, shared by sockets.
   */
  constructor(
    private readonly udp: UdpSocket,
    private readonly sender: FrameSender,
    private readonly route: FrameRoute,
  ) {
    sender.hold();
  }

  get gate(): SendGate | undefined {
    return this.udp.gate;
  }

  get errors(): SocketErrors {
    return this.udp.errors;
  }

  get thread(): SendThread | undefined {
    return this.sender.thread;
  }

  get port(): number {
    return this.udp.port;
  }

  get receiveBuffer(): number {
    return this.udp.receiveBuffer;
  }

  get dropped(): number {
    return this.udp.dropped;
  }

  get receiveBufferUsed(): number {
    return this.udp.receiveBufferUsed;
  }

  listen(receiver: DatagramReceiver, capacity?: ReceiverCapacity): Promise<void> {
    return this.udp.listen(receiver, capacity);
  }

  drained(): Promise<void> {
    return this.udp.drained();
  }

  send(datagram: Uint8Array, to: Endpoint): Promise<boolean> {
    return this.udp.send(datagram, to);
  }

  batch(of: Template, capacity: number): FrameBatch | FrameTargetBatch {
    const behind = framedAddresses(this.route, of);
    if (this.sender.thread === undefined) return new FrameBatch(this.route, behind, of, capacity);
    return new FrameTargetBatch(behind, of, capacity);
  }

  flush(batch: FrameBatch | FrameTargetBatch, signal?: AbortSignal): number | Promise<number> {
    if (this.#closed !== undefined) return 0;
    if (batch instanceof FrameTargetBatch) return this.#flushTargets(batch, signal);
    const { frames, framedCount, plain, plainCount } = batch;
    frames.finish(framedCount, this.port);
    const sent = framedCount === 0 ? 0 : this.sender.flush(batch, signal);
    this.udp.receiveBetweenBatches(framedCount);
    if (plainCount === 0) return sent;
    return this.#addCounts(sent, this.udp.flushMessages(plain, plainCount, signal));
  }

  #flushTargets(
    { framed, plain }: FrameTargetBatch,
    signal?: AbortSignal,
  ): number | Promise<number> {
    const sent = framed.length === 0 ? 0 : this.sender.send(framed, this.port, signal);
    this.udp.receiveBetweenBatches(framed.length);
    return this.#addCounts(sent, this.udp.flush(plain, signal));
  }

  #addCounts(sent: number | Promise<number>, others: number | Promise<number>) {
    if (others === 0) return sent;
    if (typeof sent === "number" && typeof others === "number") return sent + others;
    return this.#sum(sent, others);
  }

  async #sum(...parts: (number | Promise<number>)[]): Promise<number> {
    const [sent, others] = await Promise.all(parts);
    return sent + others;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    await this.udp[Symbol.asyncDispose]();
    await this.sender.release();
  }
}
