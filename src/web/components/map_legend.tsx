/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The legends of the map.
 *
 * @module
 */
import { pointAt } from "../browser/hilbert.ts";
import { mapSteps } from "../browser/map_scale.ts";
import { formatAddress } from "../../core/address.ts";
import type { MapCells, Square } from "../queries/dashboard_data.ts";
import type { MapLayer } from "../queries/schemas.ts";

/** A network in CIDR notation. */
export function networkText({ address, prefix }: { address: number; prefix: number }): string {
  return `${formatAddress(address)}/${prefix}`;
}

/** What a cell of a square is. */
export function cellName({ prefix }: Pick<Square, "prefix">): string {
  return prefix === 16 ? "single address" : `network /${prefix + 16}`;
}

/** The colours of a layer, and the values for which they stand. */
export function MapSteps({ layer, most }: { layer: MapLayer; most: number }) {
  return (
    <ul class="steps">
      <li>
        <Swatch color={0} />
        {layer === "scanned" ? "not scanned" : "none"}
      </li>
      {mapSteps(layer, most).map(({ color, label, isHatched }) => (
        <li>
          <Swatch color={color} isHatched={isHatched} />
          {label}
        </li>
      ))}
    </ul>
  );
}

function Swatch({ color, isHatched }: { color: number; isHatched?: boolean }) {
  return (
    <svg width="18" height="18" aria-hidden="true" class={`swatch m${color}`}>
      <rect width="18" height="18" rx="3" />
      {isHatched && <path d="M0 6l6-6M0 12L12 0M0 18L18 0M6 18L18 6M12 18l6-6" />}
    </svg>
  );
}

/** A network of which the map shows all cells. */
export interface ShownPart {
  readonly address: number;
  /** Even, so that the network is a square. */
  readonly prefix: number;
}

/** The smallest part of a square, of whole blocks, with all its cells that have a value. */
export function fittedPart(
  { square: { address, prefix }, cells }: Pick<MapCells, "square" | "cells">,
): ShownPart {
  const [least, most] = [cells[0] ?? 0, cells.at(-1) ?? 2 ** 16 - 1];
  const bits = [8, 6, 4, 2].find((bits) => least >> (16 - bits) === most >> (16 - bits)) ?? 0;
  const first = least >> (16 - bits) << (16 - bits);
  return { address: address + first * 2 ** (16 - prefix), prefix: prefix + bits };
}

/** How the curve runs through the blocks of a part of a square, or through the cells of its only block. */
export function Curve(
  { square, shown: { address, prefix } }: { square: Square; shown: ShownPart },
) {
  const order = 4 - (prefix - square.prefix) / 2 || 4;
  const first = Math.floor(address / 2 ** (32 - prefix)) * 4 ** order;
  const depth = prefix / 2 + order;
  const size = 2 ** order;
  const scale = 128 / size;
  const points = Array.from({ length: 4 ** order }, (_, i) => pointAt(first + i, depth))
    .map(({ x, y }) => ({ x: (x % size + 0.5) * scale, y: (y % size + 0.5) * scale }));
  const [start, end] = [points[0], points[points.length - 1]];
  return (
    <svg
      class="curve"
      viewBox="0 0 128 128"
      width="128"
      height="128"
      role="img"
      aria-label="A Hilbert curve"
    >
      <path d={`M${points.map(({ x, y }) => `${x} ${y}`).join("L")}`} />
      <circle class="start" cx={start.x} cy={start.y} r="3.5" />
      <circle class="end" cx={end.x} cy={end.y} r="3.5" />
    </svg>
  );
}
