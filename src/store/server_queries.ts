/**
 * Reads servers from a database.
 *
 * @module
 */
import { type Endpoint, parseAddress } from "../core/address.ts";
import {
  type Database,
  isInList,
  listValue,
  type Row,
  type Sql,
  type Value,
} from "./database/database.ts";
import { conditionsOf, type ServerFilters } from "./queries/filters.ts";
import { isBehind, orderBy, type ServerOrder, sortKeys, startAfter } from "./queries/orders.ts";
import { ofServer, type ServerCondition } from "./queries/server_conditions.ts";
import { whereClause } from "./queries/order_index.ts";
import { countUpTo, pageOf } from "./queries/page.ts";
import { canonicalHost } from "./rows/addresses.ts";
import { type BrokenCell, readTexts } from "./rows/json_cells.ts";
import {
  type ListedRecord,
  RECORD_COLUMNS,
  RECORD_TABLES,
  recordOf,
} from "./rows/stored_record.ts";
import { tagsExpression, tagsIn } from "./rows/server_tags.ts";
import {
  type ListedUptime,
  listedUptime,
  UPTIME_COLUMNS,
  UPTIME_TABLES,
} from "./uptime/watched_share.ts";

/** Filters, order and limit of a query for servers. */
export interface ServerSelection extends ServerFilters {
  /** Sort order, one of {@linkcode SERVER_ORDERS}. */
  readonly sort: ServerOrder;
  /** Maximum number of servers. Default: no limit. */
  readonly limit?: number;
  /**
   * Only the servers after the one with this `servers.id` in the sort order, by the values that this
   * server has now. Default: from the first one on.
   */
  readonly after?: number;
  /** The `servers.id` of servers to leave out. Default: none. */
  readonly hidden?: ReadonlySet<number>;
  /** Only servers with one of these `servers.id`. Default: all servers. */
  readonly among?: readonly number[];
}

/** A server as {@linkcode selectServers} returns it. */
export interface SelectedServer extends ListedRecord, ListedUptime {
  /** Tags that users gave to the server, in order. */
  readonly tags: readonly string[];
  /** Notes of users on the server. */
  readonly notes: string | null;
}

/**
 * Streams the selected servers of a database.
 *
 * @param onBroken Receives each cell that another program wrote and that cannot be read. It counts as
 * empty.
 */
export async function* selectServers(
  database: Database,
  selection: ServerSelection,
  onBroken?: (cell: BrokenCell) => void,
): AsyncIterable<SelectedServer> {
  const { sql, values } = await queryFor(database, selection);
  for await (const row of database.stream(sql, values)) {
    const { tags, notes } = row;
    const added = { ...listedUptime(row), tags: tagsIn(String(tags)) };
    yield { ...recordOf(row, onBroken), ...added, notes: notes === null ? null : String(notes) };
  }
}

/** Maximum number of servers of a page, which indexes find. More servers are read by one query. */
const MAX_PAGE = 1000;

async function queryFor(database: Database, selection: ServerSelection): Promise<Sql> {
  const { sort, limit, after } = selection;
  const start = after === undefined ? undefined : startAfter(database, sort, after);
  const conditions = await selectionConditions(database, selection);
  const order = orderBy(sort, sortKeys(database, sort));
  const tags = tagsExpression(database);
  const select =
    `select ${RECORD_COLUMNS}, ${UPTIME_COLUMNS}, ${tags} as tags, s.notes from ${RECORD_TABLES} ` +
    UPTIME_TABLES;
  if (limit === undefined || limit > MAX_PAGE) {
    const { sql, values } = whereClause(
      start === undefined ? conditions : [isBehind(database, sort, start), ...conditions],
    );
    return limit === undefined
      ? { sql: `${select} ${sql} ${order}`, values }
      : { sql: `${select} ${sql} ${order} limit ?`, values: [...values, limit] };
  }
  const page = listValue(database, await pageOf(database, { conditions, sort, limit, start }));
  return {
    sql: `${select} where ${isInList(database, "s.id", "integer")} ${order}`,
    values: [page],
  };
}

/** Servers of a page of {@linkcode serverPages}. */
const PAGE = 500;

/** Reads the numbers and keys of the selected servers page by page, in the order of numbers. */
export async function* serverPages(
  database: Database,
  selection: Omit<ServerSelection, "sort" | "limit" | "after"> = {},
): AsyncIterable<readonly { readonly id: number; readonly key: string }[]> {
  const conditions = await selectionConditions(database, selection);
  for (let last = 0;;) {
    const after: ServerCondition = { table: "s", sql: "s.id > ?", values: [last] };
    const { sql, values } = whereClause([after, ...conditions]);
    const rows = await database.rows(
      "select s.id as id, s.key as key from servers s join server_state t on t.server = s.id " +
        `${sql} order by s.id limit ${PAGE}`,
      values,
    );
    yield rows.map(({ id, key }) => ({ id: Number(id), key: String(key) }));
    if (rows.length < PAGE) return;
    last = Number(rows.at(-1)!.id);
  }
}

/** The conditions of a selection. */
async function selectionConditions(
  database: Database,
  { among, hidden, ...filters }: Omit<ServerSelection, "sort">,
): Promise<ServerCondition[]> {
  const conditions = await conditionsOf(database, filters);
  const isOneOf = (ids: Iterable<number>) =>
    ofServer((s) => isInList(database, `${s}id`, "integer"), [listValue(database, [...ids])]);
  if (among !== undefined) conditions.unshift(isOneOf(among));
  if (hidden !== undefined && hidden.size > 0) {
    const { sql, values } = isOneOf(hidden);
    conditions.push({ table: "s", sql: `not (${sql})`, values });
  }
  return conditions;
}

