/**
 * RakNet's integers as bytes: big endian, but for the 24-bit ones, which are little endian.
 *
 * @module
 */
import type { Reader } from "../../core/bytes.ts";

/** Two bytes, big endian. */
export function u16(value: number): number[] {
  return [value >> 8 & 255, value & 255];
}

/** Three bytes, little endian. */
export function u24le(value: number): number[] {
  return [value & 255, value >> 8 & 255, value >> 16 & 255];
}

/** Four bytes, big endian. */
export function u32(value: number): number[] {
  return [value >>> 24, value >>> 16 & 255, value >>> 8 & 255, value & 255];
}

/** Eight bytes, big endian. */
export function u64(value: bigint): number[] {
  return [...u32(Number(value >> 32n & 0xffffffffn)), ...u32(Number(value & 0xffffffffn))];
}

/** Reads three bytes, little endian. */
export function readU24le(reader: Reader, what: string): number {
  const [low, middle, high] = reader.take(3, what);
  return low | middle << 8 | high << 16;
}
