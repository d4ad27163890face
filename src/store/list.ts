/**
 * Reading lists: which servers, and what was seen of one.
 *
 * @module
 */
import { type Field, FIELDS } from "../record.ts";
import { recordOf, storable, type StoredRecord } from "./columns.ts";
import type { Database, Value } from "./database.ts";

/** The orders of a list. */
export const ORDERS = {
  players: "online desc, coalesce(players_online, -1) desc, id",
  seen: "last_seen desc, id",
  overdue: "last_seen, id",
  new: "first_seen desc, id",
  name: "lower(name), id",
  version: "version, id",
  address: "addr, id",
} as const;

/** Which servers, and in which order. What is not said holds for all. */
export interface Selection {
  /** Only those that count as online. */
  readonly online?: boolean;
  /** A part of the software's name, capitals or not. */
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
  readonly sort: keyof typeof ORDERS;
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
export const LIST_FIELDS: readonly Field[] = [
  ...FIELDS,
  ...STATE_FIELDS as unknown as readonly Field[],
];

/** The servers of a list, as they are read. */
export async function* listServers(
  database: Database,
  { sort, limit, ...selection }: Selection,
): AsyncIterable<StoredRecord> {
  const { conditions, values } = conditionsOf(selection);
  const where = conditions.length === 0 ? "" : `where ${conditions.join(" and ")}`;
  const most = limit === undefined ? "" : "limit ?";
  const sql = `select * from servers ${where} order by ${ORDERS[sort]} ${most}`;
  const parameters = limit === undefined ? values : [...values, limit];
  for await (const row of database.stream(sql, parameters)) yield recordOf(row);
}

function conditionsOf(
  { online, software, version, minPlayers, text, since }: Omit<Selection, "sort" | "limit">,
): { conditions: string[]; values: Value[] } {
  const conditions: string[] = [];
  const values: Value[] = [];
  const add = (condition: string, ...given: Value[]) => {
    conditions.push(condition);
    values.push(...given);
  };
  if (online) add("online = 1");
  if (since !== undefined) add("last_seen > ?", since);
  if (minPlayers !== undefined) add("players_online >= ?", minPlayers);
  if (software !== undefined) add(like("software"), `%${pattern(software)}%`);
  if (version !== undefined) {
    add(`(lower(version) = ? or ${like("version")})`, fold(version), `${pattern(version)}.%`);
  }
  if (text !== undefined) {
    const columns = ["name", "motd_plain", "map", "software"];
    add(`(${columns.map(like).join(" or ")})`, ...columns.map(() => `%${pattern(text)}%`));
  }
  return { conditions, values };
}

function like(column: string): string {
  return `lower(${column}) like ? escape '\\'`;
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

/** Where they are, and nothing more of them. */
export async function* dueServers(
  database: Database,
): AsyncIterable<{ host: string; port: number; requested_as: string | null }> {
  const sql = `select host, port, requested_as from servers order by ${ORDERS.overdue}`;
  for await (const { host, port, requested_as: asked } of database.stream(sql)) {
    yield {
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
