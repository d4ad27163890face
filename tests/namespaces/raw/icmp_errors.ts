/** ICMP errors in reply to SYN packets. */
import { linkLayerAddress } from "../../../src/net/linux/ffi/sockaddr_ll.ts";
import {
  AF_INET,
  AF_PACKET,
  failure,
  Libc,
  MSG_DONTWAIT,
  SOCK_DGRAM,
  SOCK_RAW,
} from "../../../src/net/linux/ffi/libc.ts";
import { icmp } from "../../net/linux/syn/packets.ts";
import { indexOf } from "./place.ts";

const ETH_P_IP = 0x0800;
const IPPROTO_ICMP = 1;

/** Replies to the SYN packets that arrive at an interface. */
export class IcmpErrors implements Disposable {
  readonly #libc = new Libc();
  readonly #received: number;
  readonly #replies: number;

  constructor(name: string) {
    const { call } = this.#libc;
    const protocol = ETH_P_IP >> 8 | (ETH_P_IP & 255) << 8;
    this.#received = call.socket(AF_PACKET, SOCK_DGRAM, protocol);
    this.#replies = call.socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    const interfaceName = linkLayerAddress(indexOf(name), ETH_P_IP);
    if (call.bind(this.#received, interfaceName, interfaceName.length) < 0) {
      throw failure(this.#libc, "bind a packet socket");
    }
  }

  /** Replies to all packets that have arrived, "unreachable" with a code. Returns their number. */
  reply(code: number): number {
    const { call } = this.#libc;
    const packet = new Uint8Array(2048);
    for (let count = 0;; count++) {
      const size = call.recv(this.#received, packet, BigInt(packet.length), MSG_DONTWAIT);
      if (size < 0n) return count;
      const message = icmp(3, packet.subarray(0, 28));
      message[1] = code;
      new DataView(message.buffer).setUint16(2, checksum(message));
      const to = new Uint8Array(16);
      new DataView(to.buffer).setUint16(0, AF_INET, true);
      to.set(packet.subarray(12, 16), 4);
      const length = BigInt(message.length);
      if (call.sendto(this.#replies, message, length, 0, to, to.length) < 0n) {
        throw failure(this.#libc, "send an ICMP message");
      }
    }
  }

  [Symbol.dispose](): void {
    this.#libc.call.close(this.#received);
    this.#libc.call.close(this.#replies);
    this.#libc[Symbol.dispose]();
  }
}

/** The Internet checksum of an even number of bytes. */
function checksum({ buffer }: Uint8Array<ArrayBuffer>): number {
  const view = new DataView(buffer);
  let sum = 0;
  for (let at = 0; at < buffer.byteLength; at += 2) sum += view.getUint16(at);
  return ~(sum % 0xffff) & 0xffff;
}
