/**
 * Reads pages of servers.
 *
 * @module
 */
import {
  type Database,
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
import { networkOf } from "../../store/queries/filters.ts";
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
import type { PlaceLookup } from "../../app/geoip/places.ts";
import { listedServers } from "./listed_servers.ts";
import { keyValues, readPosition } from "./order_positions.ts";
import { testOfRows } from "./dashboard_filters.ts";

/** Limits of the methods to find a page with a picture. */
export interface PageSteps {
  /**
   * If the page is expected to need more entries of the order's index, the matching servers are sorted.
   * Reading an entry takes a tenth of the time of sorting a server, or less.
   */
  readonly expected: number;
  /** If fewer servers match, they are sorted when the expected number of entries has not filled the page. */
  readonly sorted: number;
  /** Number of entries that are read at once after the expected ones. */
  readonly batch: number;
}

/** The numbers that were fastest with a million servers (bench/web.ts). */
const STEPS: PageSteps = { expected: 100_000, sorted: 5000, batch: 100_000 };
/** Without a picture, rows are read in this number, at most this many times. */
const ROWS = 500;
const MOST_ROWS = 20_000;

/** The message while the picture of the database is being made. */
export const COUNTING = "The servers are being counted. Try again in some seconds.";

/** After or before a position in an order, or the start. */
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
  steps = STEPS,
): Promise<ServersPage> {
  const { filters, limit } = query;
  const isBackwards = query.cursor?.direction === "before";
  const direction = isBackwards ? "before" : "after";
  const isMatch = testOfRows(filters);
  const found: ListedServer[] = [];
  let { cursor } = query;
  for (let read = 0; found.length <= limit;) {
    const position = { ...query, cursor, limit: limit + 1 - found.length };
    const { ids, isEnd } = await nextIds(database, picture, position, steps);
    const servers = await listedServers(database, ids, places);
    // The picture may be older than the rows.
    found.push(...servers.filter(isMatch));
    if (isEnd) break;
    read += ids.length;
    if (picture === undefined && read >= MOST_ROWS) {
      throw new DataError("slow", COUNTING);
    }
    cursor = { direction, position: await readPosition(database, query.sort, ids.at(-1)!) };
  }
  const servers = found.slice(0, limit);
  const isMore = found.length > limit;
  if (isBackwards) servers.reverse();
  const cursorAt = async (direction: "after" | "before", server: ListedServer | undefined) =>
    server === undefined
      ? null
      : { direction, position: await readPosition(database, query.sort, server.id) };
  const hasPrevious = isBackwards ? isMore : query.cursor !== undefined;
  return {
    servers,
    previous: hasPrevious ? await cursorAt("before", servers[0]) : null,
    next: isBackwards || isMore ? await cursorAt("after", servers.at(-1)) : null,
    total: picture?.counts(filters).servers ?? null,
  };
}

/** Finds the next servers in the order that may match the filters. */
async function nextIds(
  database: Database,
  picture: CountedPicture | undefined,
  { filters, sort, limit, cursor }: ServersQuery,
  steps: PageSteps,
): Promise<NextIds> {
  const isAny = Object.values(filters).every((value) => value === undefined);
  if (isAny || picture === undefined) {
    const count = isAny ? limit : ROWS;
    const entries = { sort, filters: {}, cursor, conditions: [], limit: count };
    const ids = await entriesOf(database, entries);
    return { ids, isEnd: ids.length < count };
  }
  const matching = picture.counts(filters).servers;
  const all = picture.counts({}).servers;
  const expected = Math.max(limit, Math.ceil(1.5 * limit * all / Math.max(1, matching)));
  const entries = { sort, filters, cursor, limit };
  const bounds = boundsOf(database, sort, filters);
  const sorted = async () => {
    const among = picture.matchingIds(filters);
    const ids = await entriesOf(database, { ...entries, conditions: bounds, among });
    return { ids, isEnd: ids.length < limit };
  };
  if (expected > steps.expected) return await sorted();
  const isMatch = picture.isMatch(filters);
  const ids: number[] = [];
  for (let [at, size] = [cursor, expected];; size = steps.batch) {
    const read = await entriesOf(database, {
      ...entries,
      cursor: at,
      conditions: bounds,
      limit: size,
    });
    ids.push(...read.filter(isMatch));
    if (ids.length >= limit) return { ids: ids.slice(0, limit), isEnd: false };
    if (read.length < size) return { ids, isEnd: true };
    if (matching < steps.sorted) return await sorted();
    const position = await readPosition(database, sort, read.at(-1)!);
    at = { direction: cursor?.direction ?? "after", position };
  }
}

