/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The map of IPv4 addresses on a Hilbert curve.
 *
 * @module
 */
import type { MapCells, MapQuery } from "../data/dashboard_data.ts";
import { htmlDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/** What the map shows. The URL has the square as `prefix` in CIDR notation, and `layer`. */
export interface MapPageData {
  readonly query: MapQuery;
  /** The cells for the table below the map. The canvas reads them again from `/api/map`. */
  readonly cells: MapCells;
}

/** The page `/map`. */
export function mapPage({ cells }: MapPageData, context: PageContext): string {
  return htmlDocument({
    title: "Map",
    context,
    children: <p>{cells.servers} servers</p>,
    script: "map.js",
  });
}
