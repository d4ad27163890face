/**
 * A UDP socket whose batches leave as frames of our own, and whose answers come as ever. Targets
 * that are not behind the gateway, and datagrams that are sent alone, leave through the system.
 *
 * @module
 */
import type { Endpoint } from "../address.ts";
import { FrameBatch } from "./frame_batch.ts";
import { type FrameEnds, HEADERS } from "./frames.ts";
import { Behind } from "./routes.ts";
import type { Batch, DatagramReceiver, DatagramSocket, Room, SocketErrors } from "./socket.ts";
import type { UdpSocket } from "./udp_socket.ts";
import type { Uplink } from "./uplink.ts";

/** Bytes of a frame before what the MTU counts. */
const ETHERNET = 14;

/** Sends frames. */
export interface FrameOutlet {
  /** What went wrong: its sockets count there too. */
  readonly errors: SocketErrors;
  /** Whether it is closed. */
  readonly isClosed: boolean;
  /** Sends the frames of a batch: as `flush` of a socket. */
  flush(batch: FrameBatch, signal?: AbortSignal): number | Promise<number>;
  /** Notes one more socket that sends through it. */
  hold(): void;
  /** Notes that a socket is closed; closes with the last one. */
  release(): Promise<void>;
}

/** Where frames go, with all that is written into them. */
export interface FrameRoute extends FrameEnds, Pick<Uplink, "stretches"> {
  /** The largest datagram of IP that fits into a frame, bytes. */
  readonly mtu: number;
}

/** The socket. It owns the UDP socket. */
export class RawSocket implements DatagramSocket {
  readonly family = 4;
  readonly hearsWhileSending = true;
  readonly #behind: Behind;
  #closed: Promise<void> | undefined;

  /**
   * Takes a socket that is bound.
   *
   * @param udp Receives, and sends what is not in frames.
   * @param outlet Sends the frames; sockets share it.
   */
  constructor(
    private readonly udp: UdpSocket,
    private readonly outlet: FrameOutlet,
    private readonly route: FrameRoute,
  ) {
    this.#behind = new Behind(route.stretches);
    outlet.hold();
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

  listen(receiver: DatagramReceiver, room?: Room): Promise<void> {
    return this.udp.listen(receiver, room);
  }

  caughtUp(): Promise<void> {
    return this.udp.caughtUp();
  }

  send(datagram: Uint8Array, to: Endpoint): Promise<boolean> {
    return this.udp.send(datagram, to);
  }

  batch(template: Uint8Array, capacity: number): Batch {
    const fits = template.length + HEADERS <= this.route.mtu + ETHERNET;
    return new FrameBatch(this.route, fits ? this.#behind : undefined, template, capacity);
  }

  flush(batch: Batch, signal?: AbortSignal): number | Promise<number> {
    const { frames, framedCount, plain, plainCount } = batch as FrameBatch;
    if (this.#closed !== undefined) return 0;
    frames.finish(framedCount, this.port);
    const sent = framedCount === 0 ? 0 : this.outlet.flush(batch as FrameBatch, signal);
    this.udp.beside(framedCount);
    if (plainCount === 0) return sent;
    const others = this.udp.flushMessages(plain, plainCount, signal);
    if (typeof sent === "number" && typeof others === "number") return sent + others;
    return this.#both(sent, others);
  }

  async #both(...parts: (number | Promise<number>)[]): Promise<number> {
    const [sent, others] = await Promise.all(parts);
    return sent + others;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#closed ??= this.#close();
  }

  async #close(): Promise<void> {
    await this.udp[Symbol.asyncDispose]();
    await this.outlet.release();
  }
}
