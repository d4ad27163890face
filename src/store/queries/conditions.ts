/**
 * Conditions of queries for servers, and the indexes that find the servers of a condition.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import { type Range, RangeSet } from "../../targets/ranges.ts";
import {
  type Database,
  isInList,
  listValue,
  timeParameter,
  type Value,
} from "../database/database.ts";
import { addressColumn, addressValue } from "../rows/addresses.ts";
import { readTexts } from "../rows/json_cells.ts";
import { storable, versionKey } from "../rows/stored_values.ts";
import { indexedText } from "../schema/text_index.ts";
import type { ServerOrder, TableAlias } from "./orders.ts";

/** Filters of a query for servers. A filter that is omitted matches all servers. */
export interface ServerFilters {
  /** `true`: only servers that count as online; `false`: only those that count as offline. */
  readonly online?: boolean;
  /** A part of the software's name (its first 64 code units), case-insensitive. */
  readonly software?: string;
  /** A game version or its start, in whole numbers: `1.21` matches `1.21.50` and not `1.210`. */
  readonly version?: string;
  /** Editions, of which a server has one. */
  readonly editions?: readonly string[];
  /** Names of protocols, of which the server replied in at least one. */
  readonly protocols?: readonly string[];
  /** Levels of confidence of the software (A, B, C), of which a server has one. */
  readonly confidences?: readonly string[];
  /** `true`: only servers that are no alias of another one. */
  readonly noAliases?: boolean;
  /** Ports, of which a server has one. */
  readonly ports?: readonly number[];
  /** Networks, of which one contains the address. */
  readonly networks?: readonly Range[];
  /** Flags, of which the last reply has at least one. */
  readonly flags?: readonly string[];
  /** Minimum number of players online. */
  readonly minPlayers?: number;
  /** Maximum number of players online. A server that publishes no number does not match. */
  readonly maxPlayers?: number;
  /** A part of name, MOTD, map or software, case-insensitive. */
  readonly text?: string;
  /** Only servers that changed later than this time, Unix milliseconds: new, other content, online, offline. */
  readonly since?: number;
}

