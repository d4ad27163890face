/**
 * Converts records to rows of the tables of servers, and rows to records.
 *
 * @module
 */
import { FIELDS, type FieldType, type ServerRecord } from "../core/record.ts";
import type { ColumnDefinition, ColumnType, Row, Value } from "./database/database.ts";
import { addressSort, canonicalHost } from "./rows/addresses.ts";
import { CONTENT, contentHash, hashOf } from "./rows/content_hash.ts";
import type { ServerIdentity } from "./rows/identity.ts";
import {
  foldedKey,
  inKeyOrder,
  nameKey,
  storable,
  storableCount,
  storableJson,
  storableTime,
  versionKey,
  wholeNumber,
} from "./rows/stored_values.ts";

/** The state of a server, which a database keeps beside the server's last reply. */
export interface ServerState {
  /** Whether the server counts as online. */
  online: boolean;
  /** Number of scans or polls in a row without a reply. */
  failures: number;
  /** When the server was first found or imported, Unix milliseconds. */
  first_seen: number;
  /** When the server was last probed, with or without a reply, Unix milliseconds. */
  last_seen: number;
}

/** A server in a database: the record of its last reply, and its state. */
export interface StoredRecord extends ServerRecord, ServerState {}

/** Fields that other tables than `servers` hold, or that stand among the columns of the identity. */
const ELSEWHERE = new Set<keyof ServerRecord>([
  ...["host", "port", "players_online", "players_max", "players", "latency_ms", "seen_at"] as const,
  "scan_id",
]);

const TYPES: Readonly<Record<FieldType, ColumnType>> = {
  text: "text",
  integer: "bigint",
  number: "double precision",
  boolean: "boolean",
  names: "jsonb",
  plugins: "jsonb",
  facts: "jsonb",
};

/** Positions in {@linkcode FIELDS} of the fields that are columns of `servers`. */
const POSITIONS = FIELDS.flatMap(({ name }, i) => ELSEWHERE.has(name) ? [] : [i]);

/** Those among {@linkcode POSITIONS} that the content hash does not cover. */
const BESIDE_CONTENT = POSITIONS.filter((i) => !CONTENT.includes(FIELDS[i].name));
const PLAYERS = FIELDS.findIndex(({ name }) => name === "players");

/**
 * Columns of the table `servers` that a reply fills. In SQLite `address_sort` follows, for which
 * PostgreSQL has no need.
 */
export const SERVER_COLUMNS: readonly ColumnDefinition[] = [
  ["key", "text"],
  ["hostname", "text"],
  ["is_srv", "boolean"],
  ["address", "inet"],
  ["scope", "text"],
  ["port", "integer"],
  ...POSITIONS.map((i): ColumnDefinition => [FIELDS[i].name, TYPES[FIELDS[i].type]]),
  ["software_key", "text"],
  ["name_key", "text"],
  ["version_key", "text"],
  ["content", "bytea"],
  ["digest", "bytea"],
];

/** A record as values of columns. */
export interface ServerValues {
  /** Values of {@linkcode SERVER_COLUMNS}, and of `address_sort`. */
  readonly columns: readonly Value[];
  /** Hash of what the server publishes: `servers.content`. */
  readonly content: string;
  /** Hash of all columns: `servers.digest`. */
  readonly digest: string;
  /** Number of players online. */
  readonly playersOnline: number | null;
  /** Number of player slots. */
  readonly playersMax: number | null;
  /** Names of players as JSON text; `null`: not published. */
  readonly players: string | null;
}

/** The flag of records with a count that 32 bits cannot hold. */
const CLAMPED = "countClamped";

