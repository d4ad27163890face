/**
 * Sending frames of our own on Linux, by AF_XDP: straight to a queue of the network card, from
 * memory that the card reads itself where its driver can, else through one copy. It needs the
 * capability CAP_NET_RAW, and no program in the kernel, for nothing is received.
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
/** Frames may lie anywhere in a chunk, not across two. */
const CHUNK = 2048;
/** Frames that one call takes, where the system lets us choose. */
const BUDGET = 256;
/** Nothing is received, but the kernel wants the ring. */
const FILL_SIZE = 2;
const PROT_READ_WRITE = 3;
const MAP_SHARED_POPULATE = 0x8001;
const MAP_PRIVATE_ANONYMOUS = 0x22;
const NOT_MAPPED = 0xffff_ffff_ffff_ffffn;
/** A queue is free some milliseconds after its last owner closed it. */
const BIND_TRIES = 50;
const BIND_WAIT_MS = 10;

/** A socket on one queue of an interface. */
export class XdpSocket implements Disposable {
  /** Where its memory and rings are. */
  readonly map: XdpMemoryMap;
  /** Whether the card reads the frames where they are. */
  readonly isZeroCopy: boolean;
  readonly #libc = new Libc();
  readonly #socket: number;
  readonly #mapped: { at: bigint; size: number }[] = [];

  /**
   * Opens it.
   *
   * @param index The interface's index.
   * @param queue The queue, from 0.
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
      // How many a call takes, since Linux 6.17; else it is 32, and more calls do the same.
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

  /** Asks for an option; its size shows whether the layout is the one that we know. */
  #get(option: number, size: number): DataView<ArrayBuffer> {
    const value = new Uint8Array(size);
    const length = int32(size);
    if (this.#libc.call.getsockopt(this.#socket, SOL_XDP, option, value, length) < 0) {
      throw failure(this.#libc, "ask an XDP socket how it is");
    }
    if (new DataView(length.buffer).getUint32(0, true) !== size) {
      throw new Error("Cannot use the system's XDP sockets: their layout is not the one we know");
    }
    return new DataView(value.buffer);
  }

  /** Tells the kernel which memory holds the frames. */
  #register(memory: bigint): void {
    const value = new DataView(new ArrayBuffer(32));
    value.setBigUint64(0, memory, true);
    value.setBigUint64(8, BigInt(AREAS * AREA), true);
    value.setUint32(16, CHUNK, true);
    try {
      this.#set(XDP_UMEM_REG, new Uint8Array(value.buffer), "register memory for frames");
    } catch (error) {
      if (this.#libc.errno() !== ENOBUFS) throw error;
      throw new Error(`${(error as Error).message}: more may have to be locked (ulimit -l)`);
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

  /** Without flags the kernel copies only where the driver cannot do without. */
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
      if (errno === EINVAL) throw new Error(`the interface has no queue ${queue} to send from`);
      if (errno !== EBUSY || tries === BIND_TRIES) {
        throw failure(this.#libc, `send from queue ${queue} by XDP`);
      }
      call.pollHere(int32(-1), 0n, BIND_WAIT_MS);
    }
  }

  /** Closes it: nobody may use its rings any longer. */
  [Symbol.dispose](): void {
    const { call } = this.#libc;
    if (this.#socket >= 0) call.close(this.#socket);
    for (const { at, size } of this.#mapped) call.munmap(at, BigInt(size));
    this.#libc[Symbol.dispose]();
  }
}
