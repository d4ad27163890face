/** Covers src/store/members/server_sets.ts. */
import { assert, assertEquals } from "@std/assert";
import {
  BLOCK,
  blockOf,
  countOfBlock,
  decodeBlock,
  encodeBlock,
} from "../../../src/store/members/server_sets.ts";

const range = (first: number, count: number, step = 1) =>
  Array.from({ length: count }, (_, i) => first + step * i);

Deno.test("sets have these bytes in each form", () => {
  assertEquals(encodeBlock([]).toHex(), "000000");
  assertEquals(encodeBlock([1]).toHex(), "0000010001");
  assertEquals(encodeBlock([4096 + 2, 4096 + 4095]).toHex(), "00000200020fff");
  assertEquals(encodeBlock(range(8192, 3)).toHex(), "01000300000002");
  assertEquals(encodeBlock(range(0, BLOCK)).toHex(), "01100000000fff");
  assertEquals(
    encodeBlock(range(0, 300, 2)).toHex(),
    "02012c" + "55".repeat(75) + "00".repeat(437),
  );
});

/** Numbers from 0 to 1 that look random, the same in each run. */
function numbersFrom(seed: number): () => number {
  return () => {
    seed = (seed * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return seed / 2 ** 32;
  };
}

Deno.test("sets of any density are decoded as they were, in at most 515 bytes", () => {
  const random = numbersFrom(7);
  for (const share of [0, 0.001, 0.01, 0.05, 0.2, 0.5, 0.9, 0.999, 1]) {
    for (const block of [0, 1, 500_000]) {
      const set = new Set(range(block * BLOCK, BLOCK).filter(() => random() < share));
      const bytes = encodeBlock([...set]);
      assertEquals(countOfBlock(bytes.subarray(0, 3)), set.size);
      assert(bytes.length <= 515, `${share}: ${bytes.length}`);
      assertEquals(new Set(decodeBlock(block, bytes)), set, `${share}`);
      assert([...set].every((server) => blockOf(server) === block));
      for (let size = 0; size < bytes.length; size++) {
        assertEquals(decodeBlock(block, bytes.subarray(0, size)), undefined, `${share}: ${size}`);
      }
    }
  }
});

Deno.test("damaged sets are refused", () => {
  const damaged = {
    "an unknown form": "030000",
    "numbers that are not in order": "00000200020001",
    "a number twice": "00000200020002",
    "a number of another block": "0000011000",
    "a run beyond the block": "0100030ffe0002",
    "runs that overlap": "0100040000000200010000",
    "half a number": "00000100",
    "half a run": "0100010000",
    "a count that differs": "0000020001",
    "a byte too many": "000001000100",
    "a bitmap with another count": "020002" + "01" + "00".repeat(511),
  };
  for (const [what, hex] of Object.entries(damaged)) {
    assertEquals(decodeBlock(0, Uint8Array.fromHex(hex)), undefined, what);
  }
});
