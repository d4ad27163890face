/**
 * Hashes of a server's row, by which changes are found.
 *
 * @module
 */
import { FIELDS, type ServerRecord } from "../../core/record.ts";
import type { Value } from "../database/database.ts";

/** Fields that the content hash covers: all that a server publishes, except players and times. */
export const CONTENT: readonly (keyof ServerRecord)[] = [
  "protocols",
  "edition",
  "software",
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
  "proxy",
  "joinable",
  "favicon_hash",
];

/** Positions of the fields of {@linkcode CONTENT} in {@linkcode FIELDS}. */
const CONTENT_COLUMNS = CONTENT.map((name) => FIELDS.findIndex((field) => field.name === name));

/**
 * The hash of what a server publishes, 16 hexadecimal digits.
 *
 * @param values Values of {@linkcode FIELDS}, in their order.
 */
export function contentHash(values: readonly Value[]): string {
  return hashOf(CONTENT_COLUMNS.map((column) => values[column]));
}

/**
 * A 64-bit hash of values, 16 hexadecimal digits. It is not cryptographic: collisions can be
 * constructed.
 */
export function hashOf(values: readonly Value[]): string {
  let [high, low] = [0x9e3779b9, 0x85ebca6b];
  for (const value of values) {
    const text = typeof value === "string" ? value : value === null ? "" : String(value);
    // Each half covers every second character, which takes half the time.
    const { length } = text;
    for (let i = 0; i + 1 < length; i += 2) {
      high = Math.imul(high ^ text.charCodeAt(i), 0x9e3779b1);
      low = Math.imul(low ^ text.charCodeAt(i + 1), 0x5f356495);
    }
    if (length % 2 === 1) high = Math.imul(high ^ text.charCodeAt(length - 1), 0x9e3779b1);
    const crossed = high ^ low >>> 15 ^ length;
    low = Math.imul(low ^ high >>> 13 ^ 0x2ffff, 0x27d4eb2f);
    high = Math.imul(crossed ^ 0x1ffff, 0x85ebca77);
  }
  return hex(high ^ low >>> 13) + hex(low ^ high >>> 15);
}

function hex(bits: number): string {
  return (bits >>> 0).toString(16).padStart(8, "0");
}
