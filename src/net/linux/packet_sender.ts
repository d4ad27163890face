/**
 * Sending frames of our own on Linux, by AF_PACKET: past routes, sockets, queues and the firewall,
 * batch by batch. It needs the capability CAP_NET_RAW.
 *
 * @module
 */
import {
  AF_PACKET,
  EFD_CLOEXEC,
  failure,
  int32,
  Libc,
  PACKET_QDISC_BYPASS,
  SOCK_CLOEXEC,
  SOCK_RAW,
  SOL_PACKET,
} from "./ffi/libc.ts";
import type { FrameBatch } from "./batch/frame_batch.ts";
import { preparedMessages, sendMessages } from "./batch/transmit.ts";
import { BatchSender } from "./batch_sender.ts";
import { linkLayerAddress } from "./ffi/sockaddr_ll.ts";
import type { FrameSender } from "./frame_socket.ts";
import type { TargetBatch } from "./batch/target_batch.ts";
import type { SendThread } from "./thread/send_thread.ts";
import { noErrors, type SocketErrors } from "../socket.ts";

/** A socket that sends frames on one interface. It closes with the last socket that uses it. */
export class PacketSender implements FrameSender {
  readonly #libc: Libc;
  readonly #socket: number;
  readonly #closing: number;
  readonly #outlet: BatchSender;
  readonly errors: SocketErrors = noErrors();
  #users = 0;
  #isClosed = false;

  /**
   * Opens it.
   *
   * @param index The interface's index.
   * @param thread Sends. Default: the thread that fills batches.
   * @throws Error with the call that failed.
   */
  constructor(index: number, readonly thread?: SendThread) {
    const libc = this.#libc = new Libc();
    const { call } = libc;
    const opened: number[] = [];
    const own = (descriptor: number, what: string) => {
      if (descriptor < 0) throw failure(libc, what);
      opened.push(descriptor);
      return descriptor;
    };
    try {
      // Of protocol 0 nothing is received.
      const socket = own(
        call.socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0),
        "open a packet socket",
      );
      this.#socket = socket;
      this.#closing = own(call.eventfd(0, EFD_CLOEXEC), "open an event");
      if (call.setsockopt(socket, SOL_PACKET, PACKET_QDISC_BYPASS, int32(1), 4) < 0) {
        throw failure(libc, "send past the queues");
      }
      const name = linkLayerAddress(index, 0);
      if (call.bind(socket, name, name.length) < 0) throw failure(libc, "bind a packet socket");
      checkName(libc, socket, name);
    } catch (error) {
      opened.forEach((one) => call.close(one));
      libc[Symbol.dispose]();
      throw error;
    }
    const parts = { libc, closing: this.#closing, thread, errors: this.errors };
    this.#outlet = new BatchSender({ ...parts, transmit: sendMessages(libc) });
    thread?.hold();
  }

  send(targets: TargetBatch, port: number, signal?: AbortSignal): Promise<number> {
    return this.#outlet.send({ socket: this.#socket, method: "packet", targets, port }, signal);
  }

  flush({ framed, framedCount }: FrameBatch, signal?: AbortSignal): number | Promise<number> {
    return this.#outlet.flush(
      preparedMessages(this.#socket, framed.base, framedCount, true),
      signal,
    );
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  hold(): void {
    this.#users++;
  }

  async release(): Promise<void> {
    if (--this.#users > 0) return;
    this.#isClosed = true;
    const { call } = this.#libc;
    call.eventfd_write(this.#closing, 1n);
    await this.#outlet.close();
    call.close(this.#socket);
    call.close(this.#closing);
    this.#libc[Symbol.dispose]();
    await this.thread?.release();
  }
}

/** Looks whether the system understood the address as it was meant: the layout is the one we know. */
function checkName(libc: Libc, socket: number, meant: Uint8Array): void {
  const name = new Uint8Array(meant.length);
  const isKnown = libc.call.getsockname(socket, name, int32(name.length)) === 0;
  const INDEX = [4, 8] as const;
  if (isKnown && name.subarray(...INDEX).toHex() === meant.subarray(...INDEX).toHex()) return;
  throw new Error("Cannot use the system's packet sockets: their layout is not the one we know");
}
