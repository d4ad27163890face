/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The map of a report: an image, its legend, and a table with the networks that have the most servers.
 *
 * @module
 */
import { pointAt } from "../browser/hilbert.ts";
import type { MapCells, Square } from "../queries/dashboard_data.ts";
import { BarTable } from "../components/bars.tsx";
import { Card } from "../components/blocks.tsx";
import { cellName, Curve, MapSteps, networkText } from "../components/map_legend.tsx";
import { countText } from "../components/quantities.ts";
import { mapImage } from "./map_image.ts";

/** Blocks of a side, and number of cells of a block. */
const BLOCKS = 16;
const CELLS = 256;
/** Number of networks in the table. */
const MAX_ROWS = 15;

/** The map with its legend and table. */
export function ReportMap({ cells }: { cells: MapCells }) {
  const { square } = cells;
  const most = cells.values.reduce((a, b) => Math.max(a, b), 0);
  const name = networkText(square);
  return (
    <Card
      title={`Map of ${square.prefix === 0 ? "IPv4 addresses" : name}`}
      aside={<small>{`${countText(cells.servers)} servers`}</small>}
    >
      <div class="map">
        <div class="map-canvas">
          <picture>
            <source
              srcset={mapImage(cells, "dark")}
              media="screen and (prefers-color-scheme: dark)"
            />
            <img
              src={mapImage(cells, "light")}
              alt={`Servers in ${name} on a Hilbert curve. The table has the same networks.`}
              width="768"
              height="768"
            />
          </picture>
          <Grid square={square} />
        </div>
        <div class="stack">
          <MapSteps layer="servers" most={most} />
          <div>
            <Curve square={square} shown={square} />
            <p class="hint">
              {`Each point is a ${cellName(square)}, each framed block a /${
                square.prefix + 8
              }. Addresses follow the line from the dot to the ring.`}
            </p>
          </div>
          <Networks {...cells} />
        </div>
      </div>
    </Card>
  );
}

/** Frames and numbers of the blocks above the image. */
function Grid({ square: { address, prefix } }: { square: Square }) {
  const first = Math.floor(address / 2 ** (32 - prefix)) * BLOCKS * BLOCKS;
  const blocks = Array.from({ length: BLOCKS * BLOCKS }, (_, number) => {
    const { x, y } = pointAt(first + number, prefix / 2 + 4);
    return { number, x: x % BLOCKS, y: y % BLOCKS };
  });
  const lines = Array.from({ length: BLOCKS - 1 }, (_, i) => `M${i + 1} 0V16M0 ${i + 1}H16`);
  return (
    <svg class="blocks" viewBox="0 0 16 16" aria-hidden="true">
      <path d={lines.join("")} />
      {blocks.map(({ number, x, y }) => <text x={x + 0.06} y={y + 0.28}>{number}</text>)}
    </svg>
  );
}

/** The blocks with the most servers. */
function Networks({ square, cells, values }: MapCells) {
  const counts = new Map<number, number>();
  for (const [i, cell] of cells.entries()) {
    const block = Math.floor(cell / CELLS);
    counts.set(block, (counts.get(block) ?? 0) + values[i]);
  }
  const blocks = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const prefix = square.prefix + 8;
  const rows = blocks.slice(0, MAX_ROWS).map(([block, servers]) => {
    const address = square.address + block * 2 ** (32 - prefix);
    return {
      name: <code>{networkText({ address, prefix })}</code>,
      share: servers / blocks[0][1],
      numbers: [countText(servers)],
    };
  });
  return <BarTable titles={["Network", "Bar", "Servers"]} rows={rows} />;
}
