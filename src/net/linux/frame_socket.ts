/**
 * A UDP socket whose batches leave as frames of our own, and whose answers come as ever. Targets
 * that are not behind the gateway, and datagrams that are sent alone, leave through the system.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { FrameBatch } from "./batch/frame_batch.ts";
import { type FrameAddresses, HEADERS } from "./batch/ethernet_frames.ts";
import { AddressesBehindGateway } from "./netlink/routing_table.ts";
import { FrameTargetBatch, type TargetBatch } from "./batch/target_batch.ts";
import type { SendThread } from "./thread/send_thread.ts";
import type {
  DatagramReceiver,
  DatagramSocket,
  ReceiverCapacity,
  SocketErrors,
  Template,
} from "../socket.ts";
import type { UdpSocket } from "./udp_socket.ts";
import type { Uplink } from "./netlink/uplink.ts";

/** Bytes of a frame before what the MTU counts. */
const ETHERNET = 14;

/** Sends frames. */
export interface FrameSender {
  /** What went wrong: its sockets count there too. */
  readonly errors: SocketErrors;
  /** Whether it is closed. */
  readonly isClosed: boolean;
  /** Writes and sends frames, where ours is not to. */
  readonly thread?: SendThread;
  /** Sends the frames of a batch, on this thread: as `flush` of a socket. */
  flush(batch: FrameBatch, signal?: AbortSignal): number | Promise<number>;
  /** Has frames from one of our ports written and sent by the other thread. */
  send(targets: TargetBatch, port: number, signal?: AbortSignal): Promise<number>;
  /** Notes one more socket that sends through it. */
  hold(): void;
  /** Notes that a socket is closed; closes with the last one. */
  release(): Promise<void>;
}

/** Where frames go, with all that is written into them. */
export interface FrameRoute extends FrameAddresses, Pick<Uplink, "ranges"> {
  /** The largest datagram of IP that fits into a frame, bytes. */
  readonly mtu: number;
}

/** The socket. It owns the UDP socket. */
export class FrameSocket implements DatagramSocket<FrameBatch | FrameTargetBatch> {
  readonly family = 4;
  readonly receivesWhileSending = true;
  readonly #behind: AddressesBehindGateway;
  #closed: Promise<void> | undefined;

  /**
   * Takes a socket that is bound.
   *
   * @param udp Receives, and sends what is not in frames.
   * @param sender Sends the frames; sockets share it.
   */
  constructor(
    private readonly udp: UdpSocket,
    private readonly sender: FrameSender,
    private readonly route: FrameRoute,
  ) {
    this.#behind = new AddressesBehindGateway(route.ranges);
    sender.hold();
  }

  get errors(): SocketErrors {
    return this.udp.errors;
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

  listen(receiver: DatagramReceiver, room?: ReceiverCapacity): Promise<void> {
    return this.udp.listen(receiver, room);
  }

  drained(): Promise<void> {
    return this.udp.drained();
  }

  send(datagram: Uint8Array, to: Endpoint): Promise<boolean> {
    return this.udp.send(datagram, to);
  }

  batch(of: Template, capacity: number): FrameBatch | FrameTargetBatch {
    const fits = of.template.length + HEADERS <= this.route.mtu + ETHERNET;
    const behind = fits ? this.#behind : undefined;
    if (this.sender.thread === undefined) return new FrameBatch(this.route, behind, of, capacity);
    return new FrameTargetBatch(behind, of, capacity);
  }

  flush(batch: FrameBatch | FrameTargetBatch, signal?: AbortSignal): number | Promise<number> {
    if (this.#closed !== undefined) return 0;
    if (batch instanceof FrameTargetBatch) return this.#flushRows(batch, signal);
    const { frames, framedCount, plain, plainCount } = batch;
    frames.finish(framedCount, this.port);
    const sent = framedCount === 0 ? 0 : this.sender.flush(batch, signal);
    this.udp.receiveBetweenBatches(framedCount);
    if (plainCount === 0) return sent;
    return this.#both(sent, this.udp.flushMessages(plain, plainCount, signal));
  }

  #flushRows({ framed, plain }: FrameTargetBatch, signal?: AbortSignal): number | Promise<number> {
    const sent = framed.length === 0 ? 0 : this.sender.send(framed, this.port, signal);
    this.udp.receiveBetweenBatches(framed.length);
    return this.#both(sent, this.udp.flush(plain, signal));
  }

  #both(sent: number | Promise<number>, others: number | Promise<number>) {
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
