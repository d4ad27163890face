/**
 * Reads the groups of a database: rows that certainly belong to one server.
 *
 * @module
 */
import { type Database, isInList, listValue, type Row } from "../database/database.ts";
import { addressColumn, canonicalHost, hasAddressIn } from "../rows/addresses.ts";
import {
  aliasPairs,
  type Count,
  type GroupRow,
  hasEqualCounts,
  type Join,
  joinedGroups,
  joinEndpoints,
  joinPorts,
  type Pair,
  ruleOf,
  type ServerGroup,
} from "./group_rules.ts";

/** The groups of a database, by the `servers.id` of their members. */
export type ServerGroups = ReadonlyMap<number, ServerGroup>;

const COLUMNS =
  "s.id, s.key, s.hostname, s.address, s.scope, s.port, s.protocol, s.edition, s.proxy, " +
  "s.software, s.version, s.map, s.motd, s.alias_of, t.online, t.replied_at, t.players_online, t.players_max";
const TABLES = "servers s join server_state t on t.server = s.id";

/** Number of addresses and servers that are read at once. */
const BATCH = 1000;
/** Number of observations of a server whose numbers of players are compared: the last ones. */
const OBSERVATIONS = 50;

/** Reads the groups of a database. A database without aliases and names is read in a millisecond. */
export async function readGroups(database: Database): Promise<ServerGroups> {
  const beside = await besideAliases(database);
  const pairs = aliasPairs(beside);
  const joins: Join[] = [
    ...joinEndpoints(await sharedEndpoints(database)),
    ...joinPorts(beside),
  ];
  const joined = new Set(joins.flatMap(({ pair }) => pair.map(({ id }) => id)));
  const rest = pairs.filter((pair) => pair.some(({ id }) => !joined.has(id)));
  const counts = await countsOf(database, rest);
  for (const pair of rest) {
    const [one, other] = pair.map(({ id }) => counts.get(id) ?? []);
    if (hasEqualCounts(one, other)) joins.push({ pair, rule: ruleOf(pair) });
  }
  const groups = joinedGroups(joins);
  return new Map(groups.flatMap((group) => group.map(({ id }) => [id, group] as const)));
}

/** The rows on the addresses of aliases. */
async function besideAliases(database: Database): Promise<GroupRow[]> {
  const aliases = await database.rows(
    "select distinct address from servers where kind_key >= 'alias|' and kind_key < 'alias}'",
  );
  const hosts = aliases.map(({ address }) => canonicalHost(String(address)));
  const rows: GroupRow[] = [];
  for (let i = 0; i < hosts.length; i += BATCH) {
    const { condition, value } = hasAddressIn(database, hosts.slice(i, i + BATCH));
    const sql = `select ${COLUMNS} from ${TABLES} where ${condition}`;
    rows.push(...(await database.rows(sql, [value])).map(groupRow));
  }
  return rows;
}

/** The rows with an address and port that a row with a name has too. */
async function sharedEndpoints(database: Database): Promise<GroupRow[]> {
  const sort = addressColumn(database);
  const other = `select 1 from servers o where o.${sort} = s.${sort} and o.port = s.port ` +
    "and o.id <> s.id";
  const named = await database.rows(
    `select s.id, s.address from servers s where s.hostname is not null and exists (${other})`,
  );
  const hosts = [...new Set(named.map(({ address }) => canonicalHost(String(address))))];
  const rows: GroupRow[] = [];
  for (let i = 0; i < hosts.length; i += BATCH) {
    const { condition, value } = hasAddressIn(database, hosts.slice(i, i + BATCH));
    const sql = `select ${COLUMNS} from ${TABLES} where ${condition} and exists (${other})`;
    rows.push(...(await database.rows(sql, [value])).map(groupRow));
  }
  return rows;
}

/** The last numbers of players of servers, in the order of times. */
async function countsOf(
  database: Database,
  pairs: readonly Pair[],
): Promise<ReadonlyMap<number, Count[]>> {
  const ids = [...new Set(pairs.flatMap((pair) => pair.map(({ id }) => id)))];
  const counts = new Map<number, Count[]>(ids.map((id) => [id, []]));
  const first = "select x.at from observations x where x.server = s.id order by x.at desc " +
    `limit 1 offset ${OBSERVATIONS - 1}`;
  for (let i = 0; i < ids.length; i += BATCH) {
    const rows = await database.rows(
      "select o.server, o.at, o.players_online from servers s join observations o on o.server = s.id " +
        `and o.at >= coalesce((${first}), s.first_seen) ` +
        `where ${
          isInList(database, "s.id", "integer")
        } and o.online and o.players_online is not null ` +
        "order by o.server, o.at",
      [listValue(database, ids.slice(i, i + BATCH))],
    );
    for (const { server, at, players_online: players } of rows) {
      counts.get(Number(server))?.push({ at: Number(at), players: Number(players) });
    }
  }
  return counts;
}

function groupRow(row: Row): GroupRow {
  const text = (value: unknown) => value === null ? null : String(value);
  const number = (value: unknown) => value === null ? null : Number(value);
  const address = canonicalHost(String(row.address));
  return {
    id: Number(row.id),
    key: String(row.key),
    hostname: text(row.hostname),
    host: row.scope === null ? address : `${address}%${row.scope}`,
    port: Number(row.port),
    protocol: String(row.protocol),
    edition: text(row.edition),
    proxy: text(row.proxy),
    software: text(row.software),
    version: text(row.version),
    map: text(row.map),
    motd: text(row.motd),
    slots: number(row.players_max),
    players: number(row.players_online),
    online: row.online === 1,
    repliedAt: number(row.replied_at),
    aliasOf: text(row.alias_of),
  };
}
