/**
 * Reads the rows of servers whose numbers are known.
 *
 * @module
 */
import { type Database, isInList, listValue, type Row } from "../../store/database/database.ts";
import {
  listedUptime,
  RECORD_COLUMNS,
  RECORD_TABLES,
  recordOf,
  UPTIME_COLUMNS,
  UPTIME_TABLES,
} from "../../store/mod.ts";
import type { GeoipLookup } from "../../app/geoip/mod.ts";
import { tagsExpression, tagsIn } from "../../store/rows/server_tags.ts";
import type { ListedServer } from "../queries/schemas.ts";
import { iconsAmong } from "./icons.ts";

/**
 * Reads servers, in the order of the list. A server that the database no longer has is omitted.
 *
 * @param ids `servers.id`.
 */
export async function listedServers(
  database: Database,
  ids: readonly number[],
  geoipOf: GeoipLookup,
): Promise<ListedServer[]> {
  if (ids.length === 0) return [];
  const rows = await database.rows(
    `select ${RECORD_COLUMNS}, s.id as id, ${UPTIME_COLUMNS}, ${
      tagsExpression(database)
    } as tags, ` +
      `s.notes from ${RECORD_TABLES} ${UPTIME_TABLES} ` +
      `where ${isInList(database, "s.id", "integer")}`,
    [listValue(database, ids)],
  );
  const hashes = rows.flatMap(({ favicon_hash: hash }) => hash === null ? [] : [String(hash)]);
  const icons = await iconsAmong(database, hashes);
  const servers = new Map(rows.map((row) => [Number(row.id), listedServer(row, geoipOf, icons)]));
  return ids.flatMap((id) => servers.get(id) ?? []);
}

function listedServer(row: Row, geoipOf: GeoipLookup, icons: ReadonlySet<string>): ListedServer {
  const record = recordOf(row);
  return {
    ...record,
    ...listedUptime(row),
    tags: tagsIn(String(row.tags)),
    notes: row.notes === null ? null : String(row.notes),
    id: Number(row.id),
    key: String(row.key),
    has_icon: icons.has(String(row.favicon_hash)),
    ...geoipOf(record.host),
  };
}
