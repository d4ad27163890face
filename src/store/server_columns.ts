/**
 * Converts records to rows of the tables `servers` and `observations`, and rows to records.
 *
 * @module
 */
import { formatAddress, parseAddress } from "../core/address.ts";
import { FIELDS, type FieldType, serverId, type ServerRecord } from "../core/record.ts";
import type { ColumnDefinition, ColumnType, Row, Value } from "./database/database.ts";

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

/** Columns whose name differs from that of the record's field. */
const RENAMED: Partial<Record<keyof ServerRecord, string>> = {
  seen_at: "last_online",
  scan_id: "last_scan",
};

const TYPES: Readonly<Record<FieldType, ColumnType>> = {
  text: "text",
  integer: "bigint",
  number: "double precision",
  boolean: "integer",
  names: "text",
  plugins: "text",
  facts: "text",
};

/** Columns of the table `servers`: the record's fields in order, then derived columns and the state. */
export const SERVER_COLUMNS: readonly ColumnDefinition[] = [
  ...FIELDS.map(({ name, type }): ColumnDefinition => [RENAMED[name] ?? name, TYPES[type]]),
  ["id", "text"],
  ["addr", "bigint"],
  ["software_key", "text"],
  ["content_hash", "text"],
  ["online", "integer"],
  ["failures", "integer"],
  ["first_seen", "bigint"],
  ["last_seen", "bigint"],
];

/** Columns of the table `observations`. */
export const OBSERVATION_COLUMNS: readonly ColumnDefinition[] = [
  ["scan_id", "text"],
  ["server_id", "text"],
  ["round", "integer"],
  ["seen_at", "bigint"],
  ["online", "integer"],
  ["players_online", "bigint"],
  ["players_max", "bigint"],
  ["latency_ms", "double precision"],
  ["content_hash", "text"],
];

/** The values of {@linkcode SERVER_COLUMNS} for a record. */
export function serverValues(record: ServerRecord, id: string, state: ServerState): Value[] {
  const values: Value[] = [];
  for (const { name, type } of FIELDS) values.push(valueOf(record[name], type));
  const address = parseAddress(record.host);
  if (record.protocol === "") values[SEEN_AT] = null; // the server never replied
  values.push(
    id,
    typeof address === "number" ? address : null,
    softwareKey(record.software),
    contentHash(values),
    state.online ? 1 : 0,
    state.failures,
    state.first_seen,
    state.last_seen,
  );
  return values;
}

/** Maximum length of a software key, UTF-16 code units. */
const MAX_SOFTWARE_KEY = 64;

/** The indexed search key of a software name: its first 64 UTF-16 code units in lower case. */
export function softwareKey(software: string | null): string | null {
  return software === null ? null : storable(software.slice(0, MAX_SOFTWARE_KEY).toLowerCase());
}

const SEEN_AT = FIELDS.findIndex(({ name }) => name === "seen_at");
const CONTENT_HASH = SERVER_COLUMNS.findIndex(([name]) => name === "content_hash");

/**
 * The values of {@linkcode OBSERVATION_COLUMNS} for a record.
 *
 * @param server The values of {@linkcode SERVER_COLUMNS} for the record.
 * @param round Number of the watch's poll, from 1. Default: 0, a scan.
 */
export function observationValues(
  record: ServerRecord,
  id: string,
  server: readonly Value[],
  round = 0,
): Value[] {
  const { scan_id: scan, seen_at: seen, players_online: online, players_max: max } = record;
  const content = server[CONTENT_HASH];
  return [
    storable(scan ?? ""),
    id,
    round,
    seen,
    1,
    wholeNumber(online),
    wholeNumber(max),
    record.latency_ms,
    content,
  ];
}

