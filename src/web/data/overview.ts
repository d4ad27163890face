/**
 * Reads the start page, and the servers of a scan that replied last.
 *
 * @module
 */
import { DAY_MS } from "../../core/quantities.ts";
import { type Database, timeParameter } from "../../store/database/database.ts";
import { SERVER_ORDERS } from "../../store/queries/orders.ts";
import { runningScans, storableUuid } from "../../store/mod.ts";
import type { GeoipLookup } from "../../app/geoip/mod.ts";

import type { Overview } from "../queries/dashboard_data.ts";
import type { ListedServer } from "../queries/schemas.ts";
import { readChanges } from "./changes.ts";
import { listedServers } from "./listed_servers.ts";

/** Number of servers of the overview. */
const NEWEST = 10;
/** Maximum number of scans that run. */
const SCANS = 100;
/** A server counts as stale if its last probe is older, milliseconds. */
export const STALE_SERVER_MS = DAY_MS;

export type OverviewCounts = Pick<
  Overview,
  "servers" | "online" | "players" | "stale" | "newestReplyAt"
>;

export async function countAll(database: Database): Promise<OverviewCounts> {
  const [row] = await database.rows(
    "select count(*) as servers, sum(case when t.online = true then 1 else 0 end) as online, " +
      "sum(case when t.online = true then t.players_online else 0 end) as players, " +
      `sum(case when t.probed_at < ${timeParameter(database)} then 1 else 0 end) as stale, ` +
      "max(t.replied_at) as newest from server_state t",
    [database.now() - STALE_SERVER_MS],
  );
  return {
    servers: Number(row.servers),
    online: Number(row.online ?? 0),
    players: Number(row.players ?? 0),
    stale: Number(row.stale ?? 0),
    newestReplyAt: row.newest === null ? null : Number(row.newest),
  };
}

/** Reads the start page. */
export async function readOverview(
  database: Database,
  geoipOf: GeoipLookup,
  counts: OverviewCounts,
): Promise<Overview> {
  const { index } = SERVER_ORDERS.new;
  const hint = database.engine === "sqlite" ? `indexed by ${index}` : "";
  const newest = await database.rows(
    `select id from servers ${hint} order by first_seen desc, id desc limit ${NEWEST}`,
  );
  const scans = await runningScans(database, [], SCANS);
  return {
    ...counts,
    newest: await listedServers(database, newest.map(({ id }) => Number(id)), geoipOf),
    running: scans.filter(({ state }) => state === "running"),
    changes: await readChanges(database, geoipOf, database.now()),
  };
}

/** Up to this number of servers, all states are searched for those of a scan. */
const FEW = 20_000;
/**
 * Otherwise, this number of servers is searched that are new, changed, or in the table of a running
 * scan.
 */
const RECENT = 500;

/**
 * The servers of a scan that replied last, the newest first. In a large database only servers that
 * are new or changed are found, and in a running scan those that it wrote with the highest numbers:
 * no index has the time of the last reply.
 */
export async function readFinds(
  database: Database,
  scan: string,
  limit: number,
  geoipOf: GeoipLookup,
): Promise<readonly ListedServer[]> {
  const uuid = storableUuid(scan);
  if (uuid === null) return [];
  const [row] = await database.rows(
    "select c.id, (select max(s.id) from servers s) as last from scans c where c.uuid = ?",
    [uuid],
  );
  if (row === undefined) return [];
  const candidates = Number(row.last ?? 0) <= FEW ? "" : "and t.server in (select n.id from (" +
    [
      "select s.id from servers s order by s.first_seen desc, s.id desc",
      "select s.id from servers s order by s.changed_at desc, s.id desc",
      `select p.server as id from scan_servers p where p.scan = ${
        Number(row.id)
      } and p.what % 2 = 1 ` +
      "order by p.server desc",
    ].map((sql) => `select * from (${sql} limit ${RECENT}) r`).join(" union ") + ") n)";
  const found = await database.rows(
    "select t.server as id from server_state t where t.scan = ? and t.replied_at is not null " +
      `${candidates} order by t.replied_at desc, t.server desc limit ?`,
    [row.id, limit],
  );
  return await listedServers(database, found.map(({ id }) => Number(id)), geoipOf);
}
