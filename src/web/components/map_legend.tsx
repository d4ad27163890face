/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The legends of the map.
 *
 * @module
 */
import { pointAt } from "../browser/hilbert.ts";
import { mapSteps } from "../browser/map_scale.ts";
import { formatAddress } from "../../core/address.ts";
import type { Square } from "../queries/dashboard_data.ts";
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

/** How the curve runs through the 16 × 16 blocks of a square. */
export function Curve(
  { square: { address, prefix } }: { square: Square },
) {
  const order = 4;
  const first = Math.floor(address / 2 ** (32 - prefix)) * 4 ** order;
  const depth = prefix / 2 + order;
  const size = 2 ** order;
  const points = Array.from({ length: 4 ** order }, (_, i) => pointAt(first + i, depth))
    .map(({ x, y }) => ({ x: x % size * 8 + 4, y: y % size * 8 + 4 }));
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
