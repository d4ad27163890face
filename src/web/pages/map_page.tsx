/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The map of IPv4 addresses on a Hilbert curve.
 *
 * @module
 */
import type { MapCells, MapQuery, Square } from "../queries/dashboard_data.ts";
import { MAP_LAYERS } from "../queries/schemas.ts";
import { filterQuery } from "../queries/filters.ts";
import { FilterChips } from "../components/facet_list.tsx";
import { Card, Empty, PageHead, Tabs } from "../components/blocks.tsx";
import {
  cellName,
  Curve,
  fittedPart,
  MapSteps,
  networkText,
  type ShownPart,
} from "../components/map_legend.tsx";
import { countText } from "../components/quantities.ts";
import { htmlDocument } from "./layout.tsx";
import { CellTable, LAYERS, mapUrl, squareParameters } from "./map_table.tsx";
import type { PageContext } from "./page_context.ts";

/** What the map shows. The URL has the square as `prefix` in CIDR notation, `layer`, and `page`. */
export interface MapPageData {
  readonly query: MapQuery;
  /** The cells for the table below the map. The canvas reads them again from `/api/map`. */
  readonly cells: MapCells;
  /** The page of the table, from 1. */
  readonly page: number;
}

export function mapPage({ query, cells, page }: MapPageData, context: PageContext): string {
  const { square } = cells;
  return htmlDocument({
    title: "Map",
    context,
    scripts: ["map"],
    children: (
      <>
        <PageHead title="Map of IPv4 addresses">
          <p class="matched">
            <b>{countText(cells.servers)}</b> {cells.servers === 1 ? "server" : "servers"}
          </p>
          <Tabs
            label="Layer"
            tabs={MAP_LAYERS.map((layer) => ({
              name: LAYERS[layer],
              url: mapUrl({ ...query, layer }),
              isChosen: layer === query.layer,
            }))}
          />
        </PageHead>
        <Trail query={query} square={square} shown={shownPart({ query, cells })} />
        <FilterChips filters={query.filters} path="/map" more={squareParameters(query)} />
        <Picture query={query} cells={cells} />
        <CellTable query={query} cells={cells} page={page} context={context} />
      </>
    ),
  });
}

/** Of the square that fits all servers, the smallest part with them; of a chosen one, the whole. */
function shownPart({ query, cells }: PictureData): ShownPart {
  return query.square === undefined ? fittedPart(cells) : cells.square;
}

/** A map without the table. */
type PictureData = Omit<MapPageData, "page">;

/** The canvas that the script fills, and what stands beside it. */
function Picture({ query, cells }: PictureData) {
  const { square } = cells;
  const shown = shownPart({ query, cells });
  return (
    <div
      class="map"
      data-map
      data-address={square.address}
      data-prefix={square.prefix}
      data-shown-address={shown.address}
      data-shown-prefix={shown.prefix}
      data-layer={query.layer}
      data-query={queryOf(query)}
    >
      <div class="map-canvas">
        <noscript>
          <Empty title="The picture needs a script. The table below has the same values." />
        </noscript>
        <canvas
          id="map"
          tabindex={0}
          role="application"
          aria-label={`Map of ${
            networkText(shown)
          } on a Hilbert curve. Arrow keys choose a cell, Enter enlarges, Escape goes back.`}
          aria-describedby="cell"
        >
        </canvas>
      </div>
      <Side query={query} cells={cells} />
      <div class="tip" data-tip hidden></div>
    </div>
  );
}

function Side({ query, cells }: PictureData) {
  return (
    <div class="map-side stack">
      <div class="needs-script">
        <Card title="Chosen cell">
          <p id="cell" data-cell aria-live="polite">
            {`Each cell is a ${
              cellName(cells.square)
            }. Choose one with the pointer or the arrow keys.`}
          </p>
          <p class="actions">
            <a class="button" data-link="servers" hidden href="/servers">List its servers</a>
            <a class="button" data-link="zoom" hidden href="/map">Enlarge</a>
          </p>
        </Card>
      </div>
      <Legend query={query} cells={cells} />
      <CurveLegend square={cells.square} shown={shownPart({ query, cells })} />
    </div>
  );
}

/** The query of URLs without the square. */
function queryOf({ layer, filters }: MapQuery): string {
  return [`layer=${layer}`, filterQuery(filters)].filter((part) => part !== "").join("&");
}

/** The squares around the shown one. */
function Trail(
  { query, square: { address, prefix: last }, shown }: {
    query: MapQuery;
    square: Square;
    shown: ShownPart;
  },
) {
  const squares = ([0, 8, 16] as const).filter((prefix) => prefix <= last)
    .map((prefix) => ({
      prefix,
      address: Math.floor(address / 2 ** (32 - prefix)) * 2 ** (32 - prefix),
    }));
  return (
    <nav class="trail" aria-label="Enlarged networks">
      {squares.map((square, i) => (
        <>
          {i > 0 && <span aria-hidden="true">›</span>}
          <a
            href={mapUrl({ ...query, square })}
            aria-current={square.prefix === shown.prefix ? "page" : undefined}
          >
            {square.prefix === 0 ? "All of IPv4" : networkText(square)}
          </a>
        </>
      ))}
      {shown.prefix > last && (
        <>
          <span aria-hidden="true">›</span>
          <a href={mapUrl({ ...query, square: undefined })} aria-current="page">
            {networkText(shown)}
          </a>
        </>
      )}
    </nav>
  );
}

function Legend({ query, cells }: PictureData) {
  const most = cells.values.reduce((a, b) => Math.max(a, b), 0);
  return (
    <Card title={LAYERS[query.layer]}>
      <MapSteps layer={query.layer} most={most} />
    </Card>
  );
}

/** How the curve runs, as a picture of the blocks and a text. */
function CurveLegend({ square, shown }: { square: Square; shown: ShownPart }) {
  return (
    <Card title="How to read the map">
      <Curve square={square} shown={shown} />
      <p class="hint">
        {`The addresses follow this line from the dot to the ring, ${
          shown.prefix === square.prefix + 8 ? "cell by cell" : "block by block"
        }. Neighbours on the line stay neighbours on the map, and a network is always a square or two squares side by side. Each framed block is a /${
          square.prefix + 8
        }; its number is the ${
          ["first", "second", "third"][square.prefix / 8]
        } number of its addresses.`}
      </p>
      <p class="hint">
        Click or press Enter to enlarge a block, Escape to go back; or turn the wheel with Ctrl.
        With Shift, arrow keys go a block at a time.
      </p>
    </Card>
  );
}
