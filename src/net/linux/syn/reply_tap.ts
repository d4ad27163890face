/**
 * A packet socket of Linux that receives the replies to SYN packets of one local endpoint, before the
 * firewall of this machine. It needs the capability CAP_NET_RAW.
 *
 *     sock_fprog 16   number of instructions 0 (2)  pointer to them 8 (8)
 *     tpacket_stats_v3 12   packets 0 (4)  drops 4 (4)  freezes of the queue 8 (4)
 *
 * @module
 */
import {
  AF_PACKET,
  failure,
  int32,
  type Libc,
  SO_ATTACH_FILTER,
  SO_ERROR,
  SOCK_CLOEXEC,
  SOCK_DGRAM,
  SOL_PACKET,
  SOL_SOCKET,
} from "../ffi/libc.ts";
import { addressOf } from "../ffi/mmsghdr.ts";
import { linkLayerAddress } from "../ffi/sockaddr_ll.ts";
import { mapPacketRing, type MappedRing, type PacketRing } from "./packet_ring.ts";
import { replyFilter } from "./reply_filter.ts";

const IPV4 = 0x0800;
const PACKET_STATISTICS = 6;
const PROGRAM = 16;
const PROGRAM_POINTER = 8;
const INSTRUCTION = 8;
const STATISTICS = 12;
const DROPS = 1;

/** The local endpoint of SYN packets, and its interface. */
export interface TappedEndpoint {
  /** The index of the interface. */
  readonly index: number;
  /** The local IPv4 address. */
  readonly address: number;
  /** The local port. */
  readonly port: number;
}

/** The packet socket with its ring. */
export class ReplyTap implements Disposable {
  /** The file descriptor. */
  readonly socket: number;
  readonly #mapped: MappedRing;
  readonly #statistics = new Uint32Array(STATISTICS / 4);
  readonly #statisticsSize = new Uint32Array(1);
  #dropped = 0;
  #isClosed = false;

  /**
   * Opens the socket. It receives nothing before its filter is set.
   *
   * @throws Deno.errors.PermissionDenied without CAP_NET_RAW; Error with the call that failed.
   */
  constructor(private readonly libc: Libc, { index, address, port }: TappedEndpoint) {
    const { call } = libc;
    // A packet socket of protocol 0 receives nothing. SOCK_DGRAM omits the Ethernet header.
    this.socket = call.socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (this.socket < 0) throw failure(libc, "open a packet socket");
    let mapped: MappedRing | undefined;
    try {
      attachFilter(libc, this.socket, replyFilter(address, port));
      mapped = this.#mapped = mapPacketRing(libc, this.socket);
      const name = linkLayerAddress(index, IPV4);
      if (call.bind(this.socket, name, name.length) < 0) {
        throw failure(libc, "bind a packet socket");
      }
    } catch (error) {
      mapped?.[Symbol.dispose]();
      call.close(this.socket);
      throw error;
    }
  }

  /** The received packets. They must not be read after the socket is closed. */
  get ring(): PacketRing {
    return this.#mapped.ring;
  }

  /** Bytes of packets that wait to be read. */
  get used(): number {
    return this.#isClosed ? 0 : this.ring.used;
  }

  /** Number of replies that were dropped, because the ring was full. */
  get dropped(): number {
    if (!this.#isClosed) this.#addDrops();
    return this.#dropped;
  }

  /** Adds the number that the system has counted since the last call. */
  #addDrops(): void {
    this.#statisticsSize[0] = STATISTICS;
    const [value, size] = [this.#statistics, this.#statisticsSize];
    if (this.libc.call.getsockopt(this.socket, SOL_PACKET, PACKET_STATISTICS, value, size) < 0) {
      throw failure(this.libc, "read an option of a socket");
    }
    this.#dropped += value[DROPS];
  }

  /** Removes and returns the error number of the socket, for example after the interface went down; 0: none. */
  takeError(): number {
    const value = new Int32Array(1);
    const size = int32(value.byteLength);
    this.libc.call.getsockopt(this.socket, SOL_SOCKET, SO_ERROR, value, size);
    return value[0];
  }

  /** Closes the socket. */
  [Symbol.dispose](): void {
    if (this.#isClosed) return;
    this.#addDrops();
    this.#isClosed = true;
    this.#mapped[Symbol.dispose]();
    this.libc.call.close(this.socket);
  }
}

/**
 * Sets the packet filter of a socket.
 *
 * @throws Error with the call that failed.
 */
export function attachFilter(
  libc: Libc,
  socket: number,
  instructions: Uint8Array<ArrayBuffer>,
): void {
  const program = new DataView(new ArrayBuffer(PROGRAM));
  program.setUint16(0, instructions.length / INSTRUCTION, true);
  program.setBigUint64(PROGRAM_POINTER, addressOf(instructions), true);
  const bytes = new Uint8Array(program.buffer);
  if (libc.call.setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, bytes, PROGRAM) < 0) {
    throw failure(libc, "set the filter of a packet socket");
  }
}
