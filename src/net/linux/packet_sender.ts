/**
 * Sends Ethernet frames on Linux by AF_PACKET, in batches. Frames bypass routes, sockets, queueing
 * disciplines and the firewall. It needs the capability CAP_NET_RAW.
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
import type { SendGate } from "../send_gate.ts";
import { noErrors, type SocketErrors } from "../socket.ts";

/**
 * A packet socket that sends frames on one interface. It closes with the last socket that uses it.
 */
export class PacketSender implements FrameSender {
  readonly #libc: Libc;
  readonly #socket: number;
  readonly #closing: number;
  readonly #sender: BatchSender;
  readonly errors: SocketErrors = noErrors();
  #users = 0;
  #isClosed = false;

  /**
   * Opens the packet socket.
   *
   * @param index The index of the interface.
   * @param thread The sender thread. Default: the calling thread sends.
   * @param gate The gate of frames that the calling thread sends. Default: none.
   * @throws Error with the call that failed.
   */
  constructor(index: number, readonly thread?: SendThread, gate?: SendGate) {
    const libc = this.#libc = new Libc();
    const { call } = libc;
    const opened: number[] = [];
    const own = (descriptor: number, what: string) => {
      if (descriptor < 0) throw failure(libc, what);
      opened.push(descriptor);
      return descriptor;
    };
    try {
      // A packet socket of protocol 0 receives nothing.
      const socket = own(
        call.socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0),
        "open a packet socket",
      );
      this.#socket = socket;
      this.#closing = own(call.eventfd(0, EFD_CLOEXEC), "open an event");
      if (call.setsockopt(socket, SOL_PACKET, PACKET_QDISC_BYPASS, int32(1), 4) < 0) {
        throw failure(libc, "bypass the queueing disciplines");
      }
      const name = linkLayerAddress(index, 0);
      if (call.bind(socket, name, name.length) < 0) throw failure(libc, "bind a packet socket");
      checkAddressLayout(libc, socket, name);
    } catch (error) {
      opened.forEach((one) => call.close(one));
      libc[Symbol.dispose]();
      throw error;
    }
    const dependencies = { libc, closing: this.#closing, thread, errors: this.errors, gate };
    this.#sender = new BatchSender({ ...dependencies, transmit: sendMessages(libc) });
    thread?.holdFrames(this.#socket);
  }

  send(targets: TargetBatch, port: number, signal?: AbortSignal): Promise<number> {
    return this.#sender.send({ socket: this.#socket, method: "packet", targets, port }, signal);
  }

  flush({ framed, framedCount }: FrameBatch, signal?: AbortSignal): number | Promise<number> {
    return this.#sender.flush(
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
    await this.#sender.close();
    call.close(this.#socket);
    call.close(this.#closing);
    this.#libc[Symbol.dispose]();
    await this.thread?.release();
  }
}

/** Checks that the system uses the layout of socket addresses in sockaddr_ll.ts. */
function checkAddressLayout(libc: Libc, socket: number, expected: Uint8Array): void {
  const name = new Uint8Array(expected.length);
  const isKnown = libc.call.getsockname(socket, name, int32(name.length)) === 0;
  const INDEX = [4, 8] as const;
  if (isKnown && name.subarray(...INDEX).toHex() === expected.subarray(...INDEX).toHex()) return;
  throw new Error(
    "Cannot use the system's packet sockets: the layout of their addresses is unknown",
  );
}
