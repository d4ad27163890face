/**
 * Reads the stored data of the servers of a batch.
 *
 * @module
 */
import {
  type Database,
  hexColumn,
  isInList,
  listValue,
  type Row,
  type Value,
} from "../database/database.ts";
import type { ServerRecord } from "../../core/record.ts";
import { fieldExpression, fieldOf } from "./stored_record.ts";
import { type LackingParts, readLackingParts } from "./lacking_parts.ts";
import { canonicalHost } from "./addresses.ts";

/** The stored data of a server. */
export interface KnownServer {
  /** `servers.id`. */
  readonly id: number;
  /** `servers.key`. */
  readonly key: string;
  /** The address in canonical form. */
  readonly address: string;
  readonly port: number;
  /** Hash of what the server publishes. */
  readonly content: string;
  /** Hash of all columns that a reply fills. */
  readonly digest: string;
  /** When the server was first found, Unix milliseconds. */
  readonly firstSeen: number;
  /** When the content or the state last changed, Unix milliseconds. */
  readonly changedAt: number;
  /** Names of players in the last reply, as JSON text in the engine's form; `null`: it had none. */
  readonly players: string | null;
  /** When the server published the last names of players that are stored; `null`: none are. */
  readonly playersAt: number | null;
  /** Since when the server publishes the same names of players, Unix milliseconds; `null`: none are stored. */
  readonly playersSince: number | null;
  /** The requested columns of the last reply. */
  readonly columns: Partial<ServerRecord>;
  /** The state; `undefined` for a row that this transaction has just inserted. */
  readonly state?: KnownState;
}

export interface KnownState {
  readonly online: boolean;
  /** Number of scans in a row without a reply. */
  readonly missedScans: number;
  readonly playersOnline: number | null;
  readonly playersMax: number | null;
  /** When the server was last probed, Unix milliseconds. */
  readonly probedAt: number;
  /** When the server last replied, Unix milliseconds; `null`: never. */
  readonly repliedAt: number | null;
  /** `scans.id` of the last reply, if a watch that runs received it; else `null`. */
  readonly watch: number | null;
  /** The parts of the status that the last replies lacked. */
  readonly lacking: LackingParts;
  /**
   * The version of the row in PostgreSQL: another transaction that changes the row changes the
   * version.
   */
  readonly version: string;
}

/** What to read of servers, and how. */
export interface ReadOptions {
  /** More columns of `servers` to read. Default: none. */
  readonly columns?: readonly (keyof ServerRecord)[];
  /**
   * The attempt of the transaction. In PostgreSQL, attempts after the first lock the states of the
   * servers against other writers.
   */
  readonly attempt: number;
}

/** Reads the known servers among those with the given keys. */
export async function readKnownServers(
  database: Database,
  keys: readonly string[],
  { columns = [], attempt }: ReadOptions,
): Promise<Map<string, KnownServer>> {
  if (keys.length === 0) return new Map();
  const hasKey = isInList(database, "s.key", "text");
  if (attempt > 1) {
    await database.rows(
      "select t.server from servers s join server_state t on t.server = s.id " +
        `where ${hasKey} order by t.server for update of t`,
      [listValue(database, keys)],
    );
  }
  const rows = await database.rows(
    `select s.id, s.key, s.address, s.port, ${hexColumn(database, "s.content")} as content, ` +
      `${hexColumn(database, "s.digest")} as digest, s.first_seen, s.changed_at, ` +
      "case when p.seen_at >= t.replied_at then p.names end as names, p.seen_at as players_at, " +
      "p.same_since as players_since, " +
      columns.map((name) => `${fieldExpression(name)} as ${name}, `).join("") +
      "t.online, t.missed_scans, t.lacking_parts, t.players_online, " +
      "case when c.kind = 'watch' and c.state = 'running' then t.scan end as watch, " +
      `t.players_max, t.probed_at, t.replied_at, ${versionOf(database)} as version ` +
      "from servers s left join server_state t on t.server = s.id " +
      "left join server_players p on p.server = s.id " +
      "left join scans c on c.id = t.scan " +
      `where ${hasKey}`,
    [listValue(database, keys)],
  );
  return new Map(rows.map((row) => [String(row.key), knownServer(row, columns)]));
}

/** SQL of the version of a row of `server_state t`. Transactions of SQLite write one after the other. */
export function versionOf({ engine }: Database): string {
  return engine === "postgres" ? "t.xmin::text" : "''";
}

/** The servers, among those given, that have replied to an unfinished scan. */
export async function repliedServers(
  database: Database,
  scan: number,
  servers: readonly number[],
): Promise<Set<number>> {
  if (servers.length === 0) return new Set();
  const rows = await database.rows(
    "select server from scan_servers where scan = ? and what % 2 = 1 and " +
      `${isInList(database, "server", "integer")}`,
    [scan, listValue(database, servers)],
  );
  return new Set(rows.map(({ server }) => Number(server)));
}

function knownServer(row: Row, columns: readonly (keyof ServerRecord)[]): KnownServer {
  const isStored = row.probed_at !== null;
  return {
    id: Number(row.id),
    key: String(row.key),
    address: canonicalHost(String(row.address)),
    port: Number(row.port),
    content: String(row.content),
    digest: String(row.digest),
    firstSeen: Number(row.first_seen),
    changedAt: Number(row.changed_at),
    players: textOrNull(row.names),
    playersAt: numberOrNull(row.players_at),
    playersSince: numberOrNull(row.players_since),
    columns: Object.fromEntries(columns.map((name) => [name, fieldOf(name, row[name])])),
    ...(isStored && { state: knownState(row) }),
  };
}

function knownState(row: Row): KnownState {
  return {
    online: row.online === 1,
    missedScans: Number(row.missed_scans),
    playersOnline: numberOrNull(row.players_online),
    playersMax: numberOrNull(row.players_max),
    probedAt: Number(row.probed_at),
    repliedAt: numberOrNull(row.replied_at),
    watch: numberOrNull(row.watch),
    lacking: readLackingParts(textOrNull(row.lacking_parts) ?? ""),
    version: String(row.version),
  };
}

function textOrNull(value: Value): string | null {
  return value === null ? null : String(value);
}

function numberOrNull(value: Value): number | null {
  return value === null ? null : Number(value);
}