/** Which entries of an order to read. */
interface Entries {
  readonly sort: ServerOrder;
  readonly filters: DashboardFilters;
  readonly cursor: Cursor;
  /** Conditions of the entries. */
  readonly conditions: readonly Sql[];
  readonly limit: number;
  /** The `servers.id` of the only servers to read. Default: all servers, by the order's index. */
  readonly among?: readonly number[];
}

/** Reads the numbers of servers in an order; before a position, in reverse order. */
async function entriesOf(database: Database, entries: Entries): Promise<number[]> {
  const { sort, cursor, conditions, limit } = entries;
  const { table, isDescending } = SERVER_ORDERS[sort];
  const isDown = isDescending !== (cursor?.direction === "before");
  const from = tableOf(database, entries);
  const ids: number[] = [];
  for (const { position, keys } of partsAfter(database, entries, isDown)) {
    const { sql, values } = whereClause([...position, ...conditions]);
    const order = keys.map((key) => `${key}${isDown ? " desc" : ""}`).join(", ");
    const rows = `select ${ID[table]} as id from ${from.sql} ${sql} order by ${order} limit ?`;
    ids.push(...await idsOf(database, rows, [...from.values, ...values, limit - ids.length]));
    if (ids.length >= limit) break;
  }
  return ids;
}

/** SQL of the table whose rows are read. SQLite has no statistics: hints say what it reads first. */
function tableOf(database: Database, { sort, among }: Entries): Sql {
  const { table, index } = SERVER_ORDERS[sort];
  const name = `${TABLES[table]} ${table}`;
  const isSqlite = database.engine === "sqlite";
  if (among === undefined) {
    return { sql: isSqlite ? `${name} indexed by ${index}` : name, values: [] };
  }
  const list = isSqlite ? "json_each(?) m cross" : "unnest(?::integer[]) as m (value)";
  const sql = `${list} join ${name} on ${ID[table]} = m.value`;
  return { sql, values: [listValue(database, among)] };
}

/** The ids of a query, as one JSON text: SQLite reads a list in a sixth of the time of its rows. */
async function idsOf(
  database: Database,
  sql: string,
  values: readonly Value[],
): Promise<readonly number[]> {
  const list = database.engine === "postgres"
    ? "coalesce(json_agg(e.id)::text, '[]')"
    : "json_group_array(e.id)";
  const [{ ids }] = await database.rows(`select ${list} as ids from (${sql}) e`, values);
  return JSON.parse(String(ids));
}

/** A part of an order: the conditions of its position, and the keys that differ within it. */
interface OrderPart {
  readonly position: readonly Sql[];
  readonly keys: readonly string[];
}

/**
 * The servers after a cursor, in parts that follow one another. SQLite does not search an index of
 * expressions for a row of values, so a part compares only one key, and the keys before it are equal.
 */
function partsAfter(
  database: Database,
  { sort, filters, cursor }: Entries,
  isDown: boolean,
): readonly OrderPart[] {
  // With the filter `online`, all servers have the first key of this order in common.
  const common = sort === "players" && filters.online !== undefined ? 1 : 0;
  const keys = sortKeys(database, sort).slice(common);
  if (cursor === undefined) return [{ position: [], keys }];
  const values = keyValues(database, sort, cursor.position).slice(common);
  const compared = (first: number, end: number, operator: string): Sql => ({
    sql: `(${keys.slice(first, end).join(", ")}) ${operator} ` +
      `(${values.slice(first, end).map(({ sql }) => sql).join(", ")})`,
    values: values.slice(first, end).flatMap(({ values }) => values),
  });
  const after = isDown ? "<" : ">";
  if (database.engine === "postgres") {
    return [{ position: [compared(0, keys.length, after)], keys }];
  }
  return keys.map((_, i) => {
    const differs = keys.length - 1 - i;
    const equal = keys.slice(0, differs).map((_, key) => compared(key, key + 1, "="));
    const position = [...equal, compared(differs, differs + 1, after)];
    return { position, keys: keys.slice(differs) };
  });
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
