/**
 * Reading lists: which servers, and what was seen of one.
 *
 * @module
 */
import { type Field, FIELDS, type ServerRecord } from "../core/record.ts";
import { recordOf, storable, type StoredRecord } from "./server_columns.ts";
import type { Database, Value } from "./database/database.ts";

/** The orders of a list. */
export const SERVER_ORDERS = {
  players: "online desc, coalesce(players_online, -1) desc, id",
  seen: "last_seen desc, id",
  overdue: "last_seen, id",
  new: "first_seen desc, id",
  name: "lower(name), id",
  version: "version, id",
  address: "addr, id",
} as const;

/** Which servers, and in which order. What is not said holds for all. */
export interface ServerSelection {
  /** Only those that count as online. */
  readonly online?: boolean;
  /** A part of the software's name, of its first 64 letters, capitals or not. */
  readonly software?: string;
  /** A game version: 1.21 stands for 1.21.50 too, and not for 1.210. */
  readonly version?: string;
  /** So many players at least. */
  readonly minPlayers?: number;
  /** A part of name, MOTD, map or software, capitals or not. */
  readonly text?: string;
  /** Only those that were asked later than this, Unix milliseconds. */
  readonly since?: number;
  /** The order. */
  readonly sort: keyof typeof SERVER_ORDERS;
  /** How many at the most. Default: all. */
  readonly limit?: number;
}

/** Columns that every row of a list has behind those of a scan's. */
const STATE_FIELDS = [
  { name: "online", type: "boolean", nullable: false, meaning: "whether it counts as online" },
  { name: "failures", type: "integer", nullable: false, meaning: "scans in a row without answer" },
  { name: "first_seen", type: "integer", nullable: false, meaning: "first heard of" },
  { name: "last_seen", type: "integer", nullable: false, meaning: "last asked" },
] as const;

/** The columns of a list's rows, which are {@linkcode StoredRecord}s. */
export const STORED_FIELDS: readonly Field[] = [
  ...FIELDS,
  ...STATE_FIELDS as unknown as readonly Field[],
];

/** The servers of a list, as they are read. */
export async function* listServers(
  database: Database,
  selection: ServerSelection,
): AsyncIterable<StoredRecord> {
  const { sql, values } = await queryFor(database, selection);
  for await (const row of database.stream(sql, values)) yield recordOf(row);
}

/** A query. */
interface Query {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** So many names of software are looked up one by one. */
const MOST_KEYS = 32;

/**
 * The query for a selection. The head of the usual order, with a part of the software's name, is put
 * together of one for each name that holds it: an index has both, and no other server is looked at.
 */
async function queryFor(database: Database, selection: ServerSelection): Promise<Query> {
  const { sort, limit, software, ...rest } = selection;
  if (software !== undefined && limit !== undefined && sort === "players") {
    const keys = await softwareKeys(database, software);
    if (keys.length > 0 && keys.length <= MOST_KEYS) {
      const each = keys.map((key) =>
        selectSql(conditionsOf(database, rest, ["software_key = ?", key]), selection)
      );
      const sql = each.map((one) => `select * from (${one.sql}) as one`).join(" union all ");
      return {
        sql: `select * from (${sql}) as heads order by ${SERVER_ORDERS[sort]} limit ?`,
        values: [...each.flatMap(({ values }) => values), limit],
      };
    }
  }
  const named = software === undefined
    ? undefined
    : ["software_key like ? escape '\\'", `%${pattern(software)}%`] as const;
  return selectSql(conditionsOf(database, rest, named), selection);
}

/** The names of software that hold a text, and one more than are looked up one by one. */
async function softwareKeys(database: Database, text: string): Promise<string[]> {
  // From name to name: each is one look into the index, however many servers have it.
  const sql = "with recursive keys (name) as (select min(software_key) from servers union all " +
    "select (select min(software_key) from servers where software_key > keys.name) from keys " +
    "where keys.name is not null) " +
    `select name from keys where name like ? escape '\\' limit ${MOST_KEYS + 1}`;
  return (await database.rows(sql, [`%${pattern(text)}%`])).map(({ name }) => String(name));
}

function selectSql(
  { conditions, values }: Conditions,
  { sort, limit }: Pick<ServerSelection, "sort" | "limit">,
): Query {
  const where = conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
  const most = limit === undefined ? "" : "limit ?";
  return {
    sql: `select * from servers ${where} order by ${SERVER_ORDERS[sort]} ${most}`,
    values: limit === undefined ? values : [...values, limit],
  };
}

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
  named: readonly [condition: string, value: string] | undefined,
): Conditions {
  const conditions: string[] = [];
  const values: Value[] = [];
  const add = (condition: string, ...given: Value[]) => {
    conditions.push(condition);
    values.push(...given);
  };
  if (named !== undefined) add(...named);
  if (online) add("online = 1");
  if (since !== undefined) add("last_seen > ?", since);
  if (minPlayers !== undefined) add("players_online >= ?", minPlayers);
  if (version !== undefined) {
    const begins = like("version", engine, version);
    add(`(lower(version) = ? or ${begins})`, fold(version), `${pattern(version)}.%`);
  }
  if (text !== undefined) {
    const columns = ["name", "motd_plain", "map", "software"];
    const holds = columns.map((column) => like(column, engine, text));
    add(`(${holds.join(" or ")})`, ...columns.map(() => `%${pattern(text)}%`));
  }
  return { conditions, values };
}

/** Whether a column is like a text, capitals or not: of ASCII, SQLite sees to that itself. */
function like(column: string, engine: Database["engine"], text: string): string {
  const folded = engine === "sqlite" && /^[ -~]*$/.test(text) ? column : `lower(${column})`;
  return `${folded} like ? escape '\\'`;
}

/** Text in which no character stands for others. */
function pattern(text: string): string {
  return fold(text).replace(/[\\%_]/g, "\\$&");
}

function fold(text: string): string {
  return storable(text).toLowerCase();
}

/** All servers of a list, the most overdue first. */
export function overdueServers(database: Database): AsyncIterable<StoredRecord> {
  return listServers(database, { sort: "overdue" });
}

/** Where they are, what they speak, and nothing more of them. */
export async function* dueServers(
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

/** What was seen of a server, once. */
export interface Observation {
  /** When, Unix milliseconds. */
  readonly seen_at: number;
  /** Whether it answered. */
  readonly online: boolean;
  /** Players online. */
  readonly players_online: number | null;
  /** Player slots. */
  readonly players_max: number | null;
  /** Round trip, milliseconds. */
  readonly latency_ms: number | null;
  /** Another hash, another content: `content_hash` of the server then. */
  readonly content_hash: string | null;
  /** The scan. */
  readonly scan_id: string;
}

/** The last observations of a server, the oldest of them first. */
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

/** The ports of a host on which the list has servers. */
export async function portsOf(database: Database, host: string): Promise<number[]> {
  const rows = await database.rows("select port from servers where host = ? order by port", [host]);
  return rows.map(({ port }) => Number(port));
}
