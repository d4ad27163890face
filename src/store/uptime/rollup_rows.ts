/**
 * Computes rows of the table `rollups` for a page of servers.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import {
  type ColumnDefinition,
  type Database,
  insertInto,
  isInList,
  listValue,
  timeParameter,
  type Value,
} from "../database/database.ts";
import { hoursBetween, isServerIn, isTimeIn, timeList, VALID_MS } from "./rollup_hours.ts";
import { type SeenState, type StoredSpan, uptimeOfPolls } from "./uptime_of_polls.ts";

const COLUMNS: readonly ColumnDefinition[] = [
  ["at", "timestamptz"],
  ["hours", "integer"],
  ["server", "integer"],
  ["player_s", "bigint"],
  ["watched_s", "integer"],
  ["online_s", "integer"],
  ["players_min", "integer"],
  ["players_max", "integer"],
  ["polls", "integer"],
];

/** SQL of the sum of a column `polls`: null if one of them is unknown. */
export const SUM_OF_POLLS = "case when count(*) = count(r.polls) then sum(r.polls) end";

/**
 * There are no conflicts: rows with these keys are deleted first, and only one transaction at a
 * time computes rollups.
 */
const INSERT = insertInto("rollups", COLUMNS, "");

/** The spans that overlap a period. Times are Unix milliseconds. */
export async function spansIn(
  database: Database,
  from: number,
  to: number,
): Promise<readonly StoredSpan[]> {
  const time = timeParameter(database);
  const rows = await database.rows(
    "select scan, started_at, ended_at from watch_spans " +
      `where started_at < ${time} and ended_at > ${time}`,
    [to, from],
  );
  return rows.map(({ scan, started_at: start, ended_at: end }) => ({
    scan: Number(scan),
    startedAt: Number(start),
    endedAt: Number(end),
  }));
}

/** Computes the rows of an hour for servers. The caller has begun a transaction. */
export async function computeHour(
  database: Database,
  hour: number,
  servers: readonly number[],
): Promise<void> {
  const end = hour + HOUR_MS;
  const spans = await spansIn(database, hour, end);
  const [seen, optedOut] = spans.length === 0
    ? [new Map<number, SeenState[]>(), new Map<number, number>()]
    : [
      await statesIn(database, servers, spans, hour, end),
      await optOutsOf(database, servers),
    ];
  const rows = [...seen].flatMap(([server, states]): Value[][] => {
    const uptime = uptimeOfPolls(states, spans, hour, end, optedOut.get(server));
    const { watchedS, onlineS, playerS, playersMin, playersMax, polls } = uptime;
    if (watchedS === 0) return [];
    return [[hour, 1, server, playerS, watchedS, onlineS, playersMin, playersMax, polls]];
  });
  await deleteRows(database, 1, hour, servers);
  await database.bulk(INSERT, rows);
}

/**
 * The observations of servers that are valid in a period: those in the period, and the last one of
 * each watch before it. They are in the order of times.
 */
export async function statesIn(
  database: Database,
  servers: readonly number[],
  spans: readonly StoredSpan[],
  from: number,
  to: number,
): Promise<Map<number, SeenState[]>> {
  const time = timeParameter(database);
  const scans = [...new Set(spans.map(({ scan }) => scan))];
  const [serverList, scanList] = [listValue(database, servers), listValue(database, scans)];
  const [isServer, isScan] = ["o.server", "o.scan"].map((column) =>
    isInList(database, column, "integer")
  );
  const columns = "o.server, o.at, o.scan, o.online, o.players_online, o.polls";
  const before = await database.rows(
    `select ${columns} from ${listTable(database, "s")} cross join ${listTable(database, "c")} ` +
      "cross join observations o where o.server = s.value and o.scan = c.value and o.at = " +
      "(select max(b.at) from observations b where b.server = s.value and b.scan = c.value " +
      `and b.at >= ${time} and b.at < ${time})`,
    [serverList, scanList, from - VALID_MS, from],
  );
  const within = await database.rows(
    `select ${columns} from observations o where ${isServer} and o.at >= ${time} ` +
      `and o.at < ${time} and ${isScan} order by o.server, o.at`,
    [serverList, from, to, scanList],
  );
  const states = new Map<number, SeenState[]>();
  for (const row of [...before, ...within]) {
    const { server, at, scan, online, players_online: players, polls } = row;
    const seen = {
      at: Number(at),
      scan: Number(scan),
      online: online === 1,
      players: players === null ? null : Number(players),
      polls: polls === null ? null : Number(polls),
    };
    const ofServer = states.get(Number(server));
    if (ofServer === undefined) states.set(Number(server), [seen]);
    else ofServer.push(seen);
  }
  return states;
}

/** SQL of a table with the integers of a list, which is one `?` parameter, in its column `value`. */
export function listTable({ engine }: Database, alias: string): string {
  return engine === "postgres"
    ? `unnest(?::integer[]) as ${alias} (value)`
    : `json_each(?) as ${alias}`;
}

/** When the addresses of servers opted out, Unix milliseconds, by server. */
export async function optOutsOf(
  database: Database,
  servers: readonly number[],
): Promise<Map<number, number>> {
  const { sql, values } = isServerIn(database, "server", servers);
  const rows = await database.rows(
    `select server, noted_at from opted_out_servers where ${sql}`,
    values,
  );
  return new Map(rows.map(({ server, noted_at: at }) => [Number(server), Number(at)]));
}

/** Computes the rows of a day from those of its hours. The caller has begun a transaction. */
export async function computeDay(
  database: Database,
  day: number,
  servers: readonly number[],
): Promise<void> {
  await deleteRows(database, 24, day, servers);
  const time = timeParameter(database);
  const hours = hoursBetween(day, day + DAY_MS);
  const { sql, values } = isServerIn(database, "r.server", servers);
  await database.run(
    `insert into rollups (${COLUMNS.map(([name]) => name).join(", ")}) ` +
      `select ${time}, 24, r.server, sum(r.player_s), sum(r.watched_s), sum(r.online_s), ` +
      `min(r.players_min), max(r.players_max), ${SUM_OF_POLLS} from rollups r where r.hours = 1 ` +
      `and ${isTimeIn(database, "r.at")} and ${sql} group by r.server`,
    [day, timeList(database, hours), ...values],
  );
}

async function deleteRows(
  database: Database,
  hours: 1 | 24,
  at: number,
  servers: readonly number[],
): Promise<void> {
  const { sql, values } = isServerIn(database, "server", servers);
  await database.run(
    `delete from rollups where hours = ? and at = ${timeParameter(database)} and ${sql}`,
    [hours, at, ...values],
  );
}
