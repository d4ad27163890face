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
  isRandomGuid,
  type Join,
  joinedGroups,
  joinEndpoints,
  joinGuids,
  joinPorts,
  type Pair,
  ruleOf,
  type ServerGroup,
} from "./group_rules.ts";

/** The groups of a database, by the `servers.id` of their members. */
export type ServerGroups = ReadonlyMap<number, ServerGroup>;

const COLUMNS =
  "s.id, s.key, s.hostname, s.address, s.scope, s.port, s.protocol, s.edition, s.proxy, " +
  "s.software, s.version, s.map, s.motd, s.motd_plain, s.guid, s.alias_of, t.online, t.replied_at, t.players_online, t.players_max";
const TABLES = "servers s join server_state t on t.server = s.id";

/** Number of addresses and servers that are read at once. */
const BATCH = 1000;
/** Number of observations of a server whose numbers of players are compared: the last ones. */
const OBSERVATIONS = 24;
/** How long a verdict about a pair is kept, milliseconds. */
const VERDICT_MS = 3_600_000;

/** Which pairs of servers have equal counts, by their ids, and when that was found. */
export type PairVerdicts = Map<string, { readonly isSame: boolean; readonly at: number }>;

/**
 * Reads the groups of a database.
 *
 * @param verdicts Receives what is found of pairs. A verdict is found again after an hour.
 * @param budgetMs Once the counts of pairs were read for this long, other pairs keep their old verdicts, or
 * are not joined yet. Default: all are read.
 */
export async function readGroups(
  database: Database,
  verdicts: PairVerdicts = new Map(),
  budgetMs = Infinity,
): Promise<ServerGroups> {
  const beside = await besideAliases(database);
  const joins: Join[] = [
    ...joinEndpoints(await sharedEndpoints(database)),
    ...joinGuids(await withSameGuid(database)),
    ...joinPorts(beside),
  ];
  const joined = new Set(joins.flatMap(({ pair }) => pair.map(({ id }) => id)));
  const pairs = aliasPairs(beside).filter((pair) => pair.some(({ id }) => !joined.has(id)));
  await judgePairs(database, pairs, verdicts, budgetMs);
  const names = new Set(pairs.map(nameOf));
  for (const name of verdicts.keys()) if (!names.has(name)) verdicts.delete(name);
  for (const pair of pairs) {
    if (verdicts.get(nameOf(pair))?.isSame) joins.push({ pair, rule: ruleOf(pair) });
  }
  return groupsById(joinedGroups(joins));
}

export function groupsById(groups: readonly ServerGroup[]): ServerGroups {
  return new Map(groups.flatMap((group) => group.map(({ id }) => [id, group] as const)));
}

function nameOf(pair: Pair): string {
  return pair.map(({ id }) => id).join(" ");
}

/** Finds which pairs have equal counts, those without a verdict first. */
async function judgePairs(
  database: Database,
  pairs: readonly Pair[],
  verdicts: PairVerdicts,
  budgetMs: number,
): Promise<void> {
  const began = performance.now();
  const atOf = (pair: Pair) => verdicts.get(nameOf(pair))?.at ?? -Infinity;
  const due = pairs.filter((pair) => atOf(pair) < began - VERDICT_MS)
    .sort((a, b) => atOf(a) < atOf(b) ? -1 : Number(atOf(a) > atOf(b)));
  for (let i = 0; i < due.length && performance.now() - began <= budgetMs; i += BATCH) {
    const some = due.slice(i, i + BATCH);
    const counts = await countsOf(database, some);
    for (const pair of some) {
      const [one, other] = pair.map(({ id }) => counts.get(id) ?? []);
      verdicts.set(nameOf(pair), { isSame: hasEqualCounts(one, other), at: performance.now() });
    }
  }
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

/** The rows whose GUID another row has too. */
async function withSameGuid(database: Database): Promise<GroupRow[]> {
  const guids = (await database.rows(
    "select guid from servers where guid is not null group by guid having count(*) > 1",
  )).map(({ guid }) => String(guid)).filter(isRandomGuid);
  const rows: GroupRow[] = [];
  for (let i = 0; i < guids.length; i += BATCH) {
    const isWanted = isInList(database, "s.guid", "text");
    const sql = `select ${COLUMNS} from ${TABLES} where s.guid is not null and ${isWanted}`;
    const some = await database.rows(sql, [listValue(database, guids.slice(i, i + BATCH))]);
    rows.push(...some.map(groupRow));
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
  const isPostgres = database.engine === "postgres";
  const at = isPostgres ? "extract(epoch from o.at) * 1000" : "o.at";
  const list = isPostgres ? "string_agg" : "group_concat";
  const last =
    "select o.at, o.players_online, o.online from observations o where o.server = s.id " +
    `order by o.at desc limit ${OBSERVATIONS}`;
  const texts = `select ${list}(round(${at}) || ' ' || o.players_online, ' ') from (${last}) o ` +
    "where o.online and o.players_online is not null";
  const rows = await database.rows(
    `select s.id, (${texts}) as counts from servers s where ${
      isInList(database, "s.id", "integer")
    }`,
    [listValue(database, ids)],
  );
  return new Map(rows.map(({ id, counts }) => [Number(id), countsIn(String(counts ?? ""))]));
}

/** The counts of a text of times and numbers. */
function countsIn(text: string): Count[] {
  const numbers = text === "" ? [] : text.split(" ").map(Number);
  const counts: Count[] = [];
  for (let i = 0; i < numbers.length; i += 2) {
    counts.push({ at: numbers[i], players: numbers[i + 1] });
  }
  return counts.sort((a, b) => a.at - b.at);
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
    plain: text(row.motd_plain),
    guid: row.guid !== null && isRandomGuid(String(row.guid)) ? String(row.guid) : null,
    slots: number(row.players_max),
    players: number(row.players_online),
    online: row.online === 1,
    repliedAt: number(row.replied_at),
    aliasOf: text(row.alias_of),
  };
}
