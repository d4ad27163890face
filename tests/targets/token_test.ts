import { assertEquals } from "@std/assert";
import reference from "../golden/halfsiphash.json" with { type: "json" };
import { Endpoints } from "../../src/core/endpoints.ts";
import { halfSipHash, Tokens } from "../../src/targets/token.ts";

const KEY = Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7);

/** A message of `size` bytes (0, 1, 2 …) as words, its length in the last one. */
function toWords(size: number): Uint32Array {
  const count = Math.floor(size / 4) + 1;
  const bytes = new Uint8Array(count * 4);
  for (let i = 0; i < size; i++) bytes[i] = i;
  bytes[count * 4 - 1] = size;
  const view = new DataView(bytes.buffer);
  return Uint32Array.from({ length: count }, (_, i) => view.getUint32(i * 4, true));
}

Deno.test("halfSipHash() gives the reference outputs", () => {
  const outputs = reference.hsip32.map((_, size) => {
    const words = toWords(size);
    const out = new DataView(new ArrayBuffer(4));
    out.setInt32(0, halfSipHash(0x03020100, 0x07060504, words, words.length), true);
    return new Uint8Array(out.buffer).toHex();
  });
  assertEquals(outputs, reference.hsip32);
  assertEquals(outputs.length, 64);
});

Deno.test("Tokens differ by key, probe, address, port and family", () => {
  const tokens = new Tokens(KEY);
  const base = { address: 0x7f000001, port: 19132 };
  const all = [
    tokens.of(0, base),
    tokens.of(1, base),
    tokens.of(0, { ...base, port: 19133 }),
    tokens.of(0, { ...base, address: 0x7f000002 }),
    tokens.of(0, { ...base, address: 0x7f000001n }),
    tokens.of(0, { ...base, address: 1n << 127n | 0x7f000001n }),
    new Tokens(KEY.toReversed()).of(0, base),
  ];
  assertEquals(new Set(all).size, all.length);
  assertEquals(
    all.every((token) => Number.isInteger(token) && token >= 0 && token < 2 ** 32),
    true,
  );
  assertEquals(tokens.of(0, base), all[0]);
  const list = Endpoints.of(base, { ...base, address: 1n << 127n | 0x7f000001n }, base);
  const filled = new Int32Array(4).fill(9);
  tokens.fill(5, 0xffff_f0ff, list, 2, filled);
  const expected = [0, 1].map((i) => tokens.at(5, list, i) & 0xffff_f0ff);
  assertEquals(Array.from(filled), [...expected, 9, 9]);
});

Deno.test("Tokens hash address, port and probe as HalfSipHash would hash their bytes", () => {
  const words = Uint32Array.of(0x7f000001, 19132 | 2 << 16 | 7 << 24);
  const expected = halfSipHash(0x03020100, 0x07060504, words, 2) >>> 0;
  assertEquals(new Tokens(KEY).of(2, { address: 0x7f000001, port: 19132 }), expected);
});
