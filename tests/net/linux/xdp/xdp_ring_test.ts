/**
 * The rings of AF_XDP with a simulated kernel that accepts and refuses descriptors as Linux does.
 */
import { assert, assertEquals } from "@std/assert";
import { mix } from "../../../../src/core/bits.ts";
import { FRAME } from "../../../../src/net/linux/batch/ethernet_frames.ts";
import type { Libc } from "../../../../src/net/linux/ffi/libc.ts";
import {
  AREA,
  AREAS,
  DONE_SIZE,
  TX_SIZE,
  XdpRing,
} from "../../../../src/net/linux/xdp/xdp_ring.ts";

const [EAGAIN, EBUSY, ENETDOWN, ENOBUFS] = [11, 16, 100, 105];
const [MEMORY, LOADS, TX, DONE] = [0x10_0000n, 0x200_0000n, 0x400_0000n, 0x500_0000n];
const PRODUCER = 0;
const CONSUMER = 64;
const ENTRIES = 128;
const STRIDE = 128;
const LENGTH = 75;

/** The fate of the next descriptor: accepted, refused, or refused and lost. */
type Fate = "sent" | "lost" | "later" | "none" | "down";
const ERRNO: Readonly<Record<string, number>> = {
  later: EAGAIN,
  lost: EBUSY,
  none: ENOBUFS,
  down: ENETDOWN,
};

/** A simulated kernel in copy mode, as in `__xsk_generic_xmit()`. */
class Kernel {
  readonly memory = new Uint8Array(AREAS * AREA);
  readonly loads = new Uint8Array(1 << 20);
  readonly tx = new Int32Array((ENTRIES + 16 * TX_SIZE) / 4);
  readonly done = new Int32Array((ENTRIES + 8 * DONE_SIZE) / 4);
  /** The numbers in the frames that were sent. */
  readonly sent: number[] = [];
  calls = 0;
  errno = 0;
  #taken = 0;
  #unfinished: number[] = [];

  constructor(
    private readonly fate: () => Fate,
    private readonly budget = 32,
    /** Number of frames that are sent but not completed. */
    private readonly aloft = 0,
  ) {}

  get ring(): XdpRing {
    const call = {
      memcpy: (to: bigint, from: bigint, size: bigint) => {
        const start = Number(from - LOADS);
        this.memory.set(this.loads.subarray(start, start + Number(size)), Number(to - MEMORY));
        return to;
      },
      sendto: () => this.#kick(),
    };
    const libc = { call, errno: () => this.errno } as unknown as Libc;
    const ring = { producer: PRODUCER, consumer: CONSUMER, entries: ENTRIES, size: 0 };
    const map = {
      socket: 7,
      memory: MEMORY,
      tx: { ...ring, at: TX },
      done: { ...ring, at: DONE },
    };
    return new XdpRing(libc, map, (at) => at === TX ? this.tx : this.done);
  }

  #kick(): bigint {
    this.calls++;
    this.#finish(this.aloft);
    let isSent = false;
    let fate: Fate = "sent";
    for (let left = this.budget; this.#taken !== this.tx[PRODUCER / 4]; left--) {
      fate = left === 0 ? "later" : this.fate();
      if (fate !== "sent" && fate !== "lost") break;
      const at = ENTRIES / 4 + (this.#taken & TX_SIZE - 1) * 4;
      const [address, , length] = this.tx.subarray(at, at + 3);
      assert(length === LENGTH && address % STRIDE === FRAME, `${length} bytes at ${address}`);
      assert(
        Math.floor(address / 2048) === Math.floor((address + length - 1) / 2048),
        "two chunks",
      );
      this.#taken = this.#taken + 1 | 0;
      this.#unfinished.push(address);
      if (fate === "lost") break;
      this.sent.push(new DataView(this.memory.buffer).getUint32(address));
      isSent = true;
    }
    // The kernel publishes its progress only after it sent a frame, or at the end.
    if (isSent || fate === "sent") this.tx[CONSUMER / 4] = this.#taken;
    this.errno = ERRNO[fate] ?? 0;
    return fate === "sent" ? 0n : -1n;
  }

  #finish(but: number): void {
    while (this.#unfinished.length > but) {
      const produced = this.done[PRODUCER / 4];
      assert(produced - this.done[CONSUMER / 4] < DONE_SIZE, "the completion ring is full");
      this.done[ENTRIES / 4 + (produced & DONE_SIZE - 1) * 2] = this.#unfinished.shift()!;
      this.done[PRODUCER / 4] = produced + 1 | 0;
    }
  }
}

