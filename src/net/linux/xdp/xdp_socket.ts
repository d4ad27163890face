/**
 * An AF_XDP socket of Linux, which sends Ethernet frames directly to a queue of the network card.
 * The card reads the frames from memory if its driver supports it, else the kernel copies them
 * once. It needs the capability CAP_NET_RAW, and no XDP program, because it receives nothing.
 *
 * Sizes and offsets in bytes, of x86-64 and arm64:
 *
 *     xdp_umem_reg 32      address 0 (8)  size 8 (8)  chunk 16 (4)  headroom 20 (4)  flags 24 (4)
 *     xdp_mmap_offsets 128 a ring of 32 each for rx 0  tx 32  fill 64  done 96:
 *                          producer 0 (8)  consumer 8 (8)  entries 16 (8)  flags 24 (8)
 *     sockaddr_xdp 16      family 0 (2)  flags 2 (2)  interface 4 (4)  queue 8 (4)  other 12 (4)
 *
 * @module
 */
import {
  AF_XDP,
  EBUSY,
  EINVAL,
  ENOBUFS,
  failure,
  int32,
  Libc,
  SOCK_CLOEXEC,
  SOCK_RAW,
} from "../ffi/libc.ts";
import { AREA, AREAS, DONE_SIZE, type RingMap, TX_SIZE, type XdpMemoryMap } from "./xdp_ring.ts";

const SOL_XDP = 283;
const XDP_MMAP_OFFSETS = 1;
const XDP_TX_RING = 3;
const XDP_UMEM_REG = 4;
const XDP_UMEM_FILL_RING = 5;
const XDP_UMEM_COMPLETION_RING = 6;
const XDP_OPTIONS = 8;
const XDP_MAX_TX_SKB_BUDGET = 9;
const TX_PAGE = 0x8000_0000n;
const DONE_PAGE = 0x1_8000_0000n;
const OFFSETS = 128;
const TX_OFFSETS = 32;
const DONE_OFFSETS = 96;
const DESCRIPTOR_SIZE = 16;
const ADDRESS_SIZE = 8;
/** Size of a chunk, bytes. A frame must not cross a chunk boundary. */
const CHUNK = 2048;
/** Requested number of frames per call, if the system supports it. */
const BUDGET = 256;
/** Entries of the fill ring, which the kernel requires even without receiving. */
const FILL_SIZE = 2;
const PROT_READ_WRITE = 3;
const MAP_SHARED_POPULATE = 0x8001;
const MAP_PRIVATE_ANONYMOUS = 0x22;
const NOT_MAPPED = 0xffff_ffff_ffff_ffffn;
/**
 * Attempts to bind, and their pause. A queue becomes free some milliseconds after its socket
 * closes.
 */
const BIND_TRIES = 50;
const BIND_WAIT_MS = 10;

/** An XDP socket on one queue of an interface. */
export class XdpSocket implements Disposable {
  /** The memory and rings of the socket. */
  readonly map: XdpMemoryMap;
  /** Whether the card reads the frames without a copy. */
  readonly isZeroCopy: boolean;
  readonly #libc = new Libc();
  readonly #socket: number;
  readonly #mapped: { at: bigint; size: number }[] = [];

