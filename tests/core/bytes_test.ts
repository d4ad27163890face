import { assertEquals, assertThrows } from "@std/assert";
import {
  bytesOfHex,
  concat,
  hasBytes,
  hexOf,
  indexOfBytes,
  Malformed,
  Reader,
  readU24le,
  Truncated,
  u16,
  u24le,
  u32,
  u64,
} from "../../src/core/bytes.ts";

const BYTES = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 65, 66, 0);

Deno.test("Reader reads integers of every size in order", () => {
  const reader = new Reader(BYTES);
  assertEquals([reader.u8("a"), reader.u16("b"), reader.u16le("c")], [1, 0x0203, 0x0504]);
  assertEquals(reader.u32("d"), 0x06070809);
  assertEquals([reader.offset, reader.left], [9, 4]);
  assertEquals(new Reader(BYTES).u64("e"), 0x0102030405060708n);
});

Deno.test("Reader works on a view into a larger buffer", () => {
  const view = BYTES.subarray(4, 8);
  assertEquals(new Reader(view).u32("a"), 0x05060708);
  assertThrows(() => new Reader(view, 1).u32("a"), Truncated);
});

Deno.test("Reader reads texts up to a NUL, and does not advance without one", () => {
  const reader = new Reader(BYTES, 9);
  assertEquals([...reader.untilNul()!], []);
  assertEquals([...reader.untilNul()!], [65, 66]);
  assertEquals([reader.untilNul(), reader.offset], [undefined, 13]);
  const open = new Reader(Uint8Array.of(65));
  assertEquals([open.untilNul(), open.offset, [...open.rest()]], [undefined, 0, [65]]);
});

Deno.test("Truncated names the field, its offset, and the needed and available bytes", () => {
  const error = assertThrows(() => new Reader(BYTES, 11).u32("token"), Truncated);
  assertEquals([error.what, error.offset, error.needed, error.available], ["token", 11, 4, 2]);
  assertEquals(
    error.message,
    "Cannot read token: 4 bytes are needed at offset 11, but only 2 are left",
  );
  assertEquals(new Malformed("a token", 5).message, "Cannot accept a token at offset 5");
});

Deno.test("hasBytes() and indexOfBytes() find parts only at their offset", () => {
  assertEquals(hasBytes(BYTES, Uint8Array.of(2, 3), 1), true);
  assertEquals(hasBytes(BYTES, Uint8Array.of(2, 4), 1), false);
  assertEquals(hasBytes(BYTES, Uint8Array.of(0, 1), 12), false);
  assertEquals(indexOfBytes(Uint8Array.of(1, 1, 1, 2), Uint8Array.of(1, 2), 0), 2);
  assertEquals(indexOfBytes(BYTES, Uint8Array.of(0), 10), 12);
  assertEquals(indexOfBytes(BYTES, Uint8Array.of(0, 9), 0), -1);
});

Deno.test("concat() joins arrays of any kind", () => {
  assertEquals(concat([1], Uint8Array.of(2, 3), []), Uint8Array.of(1, 2, 3));
});

Deno.test("integers are encoded big endian, those of three bytes little endian", () => {
  assertEquals(u16(0xfffe), [0xff, 0xfe]);
  assertEquals(u32(0xfffefdfc), [0xff, 0xfe, 0xfd, 0xfc]);
  assertEquals(u64(0xfffefdfcfbfaf9f8n), [0xff, 0xfe, 0xfd, 0xfc, 0xfb, 0xfa, 0xf9, 0xf8]);
  assertEquals(u24le(0xfffefd), [0xfd, 0xfe, 0xff]);
  assertEquals(readU24le(new Reader(Uint8Array.from(u24le(0x123456))), "x"), 0x123456);
});

Deno.test("hexadecimal text is read in both cases, and written in lower case", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
  assertEquals(hexOf(bytes), bytes.toHex());
  for (const text of ["", bytes.toHex(), bytes.toHex().toUpperCase()]) {
    assertEquals(bytesOfHex(text), Uint8Array.fromHex(text));
  }
});
