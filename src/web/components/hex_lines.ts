/**
 * Bytes as lines of hexadecimal numbers and text.
 *
 * @module
 */

/** Number of bytes on a line. */
const WIDTH = 16;

/**
 * Lines of 16 bytes: offset, hexadecimal bytes, ASCII text. Other bytes are dots in the text.
 *
 * @example
 * ```ts
 * import { hexLines } from "./hex_lines.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const [line] = hexLines(new TextEncoder().encode("Hi!\n"));
 * assertEquals(line, `0000  48 69 21 0a${" ".repeat(38)}Hi!.`);
 * ```
 */
export function hexLines(bytes: Uint8Array): string[] {
  const lines: string[] = [];
  for (let at = 0; at < bytes.length; at += WIDTH) {
    const line = bytes.subarray(at, at + WIDTH);
    const numbers = Array.from(line, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const text = Array.from(line, characterOf).join("");
    lines.push(`${at.toString(16).padStart(4, "0")}  ${numbers.padEnd(WIDTH * 3 + 1)}${text}`);
  }
  return lines;
}

function characterOf(byte: number): string {
  return byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".";
}