  /**
   * Opens the socket.
   *
   * @param index Index of the interface.
   * @param queue Number of the queue, from 0.
   * @throws Deno.errors.PermissionDenied without CAP_NET_RAW; Error with the call that failed.
   */
  constructor(index: number, queue: number) {
    const { call } = this.#libc;
    this.#socket = call.socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    try {
      if (this.#socket < 0) throw failure(this.#libc, "open an XDP socket");
      const memory = this.#map(AREAS * AREA, MAP_PRIVATE_ANONYMOUS, -1, 0n);
      this.#register(memory);
      const rings = [[XDP_UMEM_FILL_RING, FILL_SIZE], [XDP_UMEM_COMPLETION_RING, DONE_SIZE]];
      for (const [option, size] of [...rings, [XDP_TX_RING, TX_SIZE]]) {
        this.#set(option, int32(size), "make the rings of an XDP socket");
      }
      // The number of frames per call can be set since Linux 6.17. Older versions send 32 per call.
      const { call } = this.#libc;
      call.setsockopt(this.#socket, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, int32(BUDGET), 4);
      const offsets = this.#get(XDP_MMAP_OFFSETS, OFFSETS);
      const tx = this.#ring(offsets, TX_OFFSETS, TX_SIZE * DESCRIPTOR_SIZE, TX_PAGE);
      const done = this.#ring(offsets, DONE_OFFSETS, DONE_SIZE * ADDRESS_SIZE, DONE_PAGE);
      this.#bind(index, queue);
      this.isZeroCopy = (this.#get(XDP_OPTIONS, 4).getUint32(0, true) & 1) !== 0;
      this.map = { socket: this.#socket, memory, tx, done };
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  #set(option: number, value: Uint8Array<ArrayBuffer>, what: string): void {
    const { call } = this.#libc;
    if (call.setsockopt(this.#socket, SOL_XDP, option, value, value.length) === 0) return;
    throw failure(this.#libc, what);
  }

  /** Reads an option; another size than expected means an unknown layout. */
  #get(option: number, size: number): DataView<ArrayBuffer> {
    const value = new Uint8Array(size);
    const length = int32(size);
    if (this.#libc.call.getsockopt(this.#socket, SOL_XDP, option, value, length) < 0) {
      throw failure(this.#libc, "read an option of an XDP socket");
    }
    if (new DataView(length.buffer).getUint32(0, true) !== size) {
      throw new Error("Cannot use the system's XDP sockets: the layout of an option is unknown");
    }
    return new DataView(value.buffer);
  }

  /** Registers the memory of frames with the kernel. */
  #register(memory: bigint): void {
    const value = new DataView(new ArrayBuffer(32));
    value.setBigUint64(0, memory, true);
    value.setBigUint64(8, BigInt(AREAS * AREA), true);
    value.setUint32(16, CHUNK, true);
    try {
      this.#set(XDP_UMEM_REG, new Uint8Array(value.buffer), "register memory for frames");
    } catch (error) {
      if (this.#libc.errno() !== ENOBUFS) throw error;
      throw new Error(`${(error as Error).message}: raise the limit of locked memory (ulimit -l)`);
    }
  }

  #ring(offsets: DataView, from: number, entriesSize: number, page: bigint): RingMap {
    const offset = (at: number) => Number(offsets.getBigUint64(from + at, true));
    const entries = offset(16);
    const size = entries + entriesSize;
    const at = this.#map(size, MAP_SHARED_POPULATE, this.#socket, page);
    return { at, size, producer: offset(0), consumer: offset(8), entries };
  }

  #map(size: number, flags: number, descriptor: number, offset: bigint): bigint {
    const { call } = this.#libc;
    const at = BigInt(call.mmap(0n, BigInt(size), PROT_READ_WRITE, flags, descriptor, offset));
    if (at === NOT_MAPPED) throw failure(this.#libc, "map memory for frames");
    this.#mapped.push({ at, size });
    return at;
  }

  /** Binds without flags. The kernel then copies frames only if the driver requires it. */
  #bind(index: number, queue: number): void {
    const { call } = this.#libc;
    const name = new Uint8Array(16);
    const view = new DataView(name.buffer);
    view.setUint16(0, AF_XDP, true);
    view.setUint32(4, index, true);
    view.setUint32(8, queue, true);
    for (let tries = 1;; tries++) {
      if (call.bind(this.#socket, name, name.length) === 0) return;
      const errno = this.#libc.errno();
      if (errno === EINVAL) throw new Error(`the interface has no send queue ${queue}`);
      if (errno !== EBUSY || tries === BIND_TRIES) {
        throw failure(this.#libc, `send from queue ${queue} by XDP`);
      }
      call.pollHere(int32(-1), 0n, BIND_WAIT_MS);
    }
  }

  /** Closes the socket; its rings must not be used afterwards. */
  [Symbol.dispose](): void {
    const { call } = this.#libc;
    if (this.#socket >= 0) call.close(this.#socket);
    for (const { at, size } of this.#mapped) call.munmap(at, BigInt(size));
    this.#libc[Symbol.dispose]();
  }
}
