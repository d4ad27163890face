/**
 * Finds the servers that users, and clients of the status API, name.
 *
 * @module
 */
import { lookUpServers } from "../../app/databases/find_server.ts";
import { UNKNOWN_GEOIP } from "../../app/geoip/mod.ts";
import { serverId } from "../../core/record.ts";
import { type Database, isInList, listValue } from "../../store/database/database.ts";
import {
  type NumberedServer,
  parseServerName,
  recentUptime,
  serversOfHost,
  serverWithKey,
} from "../../store/mod.ts";
import type { StatusQuery, StoredStatus } from "../queries/dashboard_data.ts";
import type { ListedServer } from "../queries/schemas.ts";
import { readIcon } from "./icons.ts";
import { listedServers } from "./listed_servers.ts";

/**
 * The server whose key is a text. If there is none: those with its host, and with its port if the
 * text has one. A text that is not a name stands for no server.
 */
export async function namedServers(
  database: Database,
  text: string,
): Promise<readonly NumberedServer[]> {
  const name = parseServerName(text);
  return name === undefined ? [] : (await lookUpServers(database, name)).matching;
}

/** Maximum number of servers of one endpoint, each with another name, that are read. */
const MAX_NAMES = 16;

/**
 * Reads the status of a server: of the one whose name or address was requested, else of one that was
 * requested by another name and has this endpoint.
 *
 * @returns `undefined` if the database has no server of the edition there, or if it opted out.
 */
export async function readStatus(
  database: Database,
  query: StatusQuery,
): Promise<StoredStatus | undefined> {
  const ids = await idsWithoutOptedOut(database, await serversNamed(database, query));
  const servers = await listedServers(database, ids, () => UNKNOWN_GEOIP);
  const server = servers.find((one) => isOfEdition(one, query.edition));
  if (server === undefined) return undefined;
  const { favicon_hash: hash } = server;
  const icon = hash === null ? undefined : await readIcon(database, hash);
  if (!query.hasUptime) return { server, icon: icon ?? null };
  const { "30d": uptime } = await recentUptime(database, server.id, database.now());
  return { server, icon: icon ?? null, uptime };
}

/** The numbers of the servers that a client may mean, the most exact one first. */
async function serversNamed(
  database: Database,
  { host, port, mayHaveService }: StatusQuery,
): Promise<number[]> {
  const exact = [
    mayHaveService ? await serverWithKey(database, host) : undefined,
    await serverWithKey(database, serverId({ host, port })),
  ].flatMap((one) => one === undefined ? [] : [one.id]);
  if (exact.length > 0) return exact;
  const others = await serversOfHost(database, host, port);
  return others.filter(({ key }) => key !== host).slice(0, MAX_NAMES).map(({ id }) => id);
}

/** Whether an address opted out, also if the database has no server there. */
export async function isOptedOut(database: Database, address: string): Promise<boolean> {
  const parameter = database.engine === "postgres" ? "?::inet" : "?";
  const sql = `select 1 as found from opt_outs where address = ${parameter}`;
  return (await database.rows(sql, [address])).length > 0;
}

/** Those of some `servers.id` whose servers have not opted out. */
export async function idsWithoutOptedOut(
  database: Database,
  ids: readonly number[],
): Promise<number[]> {
  if (ids.length === 0) return [];
  const rows = await database.rows(
    `select server from opted_out_servers where ${isInList(database, "server", "integer")}`,
    [listValue(database, ids)],
  );
  const optedOut = new Set(rows.map(({ server }) => Number(server)));
  return ids.filter((id) => !optedOut.has(id));
}

/**
 * Whether a server replied as one of an edition. The edition of a server with both on one port is that of
 * the protocol with the higher rank. Only replies of Java servers have the name of a version apart.
 */
function isOfEdition(
  { edition, extras }: ListedServer,
  wanted: StatusQuery["edition"],
): boolean {
  if (edition === null) return true;
  if (wanted === "bedrock") return edition !== "java";
  return edition === "java" ||
    Object.values(extras ?? {}).some((facts) => facts.version_name !== undefined);
}
