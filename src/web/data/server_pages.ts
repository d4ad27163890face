/**
 * Reads pages of servers.
 *
 * @module
 */
import {
  type Database,
  isInList,
  listValue,
  timeParameter,
  type Value,
} from "../../store/database/database.ts";
import type { Sql } from "../../store/queries/conditions.ts";
import {
  ID,
  SERVER_ORDERS,
  type ServerOrder,
  sortKeys,
  TABLES,
} from "../../store/queries/orders.ts";
import { whereClause } from "../../store/queries/page.ts";
import { addressColumn, addressValue } from "../../store/rows/addresses.ts";
import { storable, versionKey } from "../../store/rows/stored_values.ts";
import type { Address } from "../../core/address.ts";
import type { CountedPicture } from "../picture/counted_picture.ts";
import {
  type DashboardFilters,
  DataError,
  type ListedServer,
  type ServersPage,
  type ServersQuery,
} from "./dashboard_data.ts";
import { listedServers, type PlaceLookup } from "./listed_servers.ts";
import { matches, networkOf } from "./server_filters.ts";

/** If the page is expected to need more entries of the order's index, the matching servers are sorted. */
const MOST_EXPECTED = 20_000;
/** If fewer servers match, they are sorted when the expected number of entries has not filled the page. */
const MOST_SORTED = 100_000;
/** Number of entries that are read at once after the expected ones. */
const BATCH = 20_000;
/** Without a picture, rows are read in this number, at most this many times. */
const ROWS = 500;
const MOST_ROWS = 20_000;

/** The message while the picture of the database is being made. */
export const COUNTING = "The servers are being counted. Try again in some seconds.";

/** A position in an order: after or before a server, or the start. */
type Cursor = ServersQuery["cursor"];

/** The next servers in an order, and whether there is none after them. */
interface NextIds {
  readonly ids: readonly number[];
  readonly isEnd: boolean;
}

/** Reads a page of servers. Without a picture, only the first rows in the order are searched. */
export async function readPage(
  database: Database,
  picture: CountedPicture | undefined,
  query: ServersQuery,
  places: PlaceLookup,
): Promise<ServersPage> {
  const { filters, limit } = query;
  const isBackwards = query.cursor?.direction === "before";
  const direction = isBackwards ? "before" : "after";
  const found: ListedServer[] = [];
  let { cursor } = query;
  for (let read = 0; found.length <= limit;) {
    const position = { ...query, cursor, limit: limit + 1 - found.length };
    const { ids, isEnd } = await nextIds(database, picture, position);
    const servers = await listedServers(database, ids, places);
    // The picture may be older than the rows.
    found.push(...servers.filter((one) => matches(one, filters)));
    if (isEnd) break;
    read += ids.length;
    if (picture === undefined && read >= MOST_ROWS) {
      throw new DataError("slow", COUNTING);
    }
    cursor = { direction, id: ids.at(-1)! };
  }
  const servers = found.slice(0, limit);
  const isMore = found.length > limit;
  return {
    servers: isBackwards ? servers.reverse() : servers,
    hasPrevious: isBackwards ? isMore : query.cursor !== undefined,
    hasNext: isBackwards || isMore,
    total: picture?.counts(filters).servers ?? null,
  };
}