function valueOf(value: ServerRecord[keyof ServerRecord], type: FieldType): Value {
  if (value === null) return null;
  switch (type) {
    case "text":
      return storable(value as string);
    case "integer":
      return wholeNumber(value as number);
    case "number":
      return value as number;
    case "boolean":
      return value ? 1 : 0;
    default:
      if (Array.isArray(value) && value.length === 0) return "[]"; // a fast path: most flags are empty
      return JSON.stringify(value); // escapes U+0000 and lone surrogates
  }
}

/** The number, if it is a safe integer, which a bigint column can hold; else null. */
function wholeNumber(value: number | null): number | null {
  return Number.isSafeInteger(value) ? value : null;
}

/**
 * Text that both engines store unchanged. PostgreSQL refuses U+0000, and SQLite functions may end a
 * text there: it becomes U+2400 (␀). A lone surrogate has no UTF-8 form: it becomes U+FFFD.
 */
export function storable(text: string): string {
  const whole = text.includes("\0") ? text.replaceAll("\0", "␀") : text;
  return whole.isWellFormed() ? whole : whole.toWellFormed();
}

/** Fields that the content hash covers: all that a server publishes, except players and times. */
const CONTENT: readonly (keyof ServerRecord)[] = [
  "protocols",
  "edition",
  "software",
  "motd",
  "version",
  "protocol_version",
  "map",
  "gamemode",
  "players_max",
  "plugins",
  "guid",
  "port_v4",
  "port_v6",
  "proxy",
  "joinable",
  "favicon_hash",
];

/** Positions of the fields of {@linkcode CONTENT} in {@linkcode FIELDS}. */
const CONTENT_COLUMNS = CONTENT.map((name) => FIELDS.findIndex((field) => field.name === name));

/**
 * A 64-bit hash of a server's content, 16 hexadecimal digits. It is not cryptographic: collisions can
 * be constructed.
 *
 * @param values The values of {@linkcode SERVER_COLUMNS}; those of {@linkcode FIELDS} suffice.
 */
function contentHash(values: readonly Value[]): string {
  let [high, low] = [0x9e3779b9, 0x85ebca6b];
  for (const column of CONTENT_COLUMNS) {
    const value = values[column];
    const text = typeof value === "string" ? value : value === null ? "" : String(value);
    // Each half covers every second character, which takes half the time.
    const { length } = text;
    for (let i = 0; i + 1 < length; i += 2) {
      high = Math.imul(high ^ text.charCodeAt(i), 0x9e3779b1);
      low = Math.imul(low ^ text.charCodeAt(i + 1), 0x5f356495);
    }
    if (length % 2 === 1) high = Math.imul(high ^ text.charCodeAt(length - 1), 0x9e3779b1);
    const crossed = high ^ low >>> 15 ^ length;
    low = Math.imul(low ^ high >>> 13 ^ 0x2ffff, 0x27d4eb2f);
    high = Math.imul(crossed ^ 0x1ffff, 0x85ebca77);
  }
  return hex(high ^ low >>> 13) + hex(low ^ high >>> 15);
}

function hex(bits: number): string {
  return (bits >>> 0).toString(16).padStart(8, "0");
}

/** Converts a row of the table `servers` to a record. */
export function recordOf(row: Row): StoredRecord {
  const record: Record<string, unknown> = {};
  for (const { name, type } of FIELDS) {
    record[name] = readValue(row[RENAMED[name] ?? name], type);
  }
  record.seen_at ??= row.last_seen;
  return {
    ...record as unknown as ServerRecord,
    online: row.online === 1,
    failures: Number(row.failures),
    first_seen: Number(row.first_seen),
    last_seen: Number(row.last_seen),
  };
}

function readValue(value: Value, type: FieldType): unknown {
  if (value === null) return null;
  if (type === "boolean") return value === 1;
  return type === "names" || type === "plugins" || type === "facts"
    ? JSON.parse(value as string)
    : value;
}

/** The id of a server, with the address in canonical form; `undefined` when the host is no address. */
export function canonicalId(host: string, port: number): string | undefined {
  const address = parseAddress(host);
  return address === undefined ? undefined : serverId({ host: formatAddress(address), port });
}
