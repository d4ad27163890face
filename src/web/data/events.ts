/**
 * Reads the events of pages and of the JSON API.
 *
 * @module
 */
import type { Database } from "../../store/database/database.ts";
import { isServerNumber, leaveOut, newestEvents } from "../../store/mod.ts";
import type { GeoipLookup } from "../../app/geoip/mod.ts";
import type { EventsQuery, GroupedEvents } from "../queries/dashboard_data.ts";
import { groupEvents } from "./changes.ts";
import { namedServers } from "./named_servers.ts";

/** Reads a page of events. Those that cannot be read are left out. */
export async function readEvents(
  database: Database,
  { server, network, ...query }: EventsQuery,
  geoipOf: GeoipLookup,
): Promise<GroupedEvents> {
  const servers = server === undefined ? undefined : await numbersOf(database, server);
  if (servers?.length === 0) return { events: [], next: null, groups: [] };
  const networks = network;
  const page = await newestEvents(database, { ...query, servers, networks, onBroken: leaveOut });
  return { ...page, groups: await groupEvents(database, page.events, geoipOf) };
}

/** The numbers of the servers that a query names; none for a name that the database does not have. */
async function numbersOf(database: Database, server: number | string): Promise<readonly number[]> {
  if (typeof server === "number") return isServerNumber(server) ? [server] : [];
  return (await namedServers(database, server)).map(({ id }) => id);
}
