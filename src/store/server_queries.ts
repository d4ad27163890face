/**
 * Reads servers from a database.
 *
 * @module
 */
import { type Field, FIELDS, type ServerRecord } from "../core/record.ts";
import {
  type Database,
  isInList,
  listValue,
  timeParameter,
  type Value,
} from "./database/database.ts";
import { addressColumn, canonicalHost } from "./rows/addresses.ts";
import { storable } from "./rows/stored_values.ts";
import {
  type ListedRecord,
  RECORD_COLUMNS,
  RECORD_TABLES,
  recordOf,
} from "./rows/stored_record.ts";

/** Sort orders of servers, as `order by` clauses. */
export const SERVER_ORDERS = {
  players: "t.online desc, coalesce(t.players_online, -1) desc, t.server",
  new: "s.first_seen desc, s.id",
  changed: "s.changed_at desc, s.id",
  name: "s.name_key, s.id",
  version: "s.version_key, s.id",
  address: "ADDRESS, s.port, s.id",
} as const;

/** The `order by` clause of a sort order. */
function orderOf(database: Database, sort: keyof typeof SERVER_ORDERS): string {
  return SERVER_ORDERS[sort].replace("ADDRESS", `s.${addressColumn(database)}`);
}

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
  /** A flag of the last reply. */
  readonly flag?: string;
  /** Only servers that changed later than this time, Unix milliseconds: new, other content, online, offline. */
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
    name: "missed_scans",
    type: "integer",
    nullable: false,
    meaning: "scans in a row that probed the server without a reply",
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
  {
    name: "changed_at",
    type: "integer",
    nullable: false,
    meaning: "when the server last changed what it publishes, or went online or offline",
  },
] as const;

/** Fields of a {@linkcode ListedRecord}, in the order of columns. */
export const STORED_FIELDS: readonly Field[] = [
  ...FIELDS,
  ...STATE_FIELDS as unknown as readonly Field[],
];

/** Streams the selected servers of a database. */
export async function* selectServers(
  database: Database,
  selection: ServerSelection,
): AsyncIterable<ListedRecord> {
  const { sql, values } = await queryFor(database, selection);
  for await (const row of database.stream(sql, values)) yield recordOf(row);
}

/** A SQL query and its parameters. */
interface SqlQuery {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** Builds the query for a selection. */
async function queryFor(database: Database, selection: ServerSelection): Promise<SqlQuery> {
  const { sort, limit } = selection;
  const { conditions, values } = await conditionsOf(database, selection);
  const limitClause = limit === undefined ? "" : "limit ?";
  const tables = await isRareSoftware(database, selection)
    ? RECORD_TABLES.replace("servers s join", "servers s indexed by servers_software cross join")
    : RECORD_TABLES;
  return {
    sql: `select ${RECORD_COLUMNS} from ${tables} ${whereClause(conditions)} ` +
      `order by ${orderOf(database, sort)} ${limitClause}`,
    values: limit === undefined ? values : [...values, limit],
  };
}

/** Fewer servers than this are read by their software, and sorted: more are read in their order. */
const RARE = 10_000;

/**
 * Whether SQLite reads a page of servers faster by their software than in the order of players. SQLite
 * has no statistics by which it could decide this; it reads the tables of a `cross join` in their order.
 */
async function isRareSoftware(
  database: Database,
  { software, sort, limit }: ServerSelection,
): Promise<boolean> {
  const isPage = software !== undefined && limit !== undefined && sort === "players";
  if (database.engine !== "sqlite" || !isPage) return false;
  const keys = listValue(database, await softwareKeys(database, software));
  const matching = `select 1 from servers where ${isInList(database, "software_key", "text")}`;
  return await countRows(database, `(${matching} limit ${RARE})`, [keys]) < RARE;
}

/** The number of servers that a selection matches, whatever its limit. */
export async function countServers(
  database: Database,
  selection: ServerSelection,
): Promise<number> {
  const { conditions, values } = await conditionsOf(database, selection);
  const tables = "servers s join server_state t on t.server = s.id";
  return await countRows(database, `${tables} ${whereClause(conditions)}`, values);
}

async function countRows(
  database: Database,
  rows: string,
  values: readonly Value[],
): Promise<number> {
  const [{ count }] = await database.rows(`select count(*) as count from ${rows}`, values);
  return Number(count);
}

/** The software keys that contain a text. */
async function softwareKeys(database: Database, text: string): Promise<string[]> {
  // A loose index scan: one index lookup per distinct key, independent of the number of servers.
  const sql = "with recursive keys (name) as (select min(software_key) from servers union all " +
    "select (select min(software_key) from servers where software_key > keys.name) from keys " +
    "where keys.name is not null) select name from keys where name like ? escape '\\'";
  return (await database.rows(sql, [`%${pattern(text)}%`])).map(({ name }) => String(name));
}

function whereClause(conditions: readonly string[]): string {
  return conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
}

/** Conditions of a `where` clause, and their parameters. */
interface Conditions {
  readonly conditions: readonly string[];
  readonly values: readonly Value[];
}

async function conditionsOf(
  database: Database,
  { online, software, version, minPlayers, text, flag, since }: ServerSelection,
): Promise<Conditions> {
  const { engine } = database;
  const conditions: string[] = [];
  const values: Value[] = [];
  const add = (condition: string, ...parameters: Value[]) => {
    conditions.push(condition);
    values.push(...parameters);
  };
  if (software !== undefined) {
    const keys = await softwareKeys(database, software);
    add(isInList(database, "s.software_key", "text"), listValue(database, keys));
  }
  if (online) add("t.online");
  if (since !== undefined) add(`s.changed_at > ${timeParameter(database)}`, since);
  if (flag !== undefined) {
    add(
      "exists (select 1 from server_flags f where f.flag = ? and f.server = s.id)",
      storable(flag),
    );
  }
  if (minPlayers !== undefined) add("t.players_online >= ?", minPlayers);
  if (version !== undefined) {
    const startsWith = like("s.version", engine, version);
    add(`(lower(s.version) = ? or ${startsWith})`, fold(version), `${pattern(version)}.%`);
  }
  if (text !== undefined) {
    const columns = ["s.name", "s.motd_plain", "s.map", "s.software"];
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

/** Streams all servers of a database as they are stored: in no order, so nothing is sorted. */
export async function* allServers(database: Database): AsyncIterable<ListedRecord> {
  const sql = `select ${RECORD_COLUMNS} from ${RECORD_TABLES}`;
  for await (const row of database.stream(sql)) yield recordOf(row);
}

/** Streams the endpoints and protocols of all servers, in no order. */
export async function* allEndpoints(
  database: Database,
): AsyncIterable<Pick<ServerRecord, "host" | "port" | "protocols" | "requested_as">> {
  const sql = "select address, port, protocols, requested_as from servers";
  for await (const { address, port, protocols, requested_as: asked } of database.stream(sql)) {
    yield {
      protocols: JSON.parse(String(protocols)),
      host: canonicalHost(String(address)),
      port: Number(port),
      requested_as: asked === null ? null : String(asked),
    };
  }
}
