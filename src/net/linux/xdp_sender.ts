/**
 * Sends Ethernet frames on Linux by AF_XDP.
 *
 * @module
 */
import type { FrameBatch } from "./batch/frame_batch.ts";
import { EFD_CLOEXEC, failure, Libc } from "./ffi/libc.ts";
import { BatchSender } from "./batch_sender.ts";
import type { FrameSender } from "./frame_socket.ts";
import type { TargetBatch } from "./batch/target_batch.ts";
import type { SendThread } from "./thread/send_thread.ts";
import type { SendGate } from "../send_gate.ts";
import { noErrors, type SocketErrors } from "../socket.ts";
import type { XdpSocket } from "./xdp/xdp_socket.ts";
import { XdpRing } from "./xdp/xdp_ring.ts";

/**
 * A sender of frames on one queue of a network card. It closes with the last socket that uses it.
 */
export class XdpSender implements FrameSender {
  readonly errors: SocketErrors = noErrors();
  readonly #libc = new Libc();
  readonly #closing: number;
  readonly #sender: BatchSender;
  #users = 0;
  #isClosed = false;

  /**
   * Takes ownership of an XDP socket.
   *
   * @param thread The sender thread, started with the socket's memory map. Default: this thread.
   * @param gate The gate of frames that this thread sends. Default: none.
   * @throws Error with the call that failed.
   */
  constructor(
    private readonly socket: XdpSocket,
    readonly thread?: SendThread,
    gate?: SendGate,
  ) {
    const libc = this.#libc;
    this.#closing = libc.call.eventfd(0, EFD_CLOEXEC);
    if (this.#closing < 0) throw failure(libc, "open an event");
    const dependencies = { libc, closing: this.#closing, thread, errors: this.errors, gate };
    const ring = thread === undefined ? new XdpRing(libc, socket.map) : undefined;
    const transmit: XdpRing["transmit"] = (batch, from) => ring!.transmit(batch, from);
    this.#sender = new BatchSender({ ...dependencies, transmit });
    thread?.holdFrames(socket.map.socket);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  send(targets: TargetBatch, port: number, signal?: AbortSignal): Promise<number> {
    const { socket } = this.socket.map;
    return this.#sender.send({ socket, method: "xdp", targets, port }, signal);
  }

  flush(batch: FrameBatch, signal?: AbortSignal): number | Promise<number> {
    return this.#sender.flush(batch.frameLoad(this.socket.map.socket), signal);
  }

  hold(): void {
    this.#users++;
  }

  async release(): Promise<void> {
    if (--this.#users > 0) return;
    this.#isClosed = true;
    this.#libc.call.eventfd_write(this.#closing, 1n);
    await this.#sender.close();
    this.#libc.call.close(this.#closing);
    this.#libc[Symbol.dispose]();
    await this.thread?.release();
    this.socket[Symbol.dispose]();
  }
}