/** SQL, and the values of its parameters. */
export interface Sql {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** A condition of servers `s` and their states `t`. */
export interface Condition extends Sql {
  /** The only table of which the condition reads columns. */
  readonly table: TableAlias;
  /** A query for the ids of the servers that fulfil it, by an index; `undefined`: there is none. */
  readonly ids?: Sql;
  /** Whether {@linkcode ids} may also find servers that do not fulfil the condition. Default: no. */
  readonly isApproximate?: boolean;
  /** Whether {@linkcode ids} takes much longer per server than another index. Default: no. */
  readonly isSlow?: boolean;
  /** Whether the index is one of the table `servers` itself. */
  readonly isOwn?: boolean;
  /** The sort order in which the index finds the servers. */
  readonly order?: ServerOrder;
}

/** A condition whose servers an index finds. */
export type Indexed = Condition & { readonly ids: Sql };

/** The conditions of filters, which all have to be fulfilled. */
export async function conditionsOf(
  database: Database,
  filters: ServerFilters,
): Promise<Condition[]> {
  const { online, software, version, ports, networks, flags, text, since } = filters;
  const conditions: Condition[] = [];
  if (software !== undefined) conditions.push(await hasSoftware(database, software));
  if (version !== undefined) conditions.push(hasVersion(version));
  const kinds = matcherOfKinds(filters);
  if (kinds !== undefined) conditions.push(await hasKind(database, kinds));
  if (ports !== undefined) conditions.push(hasPort(database, ports));
  if (networks !== undefined) conditions.push(isWithin(database, networks));
  if (flags !== undefined) conditions.push(hasFlag(database, flags));
  if (filters.minPlayers !== undefined || filters.maxPlayers !== undefined) {
    conditions.push(hasPlayers(filters));
  }
  if (text !== undefined) conditions.push(await hasText(database, text));
  if (since !== undefined) {
    const isLater = (s: string) => `${s}changed_at > ${timeParameter(database)}`;
    conditions.push({ ...ofServer(isLater, [since]), order: "changed" });
  }
  // The last one: if few servers fulfil another condition, not all servers of a state are counted.
  if (online !== undefined) conditions.push(hasState(online));
  return conditions;
}

function hasState(online: boolean): Condition {
  const sql = `t.online = ${online}`;
  const ids = { sql: `select t.server as id from server_state t where ${sql}`, values: [] };
  return { table: "t", sql, values: [], ids, order: "players" };
}

function hasPort(database: Database, ports: readonly number[]): Condition {
  return ofServer((s) => isInList(database, `${s}port`, "integer"), [listValue(database, ports)]);
}

function hasFlag(database: Database, texts: readonly string[]): Condition {
  const flags = texts.map(storable);
  const values = [listValue(database, flags)];
  const isFlag = isInList(database, "f.flag", "text");
  const sql = database.engine === "postgres"
    ? "jsonb_exists_any(s.flags, ?::text[])"
    : `exists (select 1 from server_flags f where ${isFlag} and f.server = s.id)`;
  const distinct = flags.length > 1 ? "distinct " : "";
  const ids = {
    sql: `select ${distinct}f.server as id from server_flags f where ${isFlag}`,
    values,
  };
  return { table: "s", sql, values, ids };
}

/** The first column of the players' index is `online`, so both states are searched. */
function hasPlayers({ online, minPlayers = 0, maxPlayers }: ServerFilters): Condition {
  const players = "coalesce(t.players_online, -1)";
  const sql = `${players} >= ?${maxPlayers === undefined ? "" : ` and ${players} <= ?`}`;
  const values = [minPlayers, ...maxPlayers === undefined ? [] : [maxPlayers]];
  const [isOnline, isOffline] = [true, false].map((state) =>
    `select t.server as id from server_state t where t.online = ${state} and ${sql}`
  );
  const ids = { sql: `${isOnline} union all ${isOffline}`, values: [...values, ...values] };
  return { table: "t", sql, values, ids, ...online !== undefined && { order: "players" } };
}

/** A condition of indexed columns of `servers`. */
function ofServer(sql: (prefix: "s." | "") => string, values: readonly Value[]): Condition {
  const ids = { sql: `select id from servers where ${sql("")}`, values };
  return { table: "s", sql: sql("s."), values, ids, isOwn: true };
}

async function hasSoftware(database: Database, software: string): Promise<Condition> {
  const like = { sql: "name like ? escape '\\'", values: [`%${pattern(software)}%`] };
  return hasKey(database, "software_key", await keysOf(database, "software_key", like));
}

/** The condition that a column of keys has one of some values. */
function hasKey(database: Database, column: string, keys: readonly string[]): Condition {
  const values = [listValue(database, keys)];
  return ofServer((s) => isInList(database, `${s}${column}`, "text"), values);
}

/**
 * The distinct values of an indexed column.
 *
 * @param condition A condition of the value `name`. Default: all values.
 */
async function keysOf(
  database: Database,
  column: "software_key" | "kind_key",
  condition: Sql = { sql: "name is not null", values: [] },
): Promise<string[]> {
  // A loose index scan: one index lookup per distinct key, independent of the number of servers.
  const sql = `with recursive keys (name) as (select min(${column}) from servers union all ` +
    `select (select min(${column}) from servers where ${column} > keys.name) from keys ` +
    `where keys.name is not null) select name from keys where ${condition.sql}`;
  return (await database.rows(sql, condition.values)).map(({ name }) => String(name));
}

/** The parts of the column `kind_key`. */
interface Kind {
  readonly isAlias: boolean;
  readonly edition: string;
  readonly confidence: string;
  readonly protocols: readonly string[];
}

function kindOf(key: string): Kind {
  const [alias, edition, confidence, ...rest] = key.split("|");
  const protocols = readTexts(rest.join("|")) ?? [];
  return { isAlias: alias !== "", edition, confidence, protocols };
}

/** The condition that filters set for kinds; `undefined`: none. */
function matcherOfKinds(
  { editions, protocols, confidences, noAliases }: ServerFilters,
): ((kind: Kind) => boolean) | undefined {
  if (!editions && !protocols && !confidences && !noAliases) return undefined;
  return (kind) =>
    !(noAliases && kind.isAlias) && (editions?.includes(kind.edition) ?? true) &&
    (confidences?.includes(kind.confidence) ?? true) &&
    (protocols?.some((name) => kind.protocols.includes(name)) ?? true);
}

async function hasKind(database: Database, matches: (kind: Kind) => boolean): Promise<Condition> {
  const keys = await keysOf(database, "kind_key");
  return hasKey(database, "kind_key", keys.filter((key) => matches(kindOf(key))));
}

/**
 * The condition that a version equals the wanted one, or begins with it and a period. Few keys of
 * other versions are between `KEY` and `KEY/`.
 */
function hasVersion(version: string): Condition {
  const key = versionKey(storable(version));
  const isVersion = (s: string) =>
    `${s}version_key >= ? and ${s}version_key < ? and (${s}version_key = ? or ${s}version_key >= ?)`;
  return { ...ofServer(isVersion, [key, `${key}/`, key, `${key}.`]), order: "version" };
}

function isWithin(database: Database, networks: readonly Range[]): Condition {
  const column = addressColumn(database);
  const type = database.engine === "postgres" ? "::inet" : "";
  const ranges = disjoint(networks);
  const values = ranges.flatMap(({ start, end }) => {
    const last = (typeof end === "bigint" ? end - 1n : end - 1) as Address;
    return [addressValue(database, start), addressValue(database, last)];
  });
  const isIn = (s: string) => `${s}${column} >= ?${type} and ${s}${column} <= ?${type}`;
  if (ranges.length === 1) return { ...ofServer(isIn, values), order: "address" };
  const sql = (s: string) => `(${ranges.map(() => `(${isIn(s)})`).join(" or ") || "false"})`;
  const parts = ranges.map(() => `select id from servers where ${isIn("")}`).join(" union all ");
  return { ...ofServer(sql, values), ...parts !== "" && { ids: { sql: parts, values } } };
}

/** Ranges that contain the same addresses, and of which no two overlap. */
function disjoint(ranges: readonly Range[]): Range[] {
  const isV4 = (range: Range): range is Range<number> => typeof range.start === "number";
  const isV6 = (range: Range): range is Range<bigint> => typeof range.start === "bigint";
  return [...RangeSet.of(ranges.filter(isV4)), ...RangeSet.of(ranges.filter(isV6))];
}

/** The columns that texts are searched in. */
const TEXTS = ["name", "motd_plain", "map", "software"];

/**
 * PostgreSQL reads the rows that its index finds. SQLite intersects the servers of all trigrams of a text,
 * and ignores the case of letters by other rules than the condition, so it may find further servers.
 */
const TEXT_INDEX: Readonly<Record<Database["engine"], Partial<Condition>>> = {
  postgres: { isSlow: true, isOwn: true },
  sqlite: { isApproximate: true, isSlow: true },
};

async function hasText(database: Database, text: string): Promise<Condition> {
  const { engine } = database;
  const contains = (s: string) =>
    `(${TEXTS.map((column) => like(`${s}${column}`, engine, text)).join(" or ")})`;
  const values = TEXTS.map(() => `%${pattern(text)}%`);
  const ids = await indexedText(database, fold(text), contains(""), values);
  return {
    table: "s",
    sql: contains("s."),
    values,
    ...ids !== undefined && { ids, ...TEXT_INDEX[engine] },
  };
}

/**
 * A case-insensitive `like` condition. SQLite's `like` ignores the case of ASCII letters by itself. In
 * PostgreSQL, ICU converts letters as JavaScript does, whatever `lc_ctype` the database has.
 */
function like(column: string, engine: Database["engine"], text: string): string {
  const isAscii = /^[ -~]*$/.test(text);
  const folded = engine === "postgres"
    ? `lower(${column} collate "und-x-icu")`
    : isAscii
    ? column
    : `unicode_lower(${column})`;
  return `${folded} like ? escape '\\'`;
}

/** Text in lower case as a `like` pattern, with wildcards escaped. */
function pattern(text: string): string {
  return fold(text).replace(/[\\%_]/g, "\\$&");
}

function fold(text: string): string {
  return storable(text).toLowerCase();
}
