/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The map of IPv4 addresses on a Hilbert curve.
 *
 * @module
 */
import { mapSteps, stepOf } from "../browser/map_scale.ts";
import { MAP_LAYERS, type MapCells, type MapLayer, type MapQuery } from "../data/dashboard_data.ts";
import { formatAddress } from "../../core/address.ts";
import { filterQuery } from "../api/filters.ts";
import { FilterChips } from "../parts/facet_list.tsx";
import { Card, Empty, PageHead, Tabs } from "../parts/blocks.tsx";
import { Bar } from "../parts/server_parts.tsx";
import { cellName, Curve, MapSteps, networkText } from "../parts/map_parts.tsx";
import { serversUrl, urlOf } from "../parts/links.ts";
import { countText, percentText } from "../parts/quantities.ts";
import { htmlDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/** What the map shows. The URL has the square as `prefix` in CIDR notation, and `layer`. */
export interface MapPageData {
  readonly query: MapQuery;
  /** The cells for the table below the map. The canvas reads them again from `/api/map`. */
  readonly cells: MapCells;
}

/** The layers in words. */
const LAYERS: Readonly<Record<MapLayer, string>> = {
  servers: "Servers",
  online: "Online",
  share: "Share of the filter",
  age: "Last probe",
  scanned: "Scanned space",
};

/** Number of rows of the table. */
const MAX_ROWS = 25;

/** The page `/map`. */
export function mapPage({ query, cells }: MapPageData, context: PageContext): string {
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
        <Trail query={query} />
        <FilterChips filters={query.filters} path="/map" more={squareOf(query)} />
        {query.layer === "share" && <ShareForm query={query} />}
        <Picture query={query} cells={cells} />
        <CellTable query={query} cells={cells} />
      </>
    ),
  });
}