/** The values of a record's columns. */
export function serverValues(record: ServerRecord, identity: ServerIdentity): ServerValues {
  const { players_online: online, players_max: max } = record;
  const [playersOnline, playersMax] = [storableCount(online), storableCount(max)];
  const isClamped = playersOnline !== wholeNumber(online) || playersMax !== wholeNumber(max);
  const flagged = isClamped && !record.flags.includes(CLAMPED)
    ? { ...record, flags: [...record.flags, CLAMPED].sort() }
    : record;
  const fields = FIELDS.map(({ name, type }) => valueOf(flagged[name], type));
  const content = contentHash(fields);
  const { key, hostname, isService, address, scope, port } = identity;
  const columns: Value[] = [key, hostname, isService ? 1 : 0, address, scope, port];
  for (const i of POSITIONS) columns.push(fields[i]);
  const { software, name, version } = record;
  columns.push(
    software === null ? null : foldedKey(software),
    nameKey(name),
    versionKey(version),
    content,
  );
  // The key has the name and the port, and `content` stands for the fields that it covers.
  const digest = hashOf([key, address, port, content, ...BESIDE_CONTENT.map((i) => fields[i])]);
  columns.push(digest, addressSort(address));
  const players = fields[PLAYERS] as string | null;
  return { columns, content, digest, playersOnline, playersMax, players };
}

function valueOf(value: ServerRecord[keyof ServerRecord], type: FieldType): Value {
  if (value === null) return null;
  switch (type) {
    case "text":
      return storable(value as string);
    case "integer":
      return wholeNumber(value as number);
    case "number":
      return Number.isFinite(value) ? value as number : null;
    case "boolean":
      return value ? 1 : 0;
    default:
      if (Array.isArray(value) && value.length === 0) return "[]"; // a fast path: most flags are empty
      return storableJson(value);
  }
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
  "s.key as key, s.scope as scope, t.online as online, t.failures as failures",
  "s.first_seen as first_seen, t.probed_at as last_seen",
].join(", ");

/** The tables of {@linkcode RECORD_COLUMNS}: `s` has servers, `t` their states. */
export const RECORD_TABLES: string = "servers s join server_state t on t.server = s.id " +
  "left join server_players p on p.server = t.server left join scans c on c.id = t.scan";

/** Converts a row of {@linkcode RECORD_COLUMNS} to a record. */
export function recordOf(row: Row): StoredRecord {
  const record: Record<string, unknown> = {};
  for (const { name, type } of FIELDS) record[name] = readValue(row[name], type);
  const host = canonicalHost(String(row.host));
  return {
    ...record as unknown as ServerRecord,
    host: row.scope === null ? host : `${host}%${row.scope}`,
    online: row.online === 1,
    failures: Number(row.failures),
    first_seen: Number(row.first_seen),
    last_seen: Number(row.last_seen),
  };
}

/** The value of a record's field in a row of `servers`. */
export function fieldOf(name: keyof ServerRecord, value: Value): unknown {
  return readValue(value, FIELDS.find((field) => field.name === name)!.type);
}

function readValue(value: Value, type: FieldType): unknown {
  if (value === null) return null;
  if (type === "boolean") return value === 1;
  if (type === "facts") return inKeyOrder(JSON.parse(value as string));
  return type === "names" || type === "plugins" ? JSON.parse(value as string) : value;
}

/** Columns of the table `observations`. */
export const OBSERVATION_COLUMNS: readonly ColumnDefinition[] = [
  ["server", "integer"],
  ["at", "timestamptz"],
  ["scan", "integer"],
  ["online", "boolean"],
  ["players_online", "integer"],
  ["players_max", "integer"],
  ["latency_ms", "double precision"],
  ["content", "bytea"],
];

/** The server, the time and the scan of an observation. */
export interface ObservationKey {
  /** `servers.id`. */
  readonly server: number;
  /** When the server was probed, Unix milliseconds. */
  readonly at: number;
  /** `scans.id`. */
  readonly scan: number;
}

/**
 * The values of {@linkcode OBSERVATION_COLUMNS}.
 *
 * @param reply The values and the round trip of the reply; `undefined`: no reply.
 */
export function observationValues(
  { server, at, scan }: ObservationKey,
  reply?: { readonly values: ServerValues; readonly latencyMs: number | null },
): Value[] {
  const key = [server, storableTime(at), scan];
  if (reply === undefined) return [...key, 0, null, null, null, null];
  const { values: { playersOnline, playersMax, content }, latencyMs } = reply;
  return [...key, 1, playersOnline, playersMax, valueOf(latencyMs, "number"), content];
}