/** The number of servers that a selection matches, whatever its limit; `most` if it matches more. */
export async function countServers(
  database: Database,
  selection: ServerSelection,
  most: number,
): Promise<number> {
  const { sort, after } = selection;
  const start = after === undefined ? undefined : startAfter(database, sort, after);
  const conditions = await selectionConditions(database, selection);
  return await countUpTo(database, { conditions, sort, start, limit: most });
}

/**
 * Streams all servers of a database as they are stored: in no order, so nothing is sorted.
 *
 * @param onBroken As for {@linkcode selectServers}.
 */
export async function* allServers(
  database: Database,
  onBroken?: (cell: BrokenCell) => void,
): AsyncIterable<ListedRecord> {
  const sql = `select ${RECORD_COLUMNS} from ${RECORD_TABLES}`;
  for await (const row of database.stream(sql)) yield recordOf(row, onBroken);
}

/** Streams the servers of a database whose ids are above a number, in the order of ids. */
export async function* serversAfter(
  database: Database,
  id: number,
): AsyncIterable<ListedRecord> {
  const sql = `select ${RECORD_COLUMNS} from ${RECORD_TABLES} where s.id > ? order by s.id`;
  for await (const row of database.stream(sql, [id])) yield recordOf(row);
}

/** Streams the numbers and addresses of all servers, in no order. */
export async function* serverHosts(
  database: Database,
): AsyncIterable<{ readonly id: number; readonly host: string }> {
  for await (const { id, address } of database.stream("select id, address from servers")) {
    yield { id: Number(id), host: canonicalHost(String(address)) };
  }
}

/** The highest id of a server; 0: the database has none. */
export async function lastServerId(database: Database): Promise<number> {
  const [{ id }] = await database.rows("select max(id) as id from servers");
  return Number(id ?? 0);
}

/** When each server last went online, by `servers.id`; null: no event says so. */
const ONLINE_TIMES =
  "left join (select server, max(at) as at from events where kind = 'online' group by server) w " +
  "on w.server = s.id";

/** The endpoint and the protocols of a server. */
export interface KnownEndpoint {
  /** `servers.key`. */
  readonly key: string;
  /** The address and the port. */
  readonly endpoint: Endpoint;
  /** The protocols of the last reply. Servers with the same text in the database share a list. */
  readonly protocols: readonly string[];
}

/** The endpoint, the protocols, the requested name and the state of a server. */
export interface StoredEndpoint extends KnownEndpoint {
  /** The name by which the server was requested, as in `requested_as`. */
  readonly requestedAs: string | null;
  /** Whether the server counts as online. */
  readonly online: boolean;
  /** Since when it is online, or its last reply if it is offline, Unix milliseconds. */
  readonly since: number;
  /** When it was last probed, Unix milliseconds. */
  readonly probedAt: number;
}

/**
 * Returns a function that reads the endpoint and the protocols of a row; `undefined`: the address cannot
 * be read.
 */
function endpointReader(
  onBroken: ((cell: BrokenCell) => void) | undefined,
): (row: Row) => KnownEndpoint | undefined {
  const lists = new Map<string, readonly string[] | null>();
  return (row) => {
    const [key, text, address] = [
      String(row.key),
      String(row.protocols),
      parseAddress(String(row.address)),
    ];
    let protocols = lists.get(text);
    if (protocols === undefined) lists.set(text, protocols = readTexts(text));
    if (protocols === null) onBroken?.({ key, column: "protocols" });
    if (address === undefined) {
      onBroken?.({ key, column: "address" });
      return undefined;
    }
    const endpoint = { address, port: Number(row.port) };
    return { key, endpoint, protocols: protocols ?? NONE };
  };
}

/** Number of servers that {@linkcode knownEndpoints} reads at a time. */
const AT_A_TIME = 16_384;

/**
 * Reads the endpoints and protocols of all servers in lists, by number: in a quarter of the time of
 * {@linkcode allEndpoints}.
 *
 * @param onBroken As for {@linkcode selectServers}. A server whose address cannot be read is left out.
 */
export async function* knownEndpoints(
  database: Database,
  onBroken?: (cell: BrokenCell) => void,
): AsyncIterable<readonly KnownEndpoint[]> {
  const read = endpointReader(onBroken);
  const sql = "select id, key, address, port, protocols from servers where id > ? and " +
    `scope is null order by id limit ${AT_A_TIME}`;
  for (let last: Value = 0;;) {
    const rows = await database.rows(sql, [last]);
    if (rows.length === 0) return;
    last = rows[rows.length - 1].id;
    yield rows.map(read).filter((known) => known !== undefined);
  }
}

/**
 * Streams the endpoints, protocols and states of all servers, in no order.
 *
 * @param onBroken As for {@linkcode selectServers}. A server whose address cannot be read is left out.
 */
export async function* allEndpoints(
  database: Database,
  onBroken?: (cell: BrokenCell) => void,
): AsyncIterable<StoredEndpoint> {
  const sql = "select s.key, s.address, s.port, s.protocols, s.requested_as, s.first_seen, " +
    "t.online, t.replied_at, t.probed_at, w.at as online_at " +
    `from servers s join server_state t on t.server = s.id ${ONLINE_TIMES} where s.scope is null`;
  const read = endpointReader(onBroken);
  for await (const row of database.stream(sql)) {
    const known = read(row);
    if (known === undefined) continue;
    const { requested_as: requestedAs, first_seen: found } = row;
    const online = row.online === 1;
    yield {
      ...known,
      online,
      since: Number((online ? row.online_at : row.replied_at) ?? found),
      probedAt: Number(row.probed_at),
      requestedAs: requestedAs === null ? null : String(requestedAs),
    };
  }
}

const NONE: readonly string[] = [];
