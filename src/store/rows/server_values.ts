/**
 * Converts records to rows of the tables of servers.
 *
 * @module
 */
import { FIELDS, type FieldType, type ServerRecord } from "../../core/record.ts";
import type { ColumnDefinition, ColumnType, Value } from "../database/database.ts";
import { CONTENT, contentHash, hashedText } from "./content_hash.ts";
import type { ServerIdentity } from "./identity.ts";
import {
  foldedKey,
  nameKey,
  safeIntegerOrNull,
  storable,
  storableCount,
  storableJson,
  versionKey,
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

/** Converts values of fields that are not null. */
const CONVERT: Readonly<Record<FieldType, (value: never) => Value>> = {
  text: storable,
  integer: safeIntegerOrNull,
  number: (value: number) => Number.isFinite(value) ? value : null,
  boolean: (value: boolean) => value ? 1 : 0,
  names: storableList,
  plugins: storableList,
  facts: storableJson,
};

/** Positions in {@linkcode FIELDS} of the fields that are columns of `servers`. */
const POSITIONS = FIELDS.flatMap(({ name }, i) => ELSEWHERE.has(name) ? [] : [i]);

/** How the fields that are columns of `servers` are converted, in the order of {@linkcode POSITIONS}. */
const CONVERSIONS = POSITIONS.map((i) => {
  const { name, type } = FIELDS[i];
  return { name, convert: CONVERT[type], isContent: CONTENT.includes(name) };
});

/** Columns of the table `servers` that a reply fills, except `address_sort` in SQLite. */
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
  /** Values of {@linkcode SERVER_COLUMNS}. A writer may append values to complete its row. */
  readonly columns: Value[];
  /** Hash of what the server publishes: `servers.content`. */
  readonly content: string;
  /** Hash of all columns: `servers.digest`. */
  readonly digest: string;
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
  const isClamped = playersOnline !== safeIntegerOrNull(online) ||
    playersMax !== safeIntegerOrNull(max);
  const flagged = isClamped && !record.flags.includes(CLAMPED)
    ? { ...record, flags: [...record.flags, CLAMPED].sort() }
    : record;
  const { key, hostname, isService, address, scope, port } = identity;
  const columns: Value[] = [key, hostname, isService ? 1 : 0, address, scope, port];
  // The key contains the name.
  let [published, others] = [hashedText(safeIntegerOrNull(max)), key + hashedText(address)];
  for (const { name, convert, isContent } of CONVERSIONS) {
    const field = flagged[name];
    const value = field === null ? null : convert(field as never);
    columns.push(value);
    if (isContent) published += hashedText(value);
    else others += hashedText(value);
  }
  const content = contentHash(published);
  const digest = contentHash(content + port + others);
  const { software, name, version, players } = record;
  columns.push(
    software === null ? null : foldedKey(software),
    nameKey(name),
    versionKey(version),
    content,
    digest,
  );
  const names = players === null ? null : storableList(players);
  return { columns, content, digest, playersOnline, playersMax, players: names };
}

/** JSON text of a list. Most lists of flags are empty. */
function storableList(list: readonly unknown[]): string {
  return list.length === 0 ? "[]" : storableJson(list);
}
