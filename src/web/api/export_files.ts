/**
 * Servers as files: CSV and NDJSON with the filters of a page. They are read page by page, so that
 * memory stays bounded and clients may stop at any time.
 *
 * @module
 */
import { GEOIP_FIELDS } from "../../app/geoip/geoip_fields.ts";
import type { ServerRecord } from "../../core/record.ts";
import { csvFormat } from "../../sinks/csv.ts";
import { ndjsonFormat } from "../../sinks/json.ts";
import type { Format } from "../../sinks/sink.ts";
import {
  type DashboardData,
  DataError,
  type ServersPage,
  type ServersQuery,
} from "../queries/dashboard_data.ts";
import { LISTED_FIELDS } from "../queries/schemas.ts";
import type { StreamedContent } from "./answer.ts";
import { MAX_ROWS } from "../queries/common_parameters.ts";
import type { RouteRequest } from "./route.ts";

/** Maximum number of exports that may run at the same time. */
export const MAX_EXPORTS = 8;

const FORMATS = [
  { suffix: "csv", contentType: "text/csv; charset=utf-8", format: csvFormat },
  { suffix: "ndjson", contentType: "application/x-ndjson", format: ndjsonFormat },
] as const;

/** The servers of a page, and of all pages after it, as files. */
export const FILES = {
  names: ["sort", "group"],
  defaults: { sort: "address", limit: MAX_ROWS },
  formats: FORMATS.map(({ suffix, contentType, format }) => ({
    suffix,
    // The first page is read before: an error is then a response, and not a broken file.
    content(
      { query, page }: { readonly query: ServersQuery; readonly page: ServersPage },
      { data, hasGeoip, exports }: RouteRequest,
    ): StreamedContent {
      const onEnd = exports.open();
      if (onEnd === undefined) {
        throw new DataError("slow", `${MAX_EXPORTS} other exports are running.`);
      }
      const fields = hasGeoip ? [...LISTED_FIELDS, ...GEOIP_FIELDS] : LISTED_FIELDS;
      return {
        contentType,
        headers: { "content-disposition": `attachment; filename="servers.${suffix}"` },
        stream: (signal) => rows(data, query, page, format(fields), signal),
        onEnd,
      };
    },
  })),
} as const;

export function isFile(path: string): boolean {
  return FORMATS.some(({ suffix }) => path === `/servers.${suffix}`);
}

/** The rows of all pages. */
async function* rows(
  data: DashboardData,
  query: ServersQuery,
  first: ServersPage,
  format: Format,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  yield encoder.encode(format.head);
  for (let page = first; !signal.aborted;) {
    const lines = page.servers.map((server) =>
      format.row(server as unknown as ServerRecord, false)
    );
    yield encoder.encode(lines.join(""));
    if (page.next === null) return;
    page = await data.servers({ ...query, cursor: page.next });
  }
}
