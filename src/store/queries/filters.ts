/**
 * The filters of servers: for each one its condition in SQL, and its test of a row in memory.
 *
 * @module
 */
import { parseAddress } from "../../core/address.ts";
import { type Database, isInList, listValue, timeParameter } from "../database/database.ts";
import { readTexts } from "../rows/json_cells.ts";
import { fieldExpression, type ListedRecord } from "../rows/stored_record.ts";
import { foldedKey, storable } from "../rows/stored_values.ts";
import {
  anyOf,
  distinctValues,
  foldCase,
  hasKey,
  hasText,
  ofServer,
  pattern,
  SEARCHED,
  type ServerCondition,
} from "./server_conditions.ts";
import { isInNetworks, isWithin } from "./network_filter.ts";
import { fullCondition, hasPlayers, isFullServer } from "./players_filter.ts";
import { hasName, isNamed } from "./named_filter.ts";
import { listsParts, withParts } from "./listed_parts_filter.ts";
import { hasUnknown, isUnknown } from "./unknown_filter.ts";
import { hasVersion, isVersion, type VersionedServer } from "./version_filter.ts";

/**
 * Filters of a query for servers. A filter that is omitted matches all servers. Of several values of a
 * filter, a server has to match one.
 */
export interface ServerFilters {
  /** Parts of the software's name (its first 64 code units), case-insensitive. */
  readonly software?: readonly string[];
  /**
   * Ranges of game versions in release order (`1.20..1.21`, `>=1.20`), versions with their patch releases
   * (`1.21` matches `1.21.50` and not `1.210`), or other texts that a server publishes.
   */
  readonly version?: readonly string[];
  /** Editions, of which a server has one. */
  readonly edition?: readonly string[];
  /** Names of protocols in which the server replied. */
  readonly protocol?: readonly string[];
  /** Levels of confidence of the software: A, B, C. */
  readonly confidence?: readonly string[];
  /** `true`: only servers that are no alias of another one. */
  readonly noAliases?: boolean;
  /** Ports, of which a server has one. */
  readonly port?: readonly number[];
  /** Networks in CIDR notation, ranges of addresses, or single addresses. */
  readonly network?: readonly string[];
  /** Flags of the last reply, or of the number of players. */
  readonly flag?: readonly string[];
  /** Tags of the server, of which it has one. */
  readonly tag?: readonly string[];
  /** Minimum number of players online. */
  readonly minPlayers?: number;
  /** Maximum number of players online. A server that publishes no number does not match. */
  readonly maxPlayers?: number;
  /** `true`: only servers with as many players as slots or more; `false`: only those with free slots. */
  readonly full?: boolean;
  /** `yes`: servers that list mods; `no`: others; or parts of the names of mods. */
  readonly mods?: readonly string[];
  /** The same for plugins. */
  readonly plugins?: readonly string[];
  /** Parts of name, MOTD, map or software, case-insensitive: a server has all of them. */
  readonly text?: readonly string[];
  /** Names, `HOST` or `HOST:PORT`, by which servers were requested, or which they publish: one of them. */
  readonly named?: readonly string[];
  /** Only servers that changed later than this time, Unix milliseconds: new, other content, online, offline. */
  readonly since?: number;
  /** Only servers that count as offline, and whose last reply is older than this time, Unix milliseconds. */
  readonly down?: number;
  /** Only servers whose last reply is not older than this time, Unix milliseconds. */
  readonly replied?: number;
  /** Only servers whose last probe is older than this time, Unix milliseconds. */
  readonly stale?: number;
  /** Only servers of which these columns are unknown. */
  readonly unknown?: readonly ("edition" | "software" | "version" | "protocol")[];
  /** `true`: only servers that count as online; `false`: only those that count as offline. */
  readonly online?: boolean;
}

/** A test of servers in memory, for a value of a filter. */
export interface FilterTest<Value, Server> {
  readonly test: (value: Value) => (server: Server) => boolean;
}

interface ServerFilter<Value> extends FilterTest<Value, ListedRecord> {
  /** The condition of the filter. Filters with the same function have one condition together. */
  readonly sql: (
    database: Database,
    filters: ServerFilters,
  ) => ServerCondition | Promise<ServerCondition | readonly ServerCondition[]>;
}

export interface ColumnTest<Value, Name extends string, Cell>
  extends FilterTest<Value, { readonly [Column in Name]: Cell }> {
  readonly testCell: (value: Value) => (cell: Cell) => boolean;
}

/** Makes a test of rows from a test of one column. */
export function columnTest<Value, Name extends string, Cell>(
  column: Name,
  testCell: (value: Value) => (cell: Cell) => boolean,
): ColumnTest<Value, Name, Cell> {
  const test = (value: Value) => {
    const isMatch = testCell(value);
    return (server: { readonly [Column in Name]: Cell }) => isMatch(server[column]);
  };
  return { test, testCell };
}

