/**
 * The rings of an AF_XDP socket that only sends: frames are copied into memory that the kernel knows,
 * descriptors of them are written into the one ring, a call has the kernel take them, and the other
 * ring tells which places are free again.
 *
 * In copy mode, the kernel takes 32 descriptors at a call, within that call. It may refuse one by
 * EBUSY when that is taken already, and its frame lost: `consumer` tells how many were taken, and the
 * last of them is the lost one; where no other was taken with it, `consumer` has not moved yet. Its
 * descriptor is written once more. Any other refusal leaves the frame in the ring.
 *
 * A descriptor, sizes and offsets in bytes: 16  address 0 (8)  length 8 (4)  options 12 (4). The ring
 * of what is done holds addresses of 8 bytes.
 *
 * @module
 */
import { FRAME } from "../batch/ethernet_frames.ts";
import { EAGAIN, EBUSY, type Libc, MSG_DONTWAIT } from "../ffi/libc.ts";
import type { PreparedBatch } from "../batch/transmit.ts";

/** Parts of the memory: each holds frames that came together, and is free when all are done. */
export const AREAS = 8;
export const AREA = 32_768;
/** Frames in an area, at the most. */
const AREA_FRAMES = 256;
/** Descriptors in the rings, powers of two: more than there can be frames, and those twice. */
export const TX_SIZE = AREAS * AREA_FRAMES;
export const DONE_SIZE = 2 * TX_SIZE;
/** Words of a descriptor, and of an address. */
const DESCRIPTOR = 4;
const ADDRESS = 2;

/** Where a ring lies: addresses of the whole, and offsets in it. */
export interface RingMap {
  readonly at: bigint;
  readonly size: number;
  readonly producer: number;
  readonly consumer: number;
  readonly entries: number;
}

/** Where a socket's memory and rings lie: plain numbers, for a thread too. */
export interface XdpMemoryMap {
  readonly socket: number;
  /** The memory of the frames. */
  readonly memory: bigint;
  readonly tx: RingMap;
  readonly done: RingMap;
}

/** Memory of the kernel's, as words. */
export type WordsAt = (at: bigint, size: number) => Int32Array;

/** The real memory. */
export const kernelWords: WordsAt = (at, size) =>
  new Int32Array(
    Deno.UnsafePointerView.getArrayBuffer(Deno.UnsafePointer.create(at)!, size),
  );

/** The sending side of a socket; one thread alone may use it. */
export class XdpRing {
  readonly #tx: Int32Array;
  readonly #done: Int32Array;
  /** Areas that are free, the one that was used last on top. */
  readonly #free: number[] = Array.from({ length: AREAS }, (_, area) => area);
  /** Descriptors of each area that are not done. */
  readonly #open = new Int32Array(AREAS);
  /** The next descriptor to be written, and the next one that the kernel will take. */
  #produced = 0;
  #consumed = 0;
  #reaped = 0;
  /** Whose frames are in the ring, in their order; one that was lost is in it again, as the last. */
  readonly #inRing: { readonly job: number; count: number }[] = [];
  /** How many frames of whom have left, and were not told of. */
  readonly #gone = new Map<number, number>();

  /** Takes the rings of a new socket. */
  constructor(
    private readonly libc: Pick<Libc, "call" | "errno">,
    private readonly place: XdpMemoryMap,
    words: WordsAt = kernelWords,
  ) {
    this.#tx = words(place.tx.at, place.tx.size);
    this.#done = words(place.done.at, place.done.size);
  }

