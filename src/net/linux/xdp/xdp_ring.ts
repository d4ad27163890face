/**
 * The rings of an AF_XDP socket that only sends. Frames are copied into memory that is registered
 * with the kernel. Their descriptors are written into the send ring, and a system call makes the
 * kernel read them. The completion ring returns the addresses of sent frames.
 *
 * In copy mode, each call reads 32 descriptors. A call may fail with EBUSY after it has read a
 * descriptor, and its frame is then lost. `consumer` counts the descriptors that were read; the
 * last of them is the lost one. If the ring contains only the lost descriptor, `consumer` has not
 * moved yet. The lost descriptor is written again. After any other error the frame is still in the
 * ring.
 *
 * A descriptor, sizes and offsets in bytes: 16 address 0 (8) length 8 (4) options 12 (4). The
 * completion ring contains addresses of 8 bytes.
 *
 * @module
 */
import { FRAME } from "../batch/ethernet_frames.ts";
import { EAGAIN, EBUSY, type Libc, MSG_DONTWAIT } from "../ffi/libc.ts";
import type { PreparedBatch } from "../batch/transmit.ts";

/**
 * Number and size of the memory areas. An area contains frames of one batch, and is free when all
 * are sent.
 */
export const AREAS = 8;
export const AREA = 32_768;
const AREA_BITS = 15;
/** Maximum number of frames in an area. */
const AREA_FRAMES = 256;
/**
 * Entries of the rings, powers of two: for all frames, and twice as many, because a lost frame
 * completes twice.
 */
export const TX_SIZE = AREAS * AREA_FRAMES;
export const DONE_SIZE = 2 * TX_SIZE;
/** Words of a descriptor, and of an address in the completion ring. */
const DESCRIPTOR = 4;
const ADDRESS = 2;

/** The memory of a ring: its address and size, and the offsets of its parts, bytes. */
export interface RingMap {
  readonly at: bigint;
  readonly size: number;
  readonly producer: number;
  readonly consumer: number;
  readonly entries: number;
}

/** The memory and rings of a socket, as numbers that can be sent to a worker. */
export interface XdpMemoryMap {
  readonly socket: number;
  /** Address of the memory of frames. */
  readonly memory: bigint;
  readonly tx: RingMap;
  readonly done: RingMap;
}

/** Maps memory at an address to 32-bit words. */
export type WordsAt = (at: bigint, size: number) => Int32Array;

/** Maps memory that is shared with the kernel. */
export const kernelWords: WordsAt = (at, size) =>
  new Int32Array(
    Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(at)!, size),
  );

/** The rings of a socket that sends. Only one thread may use them. */
export class XdpRing {
  readonly #tx: Int32Array;
  readonly #done: Int32Array;
  /** Stack of free areas, the one used last on top. */
  readonly #free: number[] = Array.from({ length: AREAS }, (_, area) => area);
  /** Number of frames of each area that are not sent yet. */
  readonly #open = new Int32Array(AREAS);
  /** Numbers of descriptors written, read by the kernel, and completed, modulo 2^32. */
  #produced = 0;
  #consumed = 0;
  #completed = 0;
  /** Number of frames in the ring that the kernel has not read, all of one batch. */
  #inRing = 0;

  /** Uses the rings of a new socket. */
  constructor(
    private readonly libc: Pick<Libc, "call" | "errno">,
    private readonly map: XdpMemoryMap,
    words: WordsAt = kernelWords,
  ) {
    this.#tx = words(map.tx.at, map.tx.size);
    this.#done = words(map.done.at, map.done.size);
  }

  /**
   * Passes the frames of a batch to the kernel, from index `from` on. If the kernel does not accept
   * the whole batch, some of its frames may stay in the ring; the next call has to continue the
   * batch.
   *
   * @returns Number of frames that the kernel accepted; the negative error number if none.
   */
  transmit({ at, count, length, stride }: PreparedBatch, from: number): number {
    this.#complete();
    const most = Math.min(AREA_FRAMES, Math.floor(AREA / stride));
    for (let next = from + this.#inRing; next < count && this.#free.length > 0;) {
      const size = Math.min(most, count - next);
      if ((this.#produced - this.#consumed | 0) + size > TX_SIZE) break;
      this.#queue(at + BigInt(next * stride), size, length, stride);
      this.#inRing += size;
      next += size;
    }
    return this.#sendAll();
  }

  /** Copies frames into a free area, and writes their descriptors. */
  #queue(from: bigint, size: number, length: number, stride: number): void {
    const area = this.#free.pop()!;
    const start = area * AREA;
    const { memory } = this.map;
    this.libc.call.memcpy(memory + BigInt(start), from, BigInt(size * stride));
    for (let i = 0; i < size; i++) this.#describe(start + i * stride + FRAME, length);
    this.#open[area] = size;
    this.#publish();
  }

  #describe(address: number, length: number): void {
    const tx = this.#tx;
    const at = (this.map.tx.entries >>> 2) + (this.#produced & TX_SIZE - 1) * DESCRIPTOR;
    tx[at] = address; // the other words stay 0
    tx[at + 2] = length;
    this.#produced = this.#produced + 1 | 0;
  }

  #publish(): void {
    Atomics.store(this.#tx, this.map.tx.producer >>> 2, this.#produced);
  }

  /** Calls the kernel until it reads no further descriptor; returns as `transmit` does. */
  #sendAll(): number {
    const { libc, map: { socket } } = this;
    let taken = 0;
    let errno = EAGAIN;
    while (this.#inRing > 0) {
      const failed = libc.call.sendto(socket, null, 0n, MSG_DONTWAIT, null, 0) < 0;
      errno = failed ? libc.errno() : EAGAIN;
      // A card that reads descriptors itself may do so after the call returns.
      const sent = this.#settle(failed && errno === EBUSY);
      taken += sent;
      if (sent === 0) break;
      if (failed) this.#complete();
    }
    return taken > 0 ? taken : -errno;
  }

  /**
   * Counts the descriptors that the kernel has read, and writes a lost one again. Returns the number
   * of sent frames.
   */
  #settle(isLost: boolean): number {
    const consumer = Atomics.load(this.#tx, this.map.tx.consumer >>> 2);
    const moved = Math.max(isLost ? 1 : 0, consumer - this.#consumed | 0);
    this.#consumed = this.#consumed + moved | 0;
    this.#inRing -= moved;
    if (!isLost) return moved;
    const lost = (this.map.tx.entries >>> 2) + (this.#consumed - 1 & TX_SIZE - 1) * DESCRIPTOR;
    const address = this.#tx[lost];
    this.#describe(address, this.#tx[lost + 2]);
    this.#open[address >>> AREA_BITS]++; // the kernel completes a lost frame twice
    this.#publish();
    this.#inRing++;
    return moved - 1;
  }

  /** Frees the areas whose frames are all sent. */
  #complete(): void {
    const done = this.#done;
    const { entries, producer, consumer } = this.map.done;
    const end = Atomics.load(done, producer >>> 2);
    if (end === this.#completed) return;
    while (this.#completed !== end) {
      const address = done[(entries >>> 2) + (this.#completed & DONE_SIZE - 1) * ADDRESS];
      const area = address >>> AREA_BITS;
      if (--this.#open[area] === 0) this.#free.push(area);
      this.#completed = this.#completed + 1 | 0;
    }
    Atomics.store(done, consumer >>> 2, end);
  }
}