/** A filter that reads one column. */
function filter<Value, Name extends keyof ListedRecord>(
  column: Name,
  sql: ServerFilter<Value>["sql"],
  testCell: (value: Value) => (cell: ListedRecord[Name]) => boolean,
) {
  return { sql, ...columnTest(column, testCell) };
}

/**
 * All filters, in the order of their conditions. `online` comes last: if few servers fulfil another
 * condition, not all servers of a state are counted.
 */
export const SERVER_FILTERS = {
  software: filter("software", hasSoftware, (wanted: readonly string[]) => {
    const parts = wanted.map(foldCase);
    return (text) => text !== null && parts.some((part) => foldedKey(text).includes(part));
  }),
  version: {
    sql: hasVersion,
    test: (wanted: readonly string[]): (server: VersionedServer) => boolean => isVersion(wanted),
  },
  edition: filter("edition", hasKind, isKindText),
  protocol: filter("protocols", hasKind, hasOneOf),
  confidence: filter("software_confidence", hasKind, isKindText),
  noAliases: filter("alias_of", hasKind, (_: boolean) => (alias) => alias === null),
  port: filter("port", hasPort, (wanted: readonly number[]) => (port) => wanted.includes(port)),
  network: filter("host", isWithin, (wanted: readonly string[]) => {
    const isWanted = isInNetworks(wanted);
    return (host) => {
      const address = parseAddress(host.split("%")[0]);
      return address !== undefined && isWanted(address);
    };
  }),
  flag: {
    ...filter("flags", hasFlag, hasOneOf),
    test: (wanted: readonly string[]) => {
      const isWanted = hasOneOf(wanted);
      return ({ flags, player_flags: others }: Pick<ListedRecord, "flags" | "player_flags">) =>
        isWanted([...flags, ...Object.keys(others ?? {})]);
    },
  },
  tag: {
    sql: hasTag,
    test: (wanted: readonly string[]) => {
      const isWanted = hasOneOf(wanted);
      return ({ tags = [] }: Pick<ListedRecord, "tags">) => isWanted(tags);
    },
  },
  minPlayers: filter(
    "players_online",
    hasPlayers,
    (min: number) => (players) => (players ?? -1) >= min,
  ),
  maxPlayers: filter(
    "players_online",
    hasPlayers,
    (max: number) => (players) => players !== null && players >= 0 && players <= max,
  ),
  full: { sql: fullCondition, test: isFullServer },
  mods: {
    sql: withParts("mods"),
    test: (wanted: readonly string[]) => listsParts("mods", wanted),
  },
  plugins: {
    sql: withParts("plugins"),
    test: (wanted: readonly string[]) => listsParts("plugins", wanted),
  },
  text: {
    sql: (database, { text = [] }) => Promise.all(text.map((part) => hasText(database, part))),
    test: (texts: readonly string[]) => {
      const parts = texts.map(foldCase);
      return (server: Pick<ListedRecord, typeof SEARCHED[number]>) =>
        parts.every((part) =>
          SEARCHED.some((column) => server[column]?.toLowerCase().includes(part))
        );
    },
  },
  named: { sql: hasName, test: isNamed },
  down: {
    sql: (database, { down = 0 }) => ({
      table: "t",
      sql: `t.online = false and ${LAST_REPLY} < ${timeParameter(database)}`,
      values: [down],
    }),
    test: (time: number) => (server: Pick<ListedRecord, "online" | "seen_at">) =>
      !server.online && server.seen_at < time,
  },
  replied: filter(
    "seen_at",
    (database, { replied = 0 }) => ({
      table: "t",
      sql: `${LAST_REPLY} >= ${timeParameter(database)}`,
      values: [replied],
    }),
    (time: number) => (seenAt) => seenAt >= time,
  ),
  stale: filter("probed_at", isStale, (time: number) => (probedAt) => probedAt < time),
  unknown: { sql: hasUnknown, test: isUnknown },
  since: filter("changed_at", isChangedSince, (time: number) => (changedAt) => changedAt > time),
  online: filter("online", hasState, (wanted: boolean) => (online) => online === wanted),
} as const satisfies {
  readonly [Name in keyof ServerFilters]-?: ServerFilter<NonNullable<ServerFilters[Name]>>;
};

/** The conditions of filters, which all have to be fulfilled. */
export async function conditionsOf(
  database: Database,
  filters: ServerFilters,
): Promise<ServerCondition[]> {
  const given = givenFilters(SERVER_FILTERS, filters);
  const queries = new Set(given.map(({ name }) => SERVER_FILTERS[name].sql));
  const conditions: ServerCondition[] = [];
  for (const sql of queries) conditions.push(...[await sql(database, filters)].flat());
  return conditions;
}

/**
 * A test of whether servers match all filters.
 *
 * @param table The filters that there are.
 */
export function testOf<Server>(
  table: Readonly<Record<string, FilterTest<never, Server>>>,
  filters: object,
): (server: Server) => boolean {
  const tests = givenFilters(table, filters).map(({ name, value }) =>
    table[name].test(value as never)
  );
  return (server) => tests.every((test) => test(server));
}

