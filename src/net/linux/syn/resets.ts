/**
 * RST packets for repeated SYN-ACKs. The system answers each SYN-ACK with a RST, because no connection of
 * its own belongs to it. A firewall of this machine may drop the SYN-ACK before that, or the RST. The
 * peer then repeats its SYN-ACK, and keeps a half-open connection for a minute.
 *
 *     TCP header   0 source port  2 destination port  4 sequence number: what the SYN-ACK acknowledges
 *                  8 acknowledgement 0  12 length 5 words  13 flags: RST  14 window 0  16 checksum  18 0
 *
 * @module
 */
import { Endpoints } from "../../../core/endpoints.ts";
import type { SendGate } from "../../send_gate.ts";
import type { Template } from "../../socket.ts";
import { FrameBatch, framedAddresses, type FrameRoute, isFramed } from "../batch/frame_batch.ts";
import { TargetBatch } from "../batch/target_batch.ts";
import type { FrameSender } from "../frame_socket.ts";
import type { AddressesBehindGateway } from "../netlink/routing_table.ts";
import type { ReplyPacket } from "./reply_packet.ts";

const RESET: Template = {
  template: Uint8Array.fromHex("00000000" + "00000000" + "00000000" + "50040000" + "00000000"),
  tokenAt: 4,
  transport: "tcp",
};

/** What RST packets are sent with. */
export interface ResetDependencies {
  readonly sender: FrameSender;
  readonly route: FrameRoute;
  /** The source port of the SYN packets. */
  readonly port: number;
  /** The gate of the SYN packets. Default: none. */
  readonly gate?: SendGate;
  /** Called when sending has failed: the interface is gone. */
  readonly onFailure: (error: Error) => void;
}

/** Sends at most one RST packet for each SYN-ACK that arrives. */
export class Resets {
  readonly #behind: AddressesBehindGateway | undefined;
  readonly #batch: FrameBatch | TargetBatch;
  readonly #target = new Endpoints(1);
  #isSending = false;

  /** @param most Maximum number of SYN-ACKs between two calls of {@linkcode flush}. */
  constructor(private readonly dependencies: ResetDependencies, most: number) {
    const { sender, route } = dependencies;
    this.#behind = framedAddresses(route, RESET);
    this.#batch = sender.thread === undefined
      ? new FrameBatch(route, this.#behind, RESET, most)
      : new TargetBatch(RESET, most, 4);
  }

  /**
   * Prepares a RST packet for a SYN-ACK that is repeated. While earlier ones are being sent, it prepares
   * none: the peer repeats its SYN-ACK again.
   */
  add({ address, port, token }: ReplyPacket): void {
    if (this.#isSending) return;
    this.#target.ipv4[0] = address;
    this.#target.ports[0] = port;
    if (!isFramed(this.#behind, this.#target, 0)) return;
    this.#batch.add(this.#target, 0, token + 1 | 0, 0);
  }

  /** Sends the prepared packets, unless the gate is closed. */
  flush(): void {
    const batch = this.#batch;
    if (this.#isSending || batch.length === 0) return;
    const sent = this.dependencies.gate?.isOpen() === false ? 0 : this.#send();
    if (typeof sent === "number") batch.clear();
    else void this.#finish(sent);
  }

  #send(): number | Promise<number> {
    const { sender, port } = this.dependencies;
    const batch = this.#batch;
    if (batch instanceof TargetBatch) return sender.send(batch, port);
    batch.frames.finish(batch.framedCount, port);
    return sender.flush(batch);
  }

  async #finish(sent: Promise<number>): Promise<void> {
    this.#isSending = true;
    try {
      await sent;
      this.#batch.clear();
      this.#isSending = false;
    } catch (error) {
      this.dependencies.onFailure(error as Error);
    }
  }
}
