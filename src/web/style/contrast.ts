/**
 * The contrast of colours (WCAG 2.2).
 *
 * @module
 */
import { rgbOf } from "../../core/formatted/mod.ts";

/** The least contrast of text and its ground, of level AA. */
export const MIN_CONTRAST = 4.5;

/** The relative luminance of a colour `#rrggbb`, 0 to 1. */
function luminance(hex: string): number {
  const [red, green, blue] = rgbOf(hex).map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The contrast of two colours, 1 to 21. */
export function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

/** The colour between two colours: 0 is the first one, 1 the second one. */
function mixed(from: string, to: string, share: number): string {
  const other = rgbOf(to);
  const channels = rgbOf(from).map((value, i) => Math.round(value + (other[i] - value) * share));
  return `#${channels.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/**
 * The colour itself if it is readable on all grounds, else the nearest mixture with black or white that
 * is. The grounds are either all light or all dark.
 *
 * @example
 * ```ts
 * import { readableColor } from "./contrast.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(readableColor("#ffff55", ["#000000"]), "#ffff55");
 * assertEquals(readableColor("#ffffff", ["#ffffff"]), "#757575");
 * ```
 */
export function readableColor(hex: string, grounds: readonly string[]): string {
  const end = luminance(grounds[0]) > 0.18 ? "#000000" : "#ffffff";
  for (let percent = 0;; percent++) {
    const one = mixed(hex, end, percent / 100);
    if (grounds.every((ground) => contrast(one, ground) >= MIN_CONTRAST)) return one;
    if (percent === 100) throw new RangeError(`No text is readable on ${grounds.join(", ")}`);
  }
}
