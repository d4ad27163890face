/**
 * Converts records to rows of the tables of servers.
 *
 * @module
 */
import { FIELDS, type FieldType, type ServerRecord } from "../../core/record.ts";
import type { ColumnDefinition, ColumnType, Value } from "../database/database.ts";
import { addressSort } from "./addresses.ts";
import { CONTENT, contentHash, hashOf } from "./content_hash.ts";
import type { ServerIdentity } from "./identity.ts";
import {
  foldedKey,
  nameKey,
  storable,
  storableCount,
  storableJson,
  versionKey,
  wholeNumber,
} from "./stored_values.ts";

/**
 * Fields that other tables than `servers` contain, or that are among the columns of the identity.
 */
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
 * Columns of the table `servers` that a reply fills. SQLite has `address_sort` after them, which
 * PostgreSQL does not need.
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
  /** Values of the record's fields, in the order of {@linkcode FIELDS}. */
  readonly fields: readonly Value[];
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

/** The flag of records with a count that does not fit into 32 bits. */
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
  return { columns, fields, content, digest, playersOnline, playersMax, players };
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
