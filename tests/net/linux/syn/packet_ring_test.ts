/** The blocks of a ring, filled as the kernel does. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { Random } from "../../../../src/fleet/random.ts";
import { PacketRing } from "../../../../src/net/linux/syn/packet_ring.ts";

const BLOCK = 4096;
const BLOCKS = 4;

/** The kernel's side: fills blocks in turn, and drops packets while its block is not free. */
class Kernel {
  readonly memory = new ArrayBuffer(BLOCK * BLOCKS);
  readonly #view = new DataView(this.memory);
  #block = 0;
  #at = 48;
  #last = 0;
  #packets = 0;

  /** Adds a packet that contains a number, of a size; `false`: it is dropped. */
  add(number: number, size: number): boolean {
    const view = this.#view;
    const start = this.#block * BLOCK;
    if (this.#packets === 0) {
      if (view.getUint32(start + 8, true) !== 0) return false;
      view.setUint32(start + 16, 48, true);
      this.#at = 48;
    }
    const space = Math.ceil((82 + size) / 16) * 16;
    if (this.#at + space > BLOCK) {
      this.retire();
      return this.add(number, size);
    }
    const at = start + this.#at;
    if (this.#packets > 0) view.setUint32(this.#last, at - this.#last, true);
    view.setUint32(at, 0, true);
    view.setUint32(at + 12, size, true);
    view.setUint16(at + 26, 82, true);
    view.setUint32(at + 82, number, true);
    this.#last = at;
    this.#at += space;
    view.setUint32(start + 12, ++this.#packets, true);
    view.setUint32(start + 20, this.#at, true);
    return true;
  }

  /** Passes the block to the program, as the timeout does. */
  retire(): void {
    if (this.#packets === 0) return;
    this.#view.setUint32(this.#block * BLOCK + 8, 1, true);
    this.#block = (this.#block + 1) % BLOCKS;
    this.#packets = 0;
    if (this.#view.getUint32(this.#block * BLOCK + 8, true) === 0) {
      this.#view.setUint32(this.#block * BLOCK + 12, 0, true);
    }
  }
}

function makeRing() {
  const kernel = new Kernel();
  const ring = new PacketRing({ memory: kernel.memory, block: BLOCK });
  const got: number[] = [];
  const visit = (view: DataView, at: number, end: number) => {
    got.push(view.getUint32(at, true));
    assert(end - at >= 4);
  };
  return { kernel, ring, got, visit };
}

Deno.test("packets are read in order and once, whenever blocks are passed on", () => {
  const random = new Random(5);
  const { kernel, ring, got, visit } = makeRing();
  const added: number[] = [];
  let dropped = 0;
  for (let number = 0; number < 50_000; number++) {
    if (kernel.add(number, 4 + random.below(300))) added.push(number);
    else dropped++;
    if (random.below(20) === 0) kernel.retire();
    if (random.below(number % 1000 < 500 ? 3 : 30) === 0) ring.read(1 + random.below(70), visit);
  }
  kernel.retire();
  while (ring.read(64, visit) > 0);
  assertEquals(got, added);
  assert(dropped > 100 && added.length > 30_000, `${dropped} dropped of ${added.length}`);
  assertEquals([ring.used, ring.isEmpty], [0, true]);
});

Deno.test("a ring is empty when no packet waits, and reports the bytes of waiting blocks", () => {
  const { kernel, ring, got, visit } = makeRing();
  assertEquals([ring.size, ring.used, ring.isEmpty], [BLOCK * BLOCKS, 0, true]);
  kernel.add(1, 40);
  kernel.add(2, 40);
  assertEquals([ring.read(64, visit), ring.used, ring.isEmpty], [0, 0, false]);
  kernel.retire();
  assertEquals([ring.used, ring.isEmpty], [48 + 2 * 128, false]);
  assertEquals([ring.read(1, visit), ring.isEmpty], [1, false]);
  assertEquals([ring.read(64, visit), ring.isEmpty, ring.used], [1, true, 0]);
  assertEquals(got, [1, 2]);
  for (let i = 0; i < BLOCKS; i++) {
    assert(kernel.add(i, 40));
    kernel.retire();
  }
  assert(!kernel.add(9, 40), "all blocks are full");
  assertEquals(ring.used, BLOCKS * (48 + 128));
});

Deno.test("an error of the visitor loses no other packet", () => {
  const { kernel, ring, got, visit } = makeRing();
  for (let i = 0; i < 3; i++) kernel.add(i, 40);
  kernel.retire();
  assertThrows(() =>
    ring.read(64, () => {
      throw new RangeError("broken");
    }), RangeError);
  assertEquals(ring.read(64, visit), 2);
  assertEquals(got, [1, 2]);
});
