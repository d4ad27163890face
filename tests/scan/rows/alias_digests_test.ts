import { assert, assertEquals } from "@std/assert";
import { Random } from "../../../src/fleet/random.ts";
import { AliasDigest, DigestTable } from "../../../src/scan/rows/alias_digests.ts";

const KEY = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);

function digestOf(put: (digest: AliasDigest) => AliasDigest, key = KEY): string {
  const { low, high } = put(new AliasDigest(key).clear());
  return `${low} ${high}`;
}

Deno.test("Digest distinguishes different values, and different borders between parts", () => {
  const parts: ((digest: AliasDigest) => AliasDigest)[] = [
    (to) => to,
    (to) => to.text(null),
    (to) => to.text(""),
    (to) => to.text("").text(""),
    (to) => to.text("\u0000"),
    (to) => to.text("\u0000\u0000"),
    (to) => to.text("ab"),
    (to) => to.text("ba"),
    (to) => to.text("a").text("b"),
    (to) => to.text("ab").text(""),
    (to) => to.text("").text("ab"),
    (to) => to.text("\ua7a7"),
    (to) => to.text("\u00a7"),
    (to) => to.text("1"),
    (to) => to.number(1),
    (to) => to.number(0),
    (to) => to.number(-1),
    (to) => to.number(null),
    (to) => to.number(2 ** 32),
    (to) => to.number(2 ** 33),
    (to) => to.number(0.5),
    (to) => to.address(1),
    (to) => to.address(1n),
    (to) => to.address(1n << 32n),
    (to) => to.address(1n << 127n),
    (to) => to.address(0xffffffff),
  ];
  const digests = parts.map((put) => digestOf(put));
  assertEquals(new Set(digests).size, parts.length);
  assertEquals(parts.map((put) => digestOf(put)), digests);
  const others = parts.map((put) => digestOf(put, KEY.toReversed()));
  assert(others.every((digest) => !digests.includes(digest)));
});

Deno.test("Digest spreads small differences over all bits of both halves", () => {
  const digest = new AliasDigest(KEY);
  const halves = [new Set<number>(), new Set<number>()];
  const ones = [new Uint32Array(32), new Uint32Array(32)];
  const count = 20_000;
  for (let i = 0; i < count; i++) {
    const { low, high } = digest.clear().text("Sky Kingdom").number(20).address(0x7f000000 + i)
      .word(6);
    [low, high].forEach((half, which) => {
      halves[which].add(half);
      for (let bit = 0; bit < 32; bit++) ones[which][bit] += half >>> bit & 1;
    });
  }
  for (const half of halves) assert(half.size > count - 10, `${half.size}`);
  for (const bit of ones.flatMap((counts) => [...counts])) {
    assert(bit > 0.45 * count && bit < 0.55 * count, `${bit}`);
  }
});

Deno.test("DigestTable is a bounded map", () => {
  const random = new Random(7);
  const table = new DigestTable(3000);
  const map = new Map<string, number>();
  for (let i = 0; i < 20_000; i++) {
    // The lower halves have few values, so many digests collide in the same slots.
    const [low, high] = [random.below(2000) << random.below(20), random.below(3) - 1];
    const key = `${low} ${high}`;
    const value = random.below(2 ** 31) - 2 ** 30 || 1;
    const before = map.get(key) ?? 0;
    if (random.below(3) === 0) {
      table.set(low, high, value);
      if (before !== 0) map.set(key, value);
    } else {
      assertEquals(table.add(low, high, value), before);
      if (before === 0 && map.size < 3000) map.set(key, value);
    }
    assertEquals(table.get(low, high), map.get(key) ?? 0);
    assertEquals(table.size, map.size);
  }
  assertEquals(table.size, 3000);
  for (const [key, value] of map) {
    const [low, high] = key.split(" ").map(Number);
    assertEquals(table.get(low, high), value);
  }
});