  /**
   * Hands frames to the kernel, from one of a load on. Of a load that was not taken to its end, some
   * may be in the ring already: another call goes on with it, and loads of others may come between.
   *
   * @param job Whose load it is. Default: nobody's, and none comes between.
   * @returns How many it took; an error's number, negative, when none.
   */
  transmit({ at, count, length, stride }: PreparedBatch, from: number, job = 0): number {
    this.#reap();
    let next = from + (this.#gone.get(job) ?? 0) + this.#waiting(job);
    const most = Math.min(AREA_FRAMES, Math.floor(AREA / stride));
    while (next < count && this.#free.length > 0) {
      const size = Math.min(most, count - next);
      if ((this.#produced - this.#consumed | 0) + size > TX_SIZE) break;
      this.#queue(at + BigInt(next * stride), size, length, stride);
      this.#join(job, size);
      next += size;
    }
    const errno = this.#kickAll();
    const taken = this.#gone.get(job) ?? 0;
    this.#gone.delete(job);
    return taken > 0 ? taken : -errno;
  }

  /** How many frames of a job are in the ring. */
  #waiting(job: number): number {
    return this.#inRing.reduce((sum, one) => one.job === job ? sum + one.count : sum, 0);
  }

  /** Notes whose frames the last ones in the ring are. */
  #join(job: number, count: number): void {
    const last = this.#inRing.at(-1);
    if (last?.job === job) last.count += count;
    else this.#inRing.push({ job, count });
  }

  /** Notes that the first ones in the ring have left; returns whose the last of them was. */
  #pass(count: number): number {
    let job = 0;
    for (let left = count; left > 0;) {
      const first = this.#inRing[0];
      const some = Math.min(left, first.count);
      job = first.job;
      this.#gone.set(job, (this.#gone.get(job) ?? 0) + some);
      first.count -= some;
      left -= some;
      if (first.count === 0) this.#inRing.shift();
    }
    return job;
  }

  /** Copies frames into an area and describes them. */
  #queue(from: bigint, size: number, length: number, stride: number): void {
    const area = this.#free.pop()!;
    const start = area * AREA;
    const { memory } = this.place;
    this.libc.call.memcpy(memory + BigInt(start), from, BigInt(size * stride));
    for (let i = 0; i < size; i++) this.#describe(start + i * stride + FRAME, length);
    this.#open[area] = size;
    this.#publish();
  }

  #describe(address: number, length: number): void {
    const tx = this.#tx;
    const at = (this.place.tx.entries >>> 2) + (this.#produced & TX_SIZE - 1) * DESCRIPTOR;
    tx[at] = address;
    tx[at + 1] = 0;
    tx[at + 2] = length;
    tx[at + 3] = 0;
    this.#produced = this.#produced + 1 | 0;
  }

  #publish(): void {
    Atomics.store(this.#tx, this.place.tx.producer >>> 2, this.#produced);
  }

  /** Has the kernel take descriptors as long as it does; returns the error that stopped it. */
  #kickAll(): number {
    const { libc, place: { socket } } = this;
    while (this.#inRing.length > 0) {
      const errno = libc.call.sendto(socket, null, 0n, MSG_DONTWAIT, null, 0) < 0
        ? libc.errno()
        : 0;
      // Where a card takes them by itself, a call may come back before it did.
      if (this.#settle(errno) === 0) return errno === 0 ? EAGAIN : errno;
      if (errno !== 0) this.#reap();
    }
    return EAGAIN;
  }

  /** Looks how many descriptors were taken, and puts the one that was lost into the ring again. */
  #settle(errno: number): number {
    const consumer = Atomics.load(this.#tx, this.place.tx.consumer >>> 2);
    const moved = Math.max(errno === EBUSY ? 1 : 0, consumer - this.#consumed | 0);
    this.#consumed = this.#consumed + moved | 0;
    const job = this.#pass(moved);
    if (errno !== EBUSY) return moved;
    const lost = (this.place.tx.entries >>> 2) + (this.#consumed - 1 & TX_SIZE - 1) * DESCRIPTOR;
    const address = this.#tx[lost];
    this.#describe(address, this.#tx[lost + 2]);
    this.#open[Math.floor(address / AREA)]++; // it will be done twice
    this.#publish();
    this.#gone.set(job, this.#gone.get(job)! - 1);
    this.#join(job, 1);
    return moved - 1;
  }

  /** Takes back what is done. */
  #reap(): void {
    const done = this.#done;
    const { entries, producer, consumer } = this.place.done;
    const end = Atomics.load(done, producer >>> 2);
    if (end === this.#reaped) return;
    while (this.#reaped !== end) {
      const address = done[(entries >>> 2) + (this.#reaped & DONE_SIZE - 1) * ADDRESS];
      const area = Math.floor(address / AREA);
      if (--this.#open[area] === 0) this.#free.push(area);
      this.#reaped = this.#reaped + 1 | 0;
    }
    Atomics.store(done, consumer >>> 2, end);
  }
}
