/**
 * Counts the servers of a server index by their IPv4 addresses.
 *
 * @module
 */
import type { MapCells, MapQuery, Square } from "../queries/dashboard_data.ts";
import type { MapLayer } from "../queries/schemas.ts";
import type { Matches } from "./match.ts";
import { SERVER_BITS, type ServerIndexReader } from "./server_index.ts";

/** Number of cells of a map. */
const CELLS = 65_536;

/** A question about servers. */
export type ServerMapQuery = MapQuery & { readonly layer: Exclude<MapLayer, "scanned"> };

/** Numbers of servers by cell. */
interface CellCounts {
  /** Servers that the filters match. */
  readonly servers: Uint32Array;
  readonly online: Uint32Array;
  /** When a server was last probed, minutes since 1970. */
  readonly probedMinute: Uint32Array;
}

/** The smallest square with two addresses, and so with those between them. */
export function smallestSquare(least: number, most: number): Square {
  const prefix =
    ([16, 8] as const).find((prefix) => least >>> 32 - prefix === most >>> 32 - prefix) ??
      0;
  return { prefix, address: prefix === 0 ? 0 : (least >>> 32 - prefix) * 2 ** (32 - prefix) };
}

/** Counts the servers in the cells of a square. */
export function countCells(
  serverIndex: ServerIndexReader,
  matches: Matches,
  { square = squareOf(serverIndex, matches), layer }: ServerMapQuery,
  now: number,
): MapCells {
  const counts = cellsOf(serverIndex, matches, square);
  const minute = Math.floor(now / 60_000);
  const [cells, values]: [number[], number[]] = [[], []];
  let servers = 0;
  for (let cell = 0; cell < CELLS; cell++) {
    const found = counts.servers[cell];
    if (found === 0) continue;
    servers += found;
    const value = layer === "servers"
      ? found
      : layer === "online"
      ? counts.online[cell]
      : Math.max(0, minute - counts.probedMinute[cell]);
    if (value === 0 && layer !== "age") continue;
    cells.push(cell);
    values.push(value);
  }
  return { square, cells, values, servers };
}

/** Servers without an IPv4 address, and removed ones. */
const OTHER = SERVER_BITS.isV6 | SERVER_BITS.noAddress | SERVER_BITS.removed;

/** The smallest square with all servers that filters match. */
function squareOf(
  { columns: { bits, address } }: ServerIndexReader,
  { count, failed }: Matches,
): Square {
  let [least, most] = [Infinity, -Infinity];
  for (let i = 0; i < count; i++) {
    if (bits[i] & OTHER || failed[i] !== 0) continue;
    if (address[i] < least) least = address[i];
    if (address[i] > most) most = address[i];
  }
  return least > most ? { address: 0, prefix: 0 } : smallestSquare(least, most);
}

function cellsOf(
  { columns: { bits, address, probedMinute } }: ServerIndexReader,
  { count, failed }: Matches,
  { address: first, prefix }: Square,
): CellCounts {
  const counts = {
    servers: new Uint32Array(CELLS),
    online: new Uint32Array(CELLS),
    probedMinute: new Uint32Array(CELLS),
  };
  const shift = 16 - prefix;
  // Shifts of 32 bits do nothing, so that a square of prefix 0 is compared by itself.
  const square = prefix === 0 ? 0 : first >>> (32 - prefix);
  for (let i = 0; i < count; i++) {
    if (bits[i] & OTHER || failed[i] !== 0) continue;
    if (prefix !== 0 && address[i] >>> (32 - prefix) !== square) continue;
    const cell = address[i] >>> shift & 0xffff;
    counts.servers[cell]++;
    if (bits[i] & SERVER_BITS.online) counts.online[cell]++;
    if (probedMinute[i] > counts.probedMinute[cell]) counts.probedMinute[cell] = probedMinute[i];
  }
  return counts;
}
