/**
 * Hashes of a server's row, by which changes are found.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import type { Value } from "../database/database.ts";

/** Fields that the content hash covers: all that a server publishes, except players and times. */
export const CONTENT: readonly (keyof ServerRecord)[] = [
  "protocols",
  "edition",
  "software",
  "proxy",
  "motd",
  "version",
  "protocol_version",
  "map",
  "gamemode",
  "players_max",
  "plugins",
  "guid",
  "port_v4",
  "port_v6",
  "joinable",
  "favicon_hash",
];

/**
 * A value as part of the text that {@linkcode contentHash} hashes. Stored text contains no U+0000, so lists of
 * equally many values have equal texts only if the values are equal.
 */
export function hashedText(value: Value): string {
  return value === null ? "\0" : `\0=${value}`;
}

/** The factors of the halves of {@linkcode contentHash}. They are odd, so no multiplication loses a bit. */
const HIGH_FACTOR = 0x9e3779b1;
const LOW_FACTOR = 0x85ebca77;

/**
 * A 64-bit hash of a text, 16 hexadecimal digits. Each half of the hash covers all of the text, two
 * UTF-16 code units at a time. It is not cryptographic: a server can construct two texts with one hash,
 * and then a change from one to the other is not found. That hides nothing but the server's own change,
 * because only hashes of one server are compared.
 */
export function contentHash(text: string): string {
  const { length } = text;
  const even = length & ~1;
  let high = 0x1e3779b9;
  let low = 0x05ebca6b;
  for (let i = 0; i < even; i += 2) {
    const word = text.charCodeAt(i) | text.charCodeAt(i + 1) << 16;
    high = Math.imul((high << 5 | high >>> 27) ^ word, HIGH_FACTOR);
    low = Math.imul((low << 13 | low >>> 19) ^ word, LOW_FACTOR);
  }
  const rest = even < length ? text.charCodeAt(length - 1) : 0;
  high = mixed(Math.imul(high ^ rest, HIGH_FACTOR) ^ length);
  low = mixed(Math.imul(low ^ rest, LOW_FACTOR) ^ high);
  return hex(high ^ low) + hex(low);
}

/** The finalizer of MurmurHash3: each bit of the result depends on each bit of `bits`. */
function mixed(bits: number): number {
  const half = Math.imul(bits ^ bits >>> 16, 0x85ebca6b);
  const most = Math.imul(half ^ half >>> 13, 0xc2b2ae35);
  return most ^ most >>> 16;
}

/** The hexadecimal digits of each byte. */
const BYTES = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** 32 bits as eight hexadecimal digits. */
function hex(bits: number): string {
  return BYTES[bits >>> 24] + BYTES[bits >>> 16 & 255] + BYTES[bits >>> 8 & 255] +
    BYTES[bits & 255];
}
