/**
 * Records as rows of the table `servers`, and back.
 *
 * @module
 */
import { formatAddress, parseAddress } from "../core/address.ts";
import { FIELDS, type FieldType, serverId, type ServerRecord } from "../core/record.ts";
import type { ColumnDefinition, ColumnType, Row, Value } from "./database/database.ts";

/** What a list knows of a server beyond what it said. */
export interface ServerState {
  /** Whether it counts as online. */
  online: boolean;
  /** How often in a row it did not answer. */
  failures: number;
  /** When it was first heard of, Unix milliseconds. */
  first_seen: number;
  /** When it was last asked, whether it answered or not, Unix milliseconds. */
  last_seen: number;
}

/** A server of a list. */
export interface StoredRecord extends ServerRecord, ServerState {}

/** Fields of a record that the table has under other names. */
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

/** The columns of a record, in its own order, and those that are made of it. */
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

/** The columns of an observation. */
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

/** The values of {@linkcode SERVER_COLUMNS}. */
export function serverValues(record: ServerRecord, id: string, state: ServerState): Value[] {
  const values: Value[] = [];
  for (const { name, type } of FIELDS) values.push(valueOf(record[name], type));
  const address = parseAddress(record.host);
  if (record.protocol === "") values[SEEN_AT] = null; // it never answered
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

/** So much of a software's name is looked for, letters. */
const MOST_KEY = 64;

/** What software is found by: the start of its name, in small letters. An index has it. */
export function softwareKey(software: string | null): string | null {
  return software === null ? null : storable(software.slice(0, MOST_KEY).toLowerCase());
}

const SEEN_AT = FIELDS.findIndex(({ name }) => name === "seen_at");
const CONTENT_HASH = SERVER_COLUMNS.findIndex(([name]) => name === "content_hash");

/**
 * The values of {@linkcode OBSERVATION_COLUMNS}, of a server whose values these are.
 *
 * @param round The number of a watch's poll. Default: 0, as for a scan.
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
      if (Array.isArray(value) && value.length === 0) return "[]"; // most flags: quicker
      return JSON.stringify(value); // which escapes U+0000 and halves of surrogate pairs
  }
}

/** A number that a bigint can hold. */
function wholeNumber(value: number | null): number | null {
  return Number.isSafeInteger(value) ? value : null;
}

/**
 * Text that both engines take: PostgreSQL refuses U+0000, SQLite's texts may end there, and half of
 * a surrogate pair is no character. The first becomes its picture, the other U+FFFD.
 */
export function storable(text: string): string {
  const whole = text.includes("\0") ? text.replaceAll("\0", "␀") : text;
  return whole.isWellFormed() ? whole : whole.toWellFormed();
}

/** What the content of a server is: not its players, nor when and how fast it answered. */
const CONTENT = [
  ...["protocols", "edition", "software", "motd", "version", "protocol_version", "map"] as const,
  ...["gamemode", "players_max", "plugins", "guid", "port_v4", "port_v6", "proxy"] as const,
  ...["joinable", "favicon_hash"] as const,
];

/** Where they are among a server's values. */
const CONTENT_COLUMNS = CONTENT.map((name) => FIELDS.findIndex((field) => field.name === name));

/**
 * 64 bits of what a server says of itself, players and times apart; no proof against forgery.
 *
 * @param values The values of its fields, as columns hold them.
 */
function contentHash(values: readonly Value[]): string {
  let [high, low] = [0x9e3779b9, 0x85ebca6b];
  for (const column of CONTENT_COLUMNS) {
    const value = values[column];
    const text = typeof value === "string" ? value : value === null ? "" : String(value);
    // One half takes every second character: both would take twice as long.
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

/** The record of a row. */
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

/** The row's name of a host and a port, as servers have it; `undefined` where it is no address. */
export function canonicalId(host: string, port: number): string | undefined {
  const address = parseAddress(host);
  return address === undefined ? undefined : serverId({ host: formatAddress(address), port });
}
