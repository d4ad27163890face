/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The table below the map: its cells page by page, and the links of each.
 *
 * @module
 */
import { formatAddress } from "../../core/address.ts";
import { mapSteps, stepOf } from "../browser/map_scale.ts";
import type { MapCells, MapQuery, Square } from "../queries/dashboard_data.ts";
import type { MapLayer } from "../queries/schemas.ts";
import { Card, CommandText, Empty } from "../components/blocks.tsx";
import { serversUrl, urlOf } from "../components/links.ts";
import { networkText } from "../components/map_legend.tsx";
import { countText } from "../components/quantities.ts";
import { Bar } from "../components/server_cells.tsx";
import { safeText } from "../components/texts.tsx";
import { smallestSquare } from "../server_index/map_cells.ts";
import { commandFor, type PageContext } from "./page_context.ts";

/** The layers in words. */
export const LAYERS: Readonly<Record<MapLayer, string>> = {
  servers: "Servers",
  online: "Online",
  age: "Last probe",
  scanned: "Scanned space",
};

/** Number of rows of a page. */
const PAGE = 25;

/** The URL of a map, at a page of its table. */
export function mapUrl(query: MapQuery, page = 1): string {
  return urlOf("/map", query.filters, {
    ...squareParameters(query),
    page: page === 1 ? undefined : page,
  });
}

/** The parameters of URLs for the layer and the square. */
export function squareParameters({ layer, square }: MapQuery) {
  return {
    layer: layer === "servers" ? undefined : layer,
    prefix: square && networkText(square),
  };
}

/** A row of the table: consecutive addresses with one value. */
interface Row {
  readonly first: number;
  readonly last: number;
  readonly value: number;
}

/**
 * The rows of a map: the cells with the highest values first, or those that were probed last.
 * Scanned networks are in the order of their addresses, and neighbours with one value are one row.
 */
export function rowsOf(layer: MapLayer, { square, cells, values }: MapCells): readonly Row[] {
  const size = 2 ** (16 - square.prefix);
  const rows: Row[] = [];
  for (const [i, cell] of cells.entries()) {
    const first = square.address + cell * size;
    const [value, before] = [values[i], rows.at(-1)];
    const isNext = layer === "scanned" && before?.last === first - 1 && before.value === value;
    if (isNext) rows.pop();
    rows.push({ first: isNext ? before.first : first, last: first + size - 1, value });
  }
  if (layer === "scanned") return rows;
  const sign = layer === "age" ? 1 : -1;
  return rows.sort((a, b) => sign * (a.value - b.value) || a.first - b.first);
}

/** Consecutive addresses in the shortest form: an address, a network, or a range. */
export function rangeText({ first, last }: Pick<Row, "first" | "last">): string {
  const size = last - first + 1;
  const bits = Math.log2(size);
  if (size === 1) return formatAddress(first);
  return Number.isInteger(bits) && first % size === 0
    ? `${formatAddress(first)}/${32 - bits}`
    : `${formatAddress(first)}-${formatAddress(last)}`;
}

/** A page of the table. Bars are relative to the fullest cell of the map. */
export function CellTable(
  { query, cells, page: wanted, context }: {
    query: MapQuery;
    cells: MapCells;
    page: number;
    context: PageContext;
  },
) {
  const { layer } = query;
  const rows = rowsOf(layer, cells);
  if (rows.length === 0) return <NoCells layer={layer} context={context} />;
  const page = Math.min(wanted, Math.ceil(rows.length / PAGE));
  const start = (page - 1) * PAGE;
  const end = Math.min(start + PAGE, rows.length);
  const noun = cells.square.prefix === 16 && layer !== "scanned" ? "addresses" : "networks";
  const part = rows.length > PAGE
    ? `${countText(start + 1)} to ${countText(end)} of ${countText(rows.length)} ${noun}`
    : `all ${noun}`;
  const hasBars = layer !== "age" && layer !== "scanned" && rows[0].value > 1;
  const most = hasBars ? rows[0].value : undefined;
  return (
    <Card title={`${LAYERS[layer]}: ${part}`}>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <th scope="col">Network</th>
              <th scope="col">{LAYERS[layer]}</th>
              {hasBars && <th scope="col" class="wide-only cell-bar">Bar</th>}
              <th scope="col">Links</th>
            </tr>
          </thead>
          <tbody>
            {rows.slice(start, end).map((row) => (
              <CellRow query={query} square={cells.square} row={row} most={most} />
            ))}
          </tbody>
        </table>
      </div>
      {rows.length > PAGE && (
        <nav class="paging" aria-label="Pages of the table">
          <PageLink query={query} page={page - 1} isThere={page > 1}>← Previous</PageLink>
          <PageLink query={query} page={page + 1} isThere={end < rows.length}>Next →</PageLink>
        </nav>
      )}
    </Card>
  );
}

function PageLink(
  { query, page, isThere, children }: {
    query: MapQuery;
    page: number;
    isThere: boolean;
    children: string;
  },
) {
  return isThere
    ? <a class="button" href={mapUrl(query, page)}>{children}</a>
    : <span class="button" aria-disabled="true">{children}</span>;
}

function NoCells({ layer, context }: { layer: MapLayer; context: PageContext }) {
  const what = layer === "scanned" ? "scan" : "server";
  return (
    <div class="card">
      <Empty title={`${safeText(context.database, 60)} has no ${what} of these addresses.`}>
        <p>
          <a href="/map">Show all addresses</a>, or scan more:{" "}
          <CommandText text={commandFor(context, "scan 192.168.1.0/24 -o DATABASE")} />
        </p>
      </Empty>
    </div>
  );
}

/** A row. `most` is the highest value of the map, for the bar. */
function CellRow(
  { query, square, row, most }: { query: MapQuery; square: Square; row: Row; most?: number },
) {
  const network = rangeText(row);
  const inner = smallestSquare(row.first, row.last);
  return (
    <tr>
      <td>
        <code>{network}</code>
      </td>
      <td>{valueText(query.layer, row.value)}</td>
      {most !== undefined && (
        <td class="wide-only cell-bar">
          <Bar share={row.value / most} />
        </td>
      )}
      <td class="links">
        <a href={serversUrl({ ...query.filters, network: [network] })}>Servers</a>
        {inner.prefix > square.prefix && <a href={mapUrl({ ...query, square: inner })}>Map</a>}
      </td>
    </tr>
  );
}

function valueText(layer: MapLayer, value: number): string {
  if (layer === "servers" || layer === "online") return countText(value);
  return stepOf(mapSteps(layer, value), value)?.label ?? "none";
}
