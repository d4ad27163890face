/**
 * Converts rows of the tables of servers to records.
 *
 * @module
 */
import type { FlagReasons } from "../../core/flags.ts";
import { FIELDS, type FieldType, type ServerRecord } from "../../core/record.ts";
import { parseAddress } from "../../core/address.ts";
import type { Row, Value } from "../database/database.ts";
import { canonicalHost } from "./addresses.ts";
import { storableTime } from "./stored_values.ts";
import { type BrokenCell, isJsonType, readJson } from "./json_cells.ts";

/** The state of a server, which a database keeps beside the server's last reply. */
export interface ServerState {
  /** Whether the server counts as online. */
  online: boolean;
  /** Number of scans in a row that probed the server without a reply. */
  missed_scans: number;
  /** When the server was first found or imported, Unix milliseconds. */
  first_seen: number;
  /** When the server was last probed, with or without a reply, Unix milliseconds. */
  probed_at: number;
}

/** A server in a database or a file: the record of its last reply, and its state. */
export interface StoredRecord extends ServerRecord, ServerState {
  /**
   * When the server published the names in `players`, Unix milliseconds; null without names. Default: with
   * the last reply.
   */
  readonly players_at?: number | null;
  /** Tags that users gave to the server, in order. Default: none. */
  readonly tags?: readonly string[];
  /** Notes of users on the server. Default: none. */
  readonly notes?: string | null;
  /**
   * The rules by which the number of players cannot be believed, and the values by which each decided;
   * null: none. `since` is the time since when, Unix milliseconds. Default: null.
   */
  readonly player_flags?:
    | Readonly<Record<string, Readonly<Record<string, number>> | undefined>>
    | null;
}

/** A server as a query of a database returns it. */
export interface ListedRecord extends StoredRecord {
  /**
   * When the database recorded the last change of what the server publishes, or that it went online or
   * offline, Unix milliseconds.
   */
  changed_at: number;
  /** See {@linkcode StoredRecord.players_at}; `null`: without names. */
  readonly players_at: number | null;
  /** See {@linkcode StoredRecord.player_flags}. */
  readonly player_flags:
    | Readonly<Record<string, Readonly<Record<string, number>> | undefined>>
    | null;
}

/** SQL expressions of fields that are not columns of `servers` with the field's name. */
const EXPRESSIONS: Partial<Record<keyof ServerRecord, string>> = {
  host: "s.address",
  players_online: "t.players_online",
  players_max: "t.players_max",
  players: "p.names",
  latency_ms: "t.latency_ms",
  seen_at: "coalesce(t.replied_at, t.probed_at)",
  scan_id: "c.uuid",
};

/** SQL of a record's field, in a query of {@linkcode RECORD_TABLES}. */
export function fieldExpression(name: keyof ServerRecord): string {
  return EXPRESSIONS[name] ?? `s.${name}`;
}

/** Columns of a query whose rows {@linkcode recordOf} reads. */
export const RECORD_COLUMNS: string = [
  ...FIELDS.map(({ name }) => `${fieldExpression(name)} as ${name}`),
  "s.key as key, s.scope as scope, t.online as online, t.missed_scans as missed_scans",
  "s.first_seen as first_seen, t.probed_at as probed_at, s.changed_at as changed_at",
  "p.seen_at as players_at, s.player_flags as player_flags",
].join(", ");

/**
 * The tables of {@linkcode RECORD_COLUMNS}: `s` has servers, `t` their states. Names of an earlier
 * reply are not the players of an empty server.
 */
export const RECORD_TABLES: string = "servers s join server_state t on t.server = s.id " +
  "left join server_players p on p.server = t.server " +
  "and (coalesce(t.players_online, 1) <> 0 or p.seen_at >= t.replied_at) left join scans c on c.id = t.scan";

/**
 * Converts a row of {@linkcode RECORD_COLUMNS} to a record.
 *
 * @param onBroken Receives each cell that another program wrote and whose value is not valid for
 * its column. It counts as empty. An address is kept as it is.
 */
export function recordOf(row: Row, onBroken?: (cell: BrokenCell) => void): ListedRecord {
  const record: Record<string, unknown> = {};
  const key = String(row.key);
  for (const { name, type, nullable } of FIELDS) {
    const value = readValue(row[name], type);
    if (value === undefined) onBroken?.({ key, column: name });
    record[name] = value === undefined ? emptyValue(type, nullable) : value;
  }
  const numberOf = (column: keyof ServerState | "changed_at", isValid: (n: number) => boolean) => {
    const value = Number(row[column]);
    if (isValid(value)) return value;
    onBroken?.({ key, column });
    return 0;
  };
  const timeOf = (column: "first_seen" | "probed_at" | "changed_at") =>
    numberOf(column, (time) => storableTime(time) !== null);
  const flags = row.player_flags === null ? null : readJson(String(row.player_flags), "facts");
  if (flags === undefined) onBroken?.({ key, column: "player_flags" });
  const host = canonicalHost(String(row.host));
  if (parseAddress(host) === undefined) onBroken?.({ key, column: "address" });
  return {
    ...record as unknown as ServerRecord,
    host: row.scope === null ? host : `${host}%${row.scope}`,
    online: row.online === 1,
    missed_scans: numberOf("missed_scans", Number.isSafeInteger),
    first_seen: timeOf("first_seen"),
    probed_at: timeOf("probed_at"),
    changed_at: timeOf("changed_at"),
    players_at: record.players === null ? null : Number(row.players_at),
    player_flags: (flags ?? null) as FlagReasons | null,
  };
}

/** The value of a field whose cell is broken. */
function emptyValue(type: FieldType, nullable: boolean): unknown {
  return nullable ? null : type === "integer" ? 0 : [];
}

/** The value of a record's field in a row of `servers`; `null` if another program broke it. */
export function fieldOf(name: keyof ServerRecord, value: Value): unknown {
  return readValue(value, FIELDS.find((field) => field.name === name)!.type) ?? null;
}

/** The value of a field; `undefined`: it is broken. */
function readValue(value: Value, type: FieldType): unknown {
  if (value === null) return null;
  if (type === "boolean") return value === 1;
  if (type === "integer") return Number.isSafeInteger(value) ? value : undefined;
  return isJsonType(type) ? readJson(String(value), type) : value;
}
