/**
 * What marks a RakNet message outside of a connection: 16 bytes, the same in every one of them.
 *
 * @module
 */
import { hasBytes, type Reader } from "../../core/bytes.ts";

/** The bytes. */
export const MAGIC: Uint8Array = Uint8Array.of(
  ...[0x00, 0xff, 0xff, 0x00, 0xfe, 0xfe, 0xfe, 0xfe],
  ...[0xfd, 0xfd, 0xfd, 0xfd, 0x12, 0x34, 0x56, 0x78],
);

/**
 * Steps over the magic.
 *
 * @returns Whether it stands here; if not, the message is another one.
 * @throws Truncated when the message ends inside of it.
 */
export function skipMagic(reader: Reader): boolean {
  const there = MAGIC.subarray(0, Math.min(MAGIC.length, reader.left));
  if (!hasBytes(reader.bytes, there, reader.offset)) return false;
  reader.take(MAGIC.length, "magic");
  return true;
}
