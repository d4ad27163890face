/**
 * Positions in the sort orders of servers: the values of the sort keys of a server. A page that begins
 * at a position is the right one also after the server has changed, or was removed.
 *
 * @module
 */
import { formatAddress } from "../../core/address.ts";
import type { Database, Sql, Value } from "../database/database.ts";
import { addressSort } from "../rows/addresses.ts";
import { storable } from "../rows/stored_values.ts";
import {
  ID,
  type PageStart,
  SERVER_ORDERS,
  type ServerOrder,
  sortKeys,
  TABLES,
  type UsualOrder,
  usualOrder,
} from "./orders.ts";

/** A position in a sort order: the values of the sort keys of a server, of which its id is the last. */
export type OrderPosition = readonly (string | number)[];

/** Where a page of servers begins: after or before a position, whatever became of its server. */
export interface PageCursor {
  readonly direction: "after" | "before";
  readonly position: OrderPosition;
}

type KeyKind = "flag" | "number" | "time" | "text" | "address";

/** The kinds of the sort keys of each order. */
const KINDS: Readonly<Record<UsualOrder, readonly KeyKind[]>> = {
  players: ["flag", "flag", "number", "number"],
  average: ["flag", "flag", "number", "number"],
  new: ["time", "number"],
  changed: ["time", "number"],
  name: ["text", "number"],
  version: ["text", "number"],
  address: ["address", "number", "number"],
  latency: ["number", "number"],
  seen: ["time", "number"],
};

/** Maximum length of a text in a position, UTF-16 code units: lower case can lengthen a key of 64. */
const MAX_KEY = 200;

/** An address as SQLite sorts it: the digit 4 or 6, and the address in hexadecimal. */
const SORTED_ADDRESS = /^(?:4[\da-f]{8}|6[\da-f]{32})$/;

/** SQL that reads a key of PostgreSQL without loss: times have microseconds. */
const READ: Readonly<Record<KeyKind, (key: string) => string>> = {
  flag: (key) => `${key}::integer`,
  number: (key) => key,
  time: (key) => `(extract(epoch from ${key}) * 1000000)::bigint`,
  text: (key) => key,
  address: (key) => `host(${key})`,
};

/** SQL of a key's value for PostgreSQL, with one `?`. */
const WRITTEN: Readonly<Record<KeyKind, string>> = {
  flag: "(?::integer = 1)",
  number: "?::bigint",
  time: "(timestamptz 'epoch' + ?::bigint * interval '1 microsecond')",
  text: "?::text",
  address: "?::inet",
};

/** Whether values, which a client sent, can be a position in an order. */
export function isPosition(sort: ServerOrder, values: readonly unknown[]): values is OrderPosition {
  const kinds = KINDS[usualOrder(sort)];
  return values.length === kinds.length && values.every((value, i) => isKey(kinds[i], value));
}

function isKey(kind: KeyKind, value: unknown): boolean {
  if (kind === "flag") return value === 0 || value === 1;
  if (kind === "number" || kind === "time") return Number.isSafeInteger(value);
  if (typeof value !== "string") return false;
  return kind === "address"
    ? SORTED_ADDRESS.test(value)
    : value.length <= MAX_KEY && storable(value) === value;
}

/**
 * Reads the position of a server.
 *
 * @param id The number of a server that the database has.
 */
export async function readPosition(
  database: Database,
  sort: ServerOrder,
  id: number,
): Promise<OrderPosition> {
  const { table } = SERVER_ORDERS[sort];
  const kinds = KINDS[usualOrder(sort)];
  const isPostgres = database.engine === "postgres";
  const columns = sortKeys(database, sort).map((key, i) =>
    `${isPostgres ? READ[kinds[i]](key) : key} as key_${i}`
  );
  const [row] = await database.rows(
    `select ${columns.join(", ")} from ${TABLES[table]} ${table} where ${ID[table]} = ?`,
    [id],
  );
  return kinds.map((kind, i) => {
    const value = row[`key_${i}`]!;
    if (kind !== "address" && kind !== "text") return Number(value);
    return kind === "address" && isPostgres ? addressSort(String(value)) : String(value);
  });
}

/** The start of a page at a cursor; `undefined`: the first page. */
export function startAt(
  database: Database,
  sort: ServerOrder,
  cursor: PageCursor | undefined,
): PageStart | undefined {
  if (cursor === undefined) return undefined;
  const keys = cursor.position.map((value, i): Sql => {
    if (database.engine === "sqlite") return { sql: "?", values: [value] };
    const kind = KINDS[usualOrder(sort)][i];
    const written: Value = kind === "address" ? addressText(String(value)) : value;
    return { sql: WRITTEN[kind], values: [written] };
  });
  return { keys, isBackwards: cursor.direction === "before" };
}

/** The address of a text like {@linkcode SORTED_ADDRESS}. */
function addressText(sorted: string): string {
  const digits = sorted.slice(1);
  return sorted[0] === "4"
    ? formatAddress(parseInt(digits, 16))
    : digits.replace(/(.{4})(?=.)/g, "$1:");
}
