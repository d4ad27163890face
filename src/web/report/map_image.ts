/**
 * The map of a report as a PNG image with a palette: a point for each of 65,536 cells.
 *
 * @module
 */
import { nodeZlib } from "../../core/node_modules.ts";
import { pointAt } from "../browser/hilbert.ts";
import { mapSteps, stepOf } from "../browser/map_scale.ts";
import type { MapCells } from "../queries/dashboard_data.ts";
import { type Scheme, type Token, TOKENS } from "../style/tokens.ts";

/** Cells of a side. */
const SIDE = 256;
const COLORS: readonly Token[] = ["m0", "m1", "m2", "m3", "m4", "m5"];
const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** A map as a `data:` URL of a PNG image in the colours of a scheme. */
export function mapImage(map: MapCells, scheme: Scheme): string {
  const pixels = pixelsOf(map);
  const lines = new Uint8Array(SIDE * (SIDE + 1)); // each line begins with its filter: none
  for (let y = 0; y < SIDE; y++) {
    lines.set(pixels.subarray(y * SIDE, (y + 1) * SIDE), y * (SIDE + 1) + 1);
  }
  const palette = COLORS.flatMap((name) => [...Uint8Array.fromHex(TOKENS[name][scheme].slice(1))]);
  const png = Uint8Array.from([
    ...SIGNATURE,
    ...chunk("IHDR", [...uint32(SIDE), ...uint32(SIDE), 8, 3, 0, 0, 0]),
    ...chunk("PLTE", palette),
    ...chunk("IDAT", [...nodeZlib().deflateSync(lines, { level: 9 })]),
    ...chunk("IEND", []),
  ]);
  return `data:image/png;base64,${png.toBase64()}`;
}

/** The number of each cell's colour, in lines from the top. */
export function pixelsOf({ square: { address, prefix }, cells, values }: MapCells): Uint8Array {
  const pixels = new Uint8Array(SIDE * SIDE);
  const steps = mapSteps("servers", values.reduce((a, b) => Math.max(a, b), 0));
  const first = Math.floor(address / 2 ** (16 - prefix));
  for (const [i, cell] of cells.entries()) {
    const { x, y } = pointAt(first + cell, (prefix + 16) / 2);
    pixels[y % SIDE * SIDE + x % SIDE] = stepOf(steps, values[i])?.color ?? 0;
  }
  return pixels;
}

/** A part of a PNG: size, type, content, checksum. */
function chunk(type: string, content: readonly number[]): number[] {
  const body = [...new TextEncoder().encode(type), ...content];
  return [
    ...uint32(content.length),
    ...body,
    ...uint32(nodeZlib().crc32(Uint8Array.from(body))),
  ];
}

function uint32(value: number): number[] {
  return [value >>> 24, value >>> 16 & 255, value >>> 8 & 255, value & 255];
}
