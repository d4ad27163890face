/**
 * Reads servers and observations from a database.
 *
 * @module
 */
import { type Field, FIELDS, type ServerRecord } from "../core/record.ts";
import { recordOf, storable, type StoredRecord } from "./server_columns.ts";
import type { Database, Value } from "./database/database.ts";

/** Sort orders of servers, as `order by` clauses. */
export const SERVER_ORDERS = {
  players: "online desc, coalesce(players_online, -1) desc, id",
  seen: "last_seen desc, id",
  overdue: "last_seen, id",
  new: "first_seen desc, id",
  name: "lower(name), id",
  version: "version, id",
  address: "addr, id",
} as const;

/** Filters, order and limit of a query for servers. A filter that is omitted matches all servers. */
export interface ServerSelection {
  /** `true`: only servers that count as online. */
  readonly online?: boolean;
  /** A part of the software's name (its first 64 code units), case-insensitive. */
  readonly software?: string;
  /** A game version or its start, in whole numbers: `1.21` matches `1.21.50` and not `1.210`. */
  readonly version?: string;
  /** Minimum number of players online. */
  readonly minPlayers?: number;
  /** A part of name, MOTD, map or software, case-insensitive. */
  readonly text?: string;
  /** Only servers that were probed later than this time, Unix milliseconds. */
  readonly since?: number;
  /** Sort order, one of {@linkcode SERVER_ORDERS}. */
  readonly sort: keyof typeof SERVER_ORDERS;
  /** Maximum number of servers. Default: no limit. */
  readonly limit?: number;
}

/** Columns of a stored record after those of a scan's record. */
const STATE_FIELDS = [
  {
    name: "online",
    type: "boolean",
    nullable: false,
    meaning: "whether the server counts as online",
  },
  {
    name: "failures",
    type: "integer",
    nullable: false,
    meaning: "scans or polls in a row without a reply",
  },
  {
    name: "first_seen",
    type: "integer",
    nullable: false,
    meaning: "when the server was first found or imported",
  },
  {
    name: "last_seen",
    type: "integer",
    nullable: false,
    meaning: "when the server was last probed",
  },
] as const;

/** Fields of a {@linkcode StoredRecord}, in the order of columns. */
export const STORED_FIELDS: readonly Field[] = [
  ...FIELDS,
  ...STATE_FIELDS as unknown as readonly Field[],
];

/** Streams the selected servers of a database. */
export async function* selectServers(
  database: Database,
  selection: ServerSelection,
): AsyncIterable<StoredRecord> {
  const { sql, values } = await queryFor(database, selection);
  for await (const row of database.stream(sql, values)) yield recordOf(row);
}

