/**
 * Reads all that a database has of one server.
 *
 * @module
 */
import { type Database, hexColumn, isInList, listValue } from "../../store/database/database.ts";
import { readEvents } from "./events.ts";
import {
  hasAddressIn,
  isServerNumber,
  othersOf,
  recentUptime,
  type ServerGroups,
  uptimeByDay,
} from "../../store/mod.ts";
import type { GeoipLookup } from "../../app/geoip/mod.ts";
import type { CachedServerIndex } from "../server_index/cached_server_index.ts";
import { serverId } from "../../core/record.ts";
import { type ServerDetails, type StoredReply, UPTIME_DAYS } from "../queries/dashboard_data.ts";
import type { ListedServer } from "../queries/schemas.ts";
import { listedServers } from "./listed_servers.ts";

/** Number of events of a server's page. */
const EVENTS = 50;

/** A server by its number and key. */
type Named = ServerDetails["aliases"][number];

/**
 * Reads the details of a server. Without a server index, its aliases are those with the same
 * address.
 *
 * @param id `servers.id`.
 * @returns `undefined` if there is no such server.
 */
export async function readDetails(
  database: Database,
  id: number,
  geoipOf: GeoipLookup,
  serverIndex: CachedServerIndex | undefined,
  groups: ServerGroups | undefined,
): Promise<ServerDetails | undefined> {
  if (!isServerNumber(id)) return undefined;
  const [server] = await listedServers(database, [id], geoipOf);
  if (server === undefined) return undefined;
  const [row] = await database.rows("select notes from servers where id = ?", [id]);
  return {
    server,
    tags: server.tags,
    notes: textOrNull(row?.notes),
    players: server.players ?? [],
    aliasOf: await firstRow(database, server),
    aliases: await aliasesOf(database, server, serverIndex),
    others: othersOf(groups?.get(id), id),
    uptime: await recentUptime(database, id, database.now()),
    days: await uptimeByDay(database, id, UPTIME_DAYS, database.now()),
    replies: await repliesOf(database, id),
    events: (await readEvents(database, { server: id, limit: EVENTS }, geoipOf)).events,
  };
}

function textOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : String(value);
}

/** The server of which a server is an alias. */
async function firstRow(
  database: Database,
  { alias_of: endpoint, id }: ListedServer,
): Promise<Named | null> {
  if (endpoint === null) return null;
  const [row] = await database.rows("select id, key from servers where key = ? and id <> ?", [
    endpoint,
    id,
  ]);
  return row === undefined ? null : { id: Number(row.id), key: String(row.key) };
}

/** The servers that name a server as their first row. */
async function aliasesOf(
  database: Database,
  server: ListedServer,
  serverIndex: CachedServerIndex | undefined,
): Promise<Named[]> {
  const { condition, value } = serverIndex === undefined
    ? hasAddressIn(database, [server.host.split("%")[0]])
    : {
      condition: isInList(database, "s.id", "integer"),
      value: listValue(database, serverIndex.aliasesOf(serverId(server))),
    };
  const rows = await database.rows(
    `select s.id, s.key from servers s where ${condition} and s.alias_of = ? and s.id <> ? ` +
      "order by s.key",
    [value, serverId(server), server.id],
  );
  return rows.map(({ id, key }) => ({ id: Number(id), key: String(key) }));
}

/** The raw replies; null if the role of the database may not read them. */
async function repliesOf(database: Database, server: number): Promise<StoredReply[] | null> {
  if (database.engine === "postgres") {
    const sql = "select has_table_privilege('replies', 'select')::integer as may";
    if ((await database.rows(sql))[0].may !== 1) return null;
  }
  const rows = await database.rows(
    `select protocol, seen_at, size, ${hexColumn(database, "data")} as data from replies ` +
      "where server = ? order by protocol",
    [server],
  );
  return rows.map(({ protocol, seen_at: at, size, data }) => ({
    protocol: String(protocol),
    seenAt: Number(at),
    size: Number(size),
    bytes: Uint8Array.fromHex(String(data)),
  }));
}
