/**
 * The receive ring of a packet socket (TPACKET_V3): blocks of memory that the kernel fills with packets,
 * and passes to this program when they are full or a millisecond old.
 *
 * Sizes and offsets in bytes:
 *
 *     tpacket_req3 28   block size 0  blocks 4  frame size 8  frames 12  timeout, ms 16  private 20  features 24
 *     block             status 8 (4)  packets 12 (4)  offset of the first one 16 (4)  bytes in use 20 (4)
 *     tpacket3_hdr 48   offset of the next packet 0 (4)  bytes that were kept 12 (4)
 *                       offset of the IP header 26 (2)
 *
 * @module
 */
import { EAGAIN, ENOMEM, failure, int32, type Libc, SOL_PACKET } from "../ffi/libc.ts";

const PACKET_RX_RING = 5;
const PACKET_VERSION = 10;
const TPACKET_V3 = 2;
const REQUEST = 28;
const BLOCK = 1 << 20;
/** Number of blocks to try, the first one first: memory may be scarce. */
const BLOCKS = [64, 16, 4];
const FRAME = 2048;
const TIMEOUT_MS = 1;
const PROT_READ_WRITE = 3;
const MAP_SHARED = 1;
const NOT_MAPPED = 0xffff_ffff_ffff_ffffn;

const STATUS = 8;
const PACKETS = 12;
const FIRST = 16;
const USED = 20;
/** Bit of the status: the block belongs to this program. */
const IS_OURS = 1;
const NEXT = 0;
const KEPT = 12;
const IP = 26;

export interface PacketRingMap {
  readonly memory: ArrayBuffer;
  /** Size of a block, bytes. */
  readonly block: number;
}

/** Called for each packet, with the offsets of its IP header and of its end in the memory. */
export type PacketVisitor = (view: DataView, at: number, end: number) => void;

/** The blocks of a ring in turn. */
export class PacketRing {
  /** Size of the ring, bytes. */
  readonly size: number;
  readonly #view: DataView;
  readonly #words: Int32Array;
  readonly #block: number;
  /** Offset of the block to read next, or that is being read. */
  #start = 0;
  /** Offset of the next packet, and number of packets that are left in the block; 0: not begun. */
  #at = 0;
  #left = 0;

  /** Uses the memory of a new ring. */
  constructor({ memory, block }: PacketRingMap) {
    this.size = memory.byteLength;
    this.#view = new DataView(memory);
    this.#words = new Int32Array(memory);
    this.#block = block;
  }

  /** Bytes of the blocks that wait to be read. */
  get used(): number {
    let sum = 0;
    let at = this.#start;
    for (let left = this.size / this.#block; left > 0 && this.#isOurs(at); left--) {
      sum += this.#view.getUint32(at + USED, true);
      at = this.#after(at);
    }
    return sum;
  }

  /** Whether no packet waits, not even in the block that the kernel is filling. */
  get isEmpty(): boolean {
    return this.#left === 0 && !this.#isOurs(this.#start) &&
      Atomics.load(this.#words, this.#start + PACKETS >>> 2) === 0;
  }

  #isOurs(block: number): boolean {
    return (Atomics.load(this.#words, block + STATUS >>> 2) & IS_OURS) !== 0;
  }

  #after(block: number): number {
    return (block + this.#block) % this.size;
  }

  /**
   * Reads packets.
   *
   * @param most Maximum number of packets.
   * @returns The number of packets that were read.
   */
  read(most: number, visit: PacketVisitor): number {
    const view = this.#view;
    let count = 0;
    while (count < most && (this.#left > 0 || this.#begin())) {
      const packet = this.#at;
      this.#at += view.getUint32(packet + NEXT, true);
      this.#left--;
      count++;
      const ip = packet + view.getUint16(packet + IP, true);
      visit(view, ip, ip + view.getUint32(packet + KEPT, true));
      if (this.#left === 0) this.#release();
    }
    return count;
  }

  /** Begins the next block; `false`: it belongs to the kernel. */
  #begin(): boolean {
    const view = this.#view;
    while (this.#isOurs(this.#start)) {
      this.#left = view.getUint32(this.#start + PACKETS, true);
      this.#at = this.#start + view.getUint32(this.#start + FIRST, true);
      if (this.#left > 0) return true;
      this.#release();
    }
    return false;
  }

  /** Returns a block to the kernel. */
  #release(): void {
    Atomics.store(this.#words, this.#start + STATUS >>> 2, 0);
    this.#start = this.#after(this.#start);
  }
}

/** The ring of a socket, with its memory. */
export interface MappedRing extends Disposable {
  /** The blocks. They must not be used after the memory is disposed of. */
  readonly ring: PacketRing;
}

/**
 * Gives a packet socket a ring, as large as the memory allows.
 *
 * @throws Error with the call that failed.
 */
export function mapPacketRing(libc: Libc, socket: number): MappedRing {
  const { call } = libc;
  if (call.setsockopt(socket, SOL_PACKET, PACKET_VERSION, int32(TPACKET_V3), 4) < 0) {
    throw failure(libc, "set the version of a packet ring");
  }
  for (const blocks of BLOCKS) {
    const mapped = tryToMap(libc, socket, blocks);
    if (mapped !== undefined) return mapped;
    if (![ENOMEM, EAGAIN].includes(libc.errno())) break;
  }
  throw failure(libc, "map a packet ring");
}

/** Gives a packet socket a ring of some blocks; `undefined`: the system refuses it. */
function tryToMap(libc: Libc, socket: number, blocks: number): MappedRing | undefined {
  const { call } = libc;
  if (!setRing(libc, socket, blocks)) return undefined;
  const size = BigInt(blocks * BLOCK);
  const at = BigInt(call.mmap(0n, size, PROT_READ_WRITE, MAP_SHARED, socket, 0n));
  if (at === NOT_MAPPED) {
    setRing(libc, socket, 0);
    return undefined;
  }
  const pointer = Deno.UnsafePointer.create(at)!;
  const memory = Deno.UnsafePointerView.getArrayBuffer(pointer, Number(size));
  return {
    ring: new PacketRing({ memory, block: BLOCK }),
    [Symbol.dispose]: () => void call.munmap(at, size),
  };
}

/** Sets the number of blocks; 0 removes the ring. */
function setRing(libc: Libc, socket: number, blocks: number): boolean {
  const request = Uint32Array.of(
    blocks === 0 ? 0 : BLOCK,
    blocks,
    blocks === 0 ? 0 : FRAME,
    blocks * BLOCK / FRAME,
    TIMEOUT_MS,
    0,
    0,
  );
  const bytes = new Uint8Array(request.buffer);
  return libc.call.setsockopt(socket, SOL_PACKET, PACKET_RX_RING, bytes, REQUEST) === 0;
}