/** A SQL query and its parameters. */
interface SqlQuery {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** Above this number of matching software keys, one query without the index is used. */
const MAX_SOFTWARE_KEYS = 32;

/**
 * Builds the query for a selection. The default order with a software filter and a limit becomes a union
 * of one query per matching software key. The index `servers_software` serves each of these, so that no
 * other row is read.
 */
async function queryFor(database: Database, selection: ServerSelection): Promise<SqlQuery> {
  const { sort, limit, software, ...rest } = selection;
  if (software !== undefined && limit !== undefined && sort === "players") {
    const keys = await softwareKeys(database, software);
    if (keys.length > 0 && keys.length <= MAX_SOFTWARE_KEYS) {
      const queries = keys.map((key) =>
        selectQuery(conditionsOf(database, rest, ["software_key = ?", key]), selection)
      );
      const sql = queries.map((query) => `select * from (${query.sql}) as head`).join(
        " union all ",
      );
      return {
        sql: `select * from (${sql}) as heads order by ${SERVER_ORDERS[sort]} limit ?`,
        values: [...queries.flatMap(({ values }) => values), limit],
      };
    }
  }
  return selectQuery(conditionsOf(database, rest, softwareFilter(software)), selection);
}

/** The number of servers that a selection matches, whatever its limit. */
export async function countServers(
  database: Database,
  { software, ...rest }: ServerSelection,
): Promise<number> {
  const { conditions, values } = conditionsOf(database, rest, softwareFilter(software));
  return await countRows(database, `servers ${whereClause(conditions)}`, values);
}

async function countRows(
  database: Database,
  rows: string,
  values: readonly Value[],
): Promise<number> {
  const [{ count }] = await database.rows(`select count(*) as count from ${rows}`, values);
  return Number(count);
}

type Filter = readonly [condition: string, value: string];

/** The condition for software whose name contains a text. */
function softwareFilter(software: string | undefined): Filter | undefined {
  if (software === undefined) return undefined;
  return ["software_key like ? escape '\\'", `%${pattern(software)}%`];
}

/** The software keys that contain a text; at most {@linkcode MAX_SOFTWARE_KEYS} and one more. */
async function softwareKeys(database: Database, text: string): Promise<string[]> {
  // A loose index scan: one index lookup per distinct key, independent of the number of servers.
  const sql = "with recursive keys (name) as (select min(software_key) from servers union all " +
    "select (select min(software_key) from servers where software_key > keys.name) from keys " +
    "where keys.name is not null) " +
    `select name from keys where name like ? escape '\\' limit ${MAX_SOFTWARE_KEYS + 1}`;
  return (await database.rows(sql, [`%${pattern(text)}%`])).map(({ name }) => String(name));
}

function selectQuery(
  { conditions, values }: Conditions,
  { sort, limit }: Pick<ServerSelection, "sort" | "limit">,
): SqlQuery {
  const where = whereClause(conditions);
  const limitClause = limit === undefined ? "" : "limit ?";
  return {
    sql: `select * from servers ${where} order by ${SERVER_ORDERS[sort]} ${limitClause}`,
    values: limit === undefined ? values : [...values, limit],
  };
}

function whereClause(conditions: readonly string[]): string {
  return conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
}

/** Conditions of a `where` clause, and their parameters. */
interface Conditions {
  readonly conditions: readonly string[];
  readonly values: readonly Value[];
}

function conditionsOf(
  { engine }: Database,
  { online, version, minPlayers, text, since }: Omit<
    ServerSelection,
    "sort" | "limit" | "software"
  >,
  software: Filter | undefined,
): Conditions {
  const conditions: string[] = [];
  const values: Value[] = [];
  const add = (condition: string, ...parameters: Value[]) => {
    conditions.push(condition);
    values.push(...parameters);
  };
  if (software !== undefined) add(...software);
  if (online) add("online = 1");
  if (since !== undefined) add("last_seen > ?", since);
  if (minPlayers !== undefined) add("players_online >= ?", minPlayers);
  if (version !== undefined) {
    const startsWith = like("version", engine, version);
    add(`(lower(version) = ? or ${startsWith})`, fold(version), `${pattern(version)}.%`);
  }
  if (text !== undefined) {
    const columns = ["name", "motd_plain", "map", "software"];
    const contains = columns.map((column) => like(column, engine, text));
    add(`(${contains.join(" or ")})`, ...columns.map(() => `%${pattern(text)}%`));
  }
  return { conditions, values };
}

/** A case-insensitive `like` condition. SQLite's `like` ignores the case of ASCII letters by itself. */
function like(column: string, engine: Database["engine"], text: string): string {
  const folded = engine === "sqlite" && /^[ -~]*$/.test(text) ? column : `lower(${column})`;
  return `${folded} like ? escape '\\'`;
}

/** Text in lower case as a `like` pattern, with wildcards escaped. */
function pattern(text: string): string {
  return fold(text).replace(/[\\%_]/g, "\\$&");
}

function fold(text: string): string {
  return storable(text).toLowerCase();
}

/** All servers of a database. Those whose last probe is the oldest come first. */
export function overdueServers(database: Database): AsyncIterable<StoredRecord> {
  return selectServers(database, { sort: "overdue" });
}

/** Endpoints and protocols of all servers, in the order of {@linkcode overdueServers}. */
export async function* overdueEndpoints(
  database: Database,
): AsyncIterable<Pick<ServerRecord, "host" | "port" | "protocols" | "requested_as">> {
  const columns = "host, port, protocols, requested_as";
  const sql = `select ${columns} from servers order by ${SERVER_ORDERS.overdue}`;
  for await (const { host, port, protocols, requested_as: asked } of database.stream(sql)) {
    yield {
      protocols: JSON.parse(String(protocols)),
      host: String(host),
      port: Number(port),
      requested_as: asked === null ? null : String(asked),
    };
  }
}

/** The result of one scan or poll of a server. Fields are null when the server did not reply. */
export interface Observation {
  /** When the server was probed, Unix milliseconds. */
  readonly seen_at: number;
  /** Whether the server replied. */
  readonly online: boolean;
  /** Number of players online; null when the server did not publish it. */
  readonly players_online: number | null;
  /** Number of player slots; null when the server did not publish it. */
  readonly players_max: number | null;
  /** Round-trip time of the first reply, milliseconds; null when it is unknown. */
  readonly latency_ms: number | null;
  /** Hash of the server's content, 16 hexadecimal digits. It changes when the content changes. */
  readonly content_hash: string | null;
  /** Identity of the scan or watch, UUIDv7. */
  readonly scan_id: string;
}

/** The last `limit` observations of a server, oldest first. */
export async function historyOf(
  database: Database,
  id: string,
  limit: number,
): Promise<Observation[]> {
  const sql = "select * from observations where server_id = ? order by seen_at desc limit ?";
  const rows = await database.rows(sql, [id, limit]);
  return rows.toReversed().map(({ server_id: _, round: _r, online, ...rest }) => {
    return { ...rest, online: online === 1 } as unknown as Observation;
  });
}

/** The number of observations of a server. */
export async function countObservations(database: Database, id: string): Promise<number> {
  return await countRows(database, "observations where server_id = ?", [id]);
}

/** The ports of a host on which the database has servers, in ascending order. */
export async function portsOf(database: Database, host: string): Promise<number[]> {
  const rows = await database.rows("select port from servers where host = ? order by port", [host]);
  return rows.map(({ port }) => Number(port));
}