/** Writes a batch of numbered frames, and sends all of it. */
function sendAll(kernel: Kernel, ring: XdpRing, first: number, count: number): number[] {
  const view = new DataView(kernel.loads.buffer);
  for (let i = 0; i < count; i++) view.setUint32(i * STRIDE + FRAME, first + i);
  const load = { socket: 7, at: LOADS, count, length: LENGTH, stride: STRIDE, waitsForSpace: true };
  const refused: number[] = [];
  for (let at = 0, turns = 0; at < count; turns++) {
    assert(turns < 100_000, "it never ends");
    const taken = ring.transmit(load, at);
    assert(taken <= count - at);
    if (taken > 0) at += taken;
    else refused.push(-taken);
  }
  return refused;
}

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i);

Deno.test("frames are sent in order, with as few calls as the kernel allows", () => {
  for (const [budget, calls] of [[32, 8], [256, 1]]) {
    const kernel = new Kernel(() => "sent", budget);
    assertEquals(sendAll(kernel, kernel.ring, 0, 256), []);
    assertEquals(kernel.sent, numbers(256));
    assertEquals(kernel.calls, calls);
  }
});

Deno.test("only a frame that was accepted and lost is sent again", () => {
  for (const lost of [[0], [1], [5], [0, 1, 2], [3, 4], [9], [0, 9, 10, 11]]) {
    let queried = 0;
    const kernel = new Kernel(() => lost.includes(queried++) ? "lost" : "sent");
    const ring = kernel.ring;
    sendAll(kernel, ring, 0, 10);
    sendAll(kernel, ring, 10, 10);
    assertEquals(kernel.sent.toSorted((a, b) => a - b), numbers(20), `lost at ${lost}`);
  }
});

Deno.test("each frame is sent once, whatever the kernel refuses", () => {
  let seed = 11;
  const next = () => seed = mix(seed + 0x9e3779b9 | 0) >>> 0;
  for (let round = 0; round < 60; round++) {
    const fates: Fate[] = ["lost", "later", "none"];
    const oftenRefused = 2 + next() % 30;
    const kernel = new Kernel(
      () => next() % oftenRefused === 0 ? fates[next() % fates.length] : "sent",
      [32, 256][next() % 2],
      next() % 300,
    );
    const ring = kernel.ring;
    let all = 0;
    for (let loads = 0; loads < 40; loads++) {
      const count = 1 + next() % 700;
      sendAll(kernel, ring, all, count);
      all += count;
    }
    assertEquals(kernel.sent.toSorted((a, b) => a - b), numbers(all));
  }
});

Deno.test("each frame of an interrupted batch is sent once, after its rest was written again", () => {
  let seed = 5;
  const next = () => seed = mix(seed + 0x9e3779b9 | 0) >>> 0;
  for (let round = 0; round < 200; round++) {
    let isDown = true;
    const usual: Fate[] = ["sent", "sent", "sent", "sent", "sent", "lost", "later", "none"];
    const kernel = new Kernel(() => isDown ? "down" : usual[next() % usual.length], 32);
    const { ring } = kernel;
    const view = new DataView(kernel.loads.buffer);
    const size = 1 + next() % 400;
    for (let at = 0, turns = 0; at < size; turns++) {
      assert(turns < 10_000, "it never ends");
      if (turns === 5) isDown = false;
      for (let i = at; i < size; i++) view.setUint32((i - at) * STRIDE + FRAME, i);
      const load = { socket: 7, at: LOADS, count: size - at, length: LENGTH, stride: STRIDE };
      const taken = ring.transmit({ ...load, waitsForSpace: true }, 0);
      assert(taken <= size - at, `${taken} of ${size - at}`);
      at += Math.max(0, taken);
    }
    assertEquals(kernel.sent.toSorted((a, b) => a - b), numbers(size));
  }
});

Deno.test("an error that stops sending is returned, after the number of accepted frames", () => {
  let queried = 0;
  const kernel = new Kernel(() => queried++ < 3 || queried > 6 ? "sent" : "down");
  assertEquals(sendAll(kernel, kernel.ring, 0, 5), [ENETDOWN]);
  assertEquals(kernel.sent, numbers(5));
  const never = new Kernel(() => "lost");
  const load = {
    socket: 7,
    at: LOADS,
    count: 4,
    length: LENGTH,
    stride: STRIDE,
    waitsForSpace: true,
  };
  const ring = never.ring;
  for (let i = 0; i < 3; i++) assertEquals(ring.transmit(load, 0), -EBUSY);
});

Deno.test("frames wait while the memory is full of frames that are not sent", () => {
  const kernel = new Kernel(() => "sent", 256, Infinity);
  const load = {
    socket: 7,
    at: LOADS,
    count: 256,
    length: LENGTH,
    stride: STRIDE,
    waitsForSpace: true,
  };
  const ring = kernel.ring;
  for (let i = 0; i < AREAS; i++) assertEquals(ring.transmit(load, 0), 256);
  assertEquals(ring.transmit(load, 0), -EAGAIN);
});