/** The filters that do not match all servers, in the order of a table. */
export function givenFilters<Name extends string>(
  table: Readonly<Record<Name, unknown>>,
  filters: object,
): { readonly name: Name; readonly value: unknown }[] {
  return (Object.keys(table) as Name[])
    .map((name) => ({ name, value: (filters as Record<string, unknown>)[name] }))
    .filter(({ name, value }) => value !== undefined && !(name === "noAliases" && !value));
}

/** Whether a list has one of some texts, as databases store them. */
function hasOneOf(wanted: readonly string[]): (list: readonly string[]) => boolean {
  const texts = new Set(wanted.map(storable));
  return (list) => list.some((text) => texts.has(text));
}

/** Whether a text is one of some texts, as `kind_key` contains them: it has `|` between its parts. */
function isKindText(wanted: readonly string[]): (text: string | null) => boolean {
  const keyOf = (text: string) => storable(text).replaceAll("|", "?");
  const keys = new Set(wanted.map(keyOf));
  return (text) => text !== null && keys.has(keyOf(text));
}

/** The condition of the filter `online`. */
function hasState(_: Database, { online }: ServerFilters): ServerCondition {
  const sql = `t.online = ${online}`;
  const ids = { sql: `select t.server as id from server_state t where ${sql}`, values: [] };
  return { table: "t", sql, values: [], ids, order: "players" };
}

/** When a server last replied; one that never did counts as if its last probe was a reply. */
const LAST_REPLY = fieldExpression("seen_at");

function isStale(database: Database, { stale = 0 }: ServerFilters): ServerCondition {
  const sql = `t.probed_at < ${timeParameter(database)}`;
  return { table: "t", sql, values: [stale] };
}

function isChangedSince(database: Database, { since = 0 }: ServerFilters): ServerCondition {
  const isLater = (s: string) => `${s}changed_at > ${timeParameter(database)}`;
  return { ...ofServer(isLater, [since]), order: "changed" };
}

function hasPort(database: Database, { port = [] }: ServerFilters): ServerCondition {
  return ofServer((s) => isInList(database, `${s}port`, "integer"), [listValue(database, port)]);
}

function hasFlag(database: Database, { flag = [] }: ServerFilters): ServerCondition {
  const flags = flag.map(storable);
  const values = [listValue(database, flags)];
  const isFlag = isInList(database, "f.flag", "text");
  const sql = database.engine === "postgres"
    ? "(jsonb_exists_any(s.flags, ?::text[]) or jsonb_exists_any(s.player_flags, ?::text[]))"
    : `exists (select 1 from server_flags f where ${isFlag} and f.server = s.id)`;
  const distinct = flags.length > 1 ? "distinct " : "";
  const ids = {
    sql: `select ${distinct}f.server as id from server_flags f where ${isFlag}`,
    values,
  };
  const both = database.engine === "postgres" ? [...values, ...values] : values;
  return { table: "s", sql, values: both, ids };
}

function hasTag(database: Database, { tag = [] }: ServerFilters): ServerCondition {
  const tags = tag.map(storable);
  const isTag = isInList(database, "g.tag", "text");
  const values = [listValue(database, tags)];
  const distinct = tags.length > 1 ? "distinct " : "";
  return {
    table: "s",
    sql: `exists (select 1 from server_tags g where ${isTag} and g.server = s.id)`,
    values,
    ids: { sql: `select ${distinct}g.server as id from server_tags g where ${isTag}`, values },
  };
}

/** The condition of the filter `software`. */
async function hasSoftware(
  database: Database,
  { software = [] }: ServerFilters,
): Promise<ServerCondition> {
  const like = anyOf(software.map((part) => ({
    sql: "name like ? escape '\\'",
    values: [`%${pattern(part)}%`],
  })));
  return hasKey(database, "software_key", await distinctValues(database, "software_key", like));
}

/** The columns of a server that `kind_key` contains; of `alias_of`, whether there is one. */
type ServerKind = Pick<
  ListedRecord,
  "alias_of" | "edition" | "software_confidence" | "protocols"
>;

/** The condition of all filters of these columns: the keys whose parts pass their tests. */
async function hasKind(database: Database, filters: ServerFilters): Promise<ServerCondition> {
  const { edition, protocol, confidence, noAliases } = SERVER_FILTERS;
  const test = testOf<ServerKind>({ edition, protocol, confidence, noAliases }, filters);
  const keys = await distinctValues(database, "kind_key");
  return hasKey(database, "kind_key", keys.filter((key) => test(kindOf(key))));
}

function kindOf(key: string): ServerKind {
  const [alias, edition, confidence, ...rest] = key.split("|");
  return {
    alias_of: alias || null,
    edition: edition || null,
    software_confidence: confidence || null,
    protocols: readTexts(rest.join("|")) ?? [],
  };
}