/** The canvas that the script fills, and what stands beside it. */
function Picture({ query, cells }: MapPageData) {
  return (
    <div
      class="map"
      data-map
      data-address={query.address}
      data-prefix={query.prefix}
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
            networkText(query)
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

function Side({ query, cells }: MapPageData) {
  return (
    <div class="map-side stack">
      <div class="needs-script">
        <Card title="Chosen cell">
          <p id="cell" data-cell aria-live="polite">
            {`Each cell is a ${cellName(query)}. Choose one with the pointer or the arrow keys.`}
          </p>
          <p class="actions">
            <a class="button" data-link="servers" hidden href="/servers">List its servers</a>
            <a class="button" data-link="zoom" hidden href="/map">Enlarge</a>
          </p>
        </Card>
      </div>
      <Legend query={query} cells={cells} />
      <CurveLegend query={query} />
    </div>
  );
}

/** The query of URLs without the square. */
function queryOf({ layer, filters }: MapQuery): string {
  return [`layer=${layer}`, filterQuery(filters)].filter((part) => part !== "").join("&");
}

function mapUrl(query: MapQuery): string {
  return urlOf("/map", query.filters, squareOf(query));
}

/** The parameters of URLs for the layer and the square. */
function squareOf(query: MapQuery) {
  return {
    layer: query.layer === "servers" ? undefined : query.layer,
    prefix: query.prefix === 0 ? undefined : networkText(query),
  };
}

/** The squares around the shown one. */
function Trail({ query }: { query: MapQuery }) {
  const squares = ([0, 8, 16] as const).filter((prefix) => prefix <= query.prefix)
    .map((prefix) => ({
      ...query,
      prefix,
      address: Math.floor(query.address / 2 ** (32 - prefix)) * 2 ** (32 - prefix),
    }));
  return (
    <nav class="trail" aria-label="Enlarged networks">
      {squares.map((square, i) => (
        <>
          {i > 0 && <span aria-hidden="true">›</span>}
          <a
            href={mapUrl(square)}
            aria-current={square.prefix === query.prefix ? "page" : undefined}
          >
            {square.prefix === 0 ? "All of IPv4" : networkText(square)}
          </a>
        </>
      ))}
    </nav>
  );
}

/** The form for the software whose share is shown. */
function ShareForm({ query }: { query: MapQuery }) {
  const { software = [] } = query.filters;
  return (
    <form class="search" action="/map">
      <input type="hidden" name="layer" value="share" />
      {query.prefix > 0 && <input type="hidden" name="prefix" value={networkText(query)} />}
      <input
        type="search"
        name="software"
        value={software[0] ?? ""}
        placeholder="Software, such as Paper"
        aria-label="Software"
      />
      <button type="submit">Show its share</button>
    </form>
  );
}

function Legend({ query, cells }: { query: MapQuery; cells: MapCells }) {
  const most = cells.values.reduce((a, b) => Math.max(a, b), 0);
  return (
    <Card title={LAYERS[query.layer]}>
      <MapSteps layer={query.layer} most={most} />
    </Card>
  );
}

/** How the curve runs, as a picture of 16 × 16 blocks and a text. */
function CurveLegend({ query }: { query: MapQuery }) {
  return (
    <Card title="How to read the map">
      <Curve square={query} />
      <p class="hint">
        {`The addresses follow this line from the dot to the ring, block by block. Neighbours on the line stay neighbours on the map, and a network is always a square or two squares side by side. Each framed block is a /${
          query.prefix + 8
        }; its number is the ${
          ["first", "second", "third"][query.prefix / 8]
        } number of its addresses.`}
      </p>
      <p class="hint">
        Click or press Enter to enlarge a block, Escape or the wheel to go back. With Shift, arrow
        keys go a block at a time.
      </p>
    </Card>
  );
}

/** The cells with the highest values as a table; those that were probed last of the layer of ages. */
function CellTable({ query, cells }: MapPageData) {
  const { layer } = query;
  const sign = layer === "age" ? 1 : -1;
  const rows = cells.cells.map((cell, i) => ({ cell, value: cells.values[i] }))
    .sort((a, b) => sign * (a.value - b.value) || a.cell - b.cell);
  if (rows.length === 0) return <NoCells layer={layer} />;
  const noun = query.prefix === 16 ? "addresses" : "networks";
  const part = rows.length > MAX_ROWS
    ? `the first ${MAX_ROWS} of ${countText(rows.length)} ${noun}`
    : `all ${noun}`;
  const most = cells.values.reduce((a, b) => Math.max(a, b), 0);
  const hasBars = layer !== "age" && layer !== "scanned";
  return (
    <Card title={`${LAYERS[layer]}: ${part}`}>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Network</th>
              <th scope="col">{LAYERS[layer]}</th>
              {hasBars && <th scope="col" class="wide-only">Bar</th>}
              <th scope="col">Links</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, MAX_ROWS).map((row) => (
              <CellRow query={query} {...row} most={hasBars ? most : undefined} />
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  );
}

function NoCells({ layer }: { layer: MapLayer }) {
  const what = layer === "scanned" ? "scan" : "server";
  return (
    <div class="card">
      <Empty title={`No ${what} of these addresses is stored.`}>
        <p>
          <a href="/map">Show all addresses</a>
        </p>
      </Empty>
    </div>
  );
}

/** A cell. `most` is the highest value for its bar. */
function CellRow(
  { query, cell, value, most }: { query: MapQuery; cell: number; value: number; most?: number },
) {
  const network = cellNetwork(query, cell);
  return (
    <tr>
      <td>
        <code>{network}</code>
      </td>
      <td>{valueText(query.layer, value)}</td>
      {most !== undefined && (
        <td class="wide-only cell-bar">
          <Bar share={value / most} />
        </td>
      )}
      <td class="links">
        <a href={serversUrl({ ...query.filters, network: [network] })}>Servers</a>
        {query.prefix < 16 && <a href={mapUrl(blockOf(query, cell))}>Map</a>}
      </td>
    </tr>
  );
}

/** The address of a cell. */
function addressOf({ address, prefix }: MapQuery, cell: number): number {
  return address + cell * 2 ** (16 - prefix);
}

function cellNetwork(query: MapQuery, cell: number): string {
  const address = formatAddress(addressOf(query, cell));
  return query.prefix === 16 ? address : `${address}/${query.prefix + 16}`;
}

/** The square that shows the block of a cell. */
function blockOf(query: MapQuery, cell: number): MapQuery {
  const prefix = query.prefix === 0 ? 8 : 16;
  const size = 2 ** (32 - prefix);
  return { ...query, prefix, address: Math.floor(addressOf(query, cell) / size) * size };
}

function valueText(layer: MapLayer, value: number): string {
  if (layer === "share") return percentText(value / 1000);
  if (layer === "servers" || layer === "online") return countText(value);
  return stepOf(mapSteps(layer, value), value)?.label ?? "none";
}