/** Finds the next servers in the order that may match the filters. */
async function nextIds(
  database: Database,
  picture: CountedPicture | undefined,
  { filters, sort, limit, cursor }: ServersQuery,
): Promise<NextIds> {
  const isAny = Object.values(filters).every((value) => value === undefined);
  if (isAny || picture === undefined) {
    const count = isAny ? limit : ROWS;
    const ids = await entriesOf(database, sort, cursor, [], count);
    return { ids, isEnd: ids.length < count };
  }
  const matching = picture.counts(filters).servers;
  const all = picture.counts({}).servers;
  const expected = Math.ceil(1.5 * limit * all / Math.max(1, matching));
  const sorted = async () => {
    const isListed = isInList(database, ID[SERVER_ORDERS[sort].table], "integer");
    const list = listValue(database, picture.matchingIds(filters));
    const ids = await entriesOf(
      database,
      sort,
      cursor,
      [{ sql: isListed, values: [list] }],
      limit,
      false,
    );
    return { ids, isEnd: ids.length < limit };
  };
  if (expected > MOST_EXPECTED) return await sorted();
  const isMatch = picture.isMatch(filters);
  const bounds = boundsOf(database, sort, filters);
  const ids: number[] = [];
  for (let [at, size] = [cursor, expected];; size = BATCH) {
    const entries = await entriesOf(database, sort, at, bounds, size);
    ids.push(...entries.filter(isMatch));
    if (ids.length >= limit) return { ids: ids.slice(0, limit), isEnd: false };
    if (entries.length < size) return { ids, isEnd: true };
    if (size === BATCH && matching < MOST_SORTED) return await sorted();
    at = { direction: cursor?.direction ?? "after", id: entries.at(-1)! };
  }
}

/** Reads the numbers of servers in an order, or before a server in reverse order. */
async function entriesOf(
  database: Database,
  sort: ServerOrder,
  cursor: Cursor,
  conditions: readonly Sql[],
  limit: number,
  byIndex = true,
): Promise<number[]> {
  const { table, isDescending, index } = SERVER_ORDERS[sort];
  const keys = sortKeys(database, sort);
  const isReversed = cursor?.direction === "before";
  const isDown = isDescending !== isReversed;
  const all = keys.join(", ");
  const position: Sql[] = cursor === undefined ? [] : [{
    sql: `(${all}) ${isDown ? "<" : ">"} ` +
      `(select ${all} from ${TABLES[table]} ${table} where ${ID[table]} = ?)`,
    values: [cursor.id],
  }];
  const { sql, values } = whereClause([...position, ...conditions]);
  const order = keys.map((key) => `${key}${isDown ? " desc" : ""}`).join(", ");
  // SQLite has no statistics.
  const hint = byIndex && database.engine === "sqlite" ? `indexed by ${index}` : "";
  const rows = await database.rows(
    `select ${ID[table]} as id from ${
      TABLES[table]
    } ${table} ${hint} ${sql} order by ${order} limit ?`,
    [...values, limit],
  );
  return rows.map(({ id }) => Number(id));
}

/**
 * The conditions that filters set for the columns of an order's index: with them, the index is not read
 * where no server can match.
 */
function boundsOf(database: Database, sort: ServerOrder, filters: DashboardFilters): Sql[] {
  const bounds: Sql[] = [];
  const add = (sql: string, ...values: Value[]) => bounds.push({ sql, values });
  const { online, minPlayers, maxPlayers, since, version, network } = filters;
  if (sort === "players") {
    const players = "coalesce(t.players_online, -1)";
    if (online !== undefined) add(`t.online = ${online}`);
    if (minPlayers !== undefined) add(`${players} >= ?`, minPlayers);
    if (maxPlayers !== undefined) add(`${players} <= ?`, maxPlayers);
  }
  if (sort === "changed" && since !== undefined) {
    add(`s.changed_at > ${timeParameter(database)}`, since);
  }
  if (sort === "version" && version?.length === 1) {
    const key = versionKey(storable(version[0]));
    add("s.version_key >= ? and s.version_key < ?", key, `${key}/`); // "/" comes after "."
  }
  if (sort === "address" && network?.length === 1) {
    const { start, end } = networkOf(network[0]);
    const last = (typeof end === "bigint" ? end - 1n : end - 1) as Address;
    const column = `s.${addressColumn(database)}`;
    const type = database.engine === "postgres" ? "::inet" : "";
    const values = [start, last].map((address) => addressValue(database, address));
    add(`${column} >= ?${type} and ${column} <= ?${type}`, ...values);
  }
  return bounds;
}
