/**
 * Reads the events of pages and of the JSON API.
 *
 * @module
 */
import type { Database } from "../../store/database/database.ts";
import { type EventsPage, isServerNumber, leaveOut, newestEvents } from "../../store/mod.ts";
import type { EventsQuery } from "../queries/dashboard_data.ts";
import { namedServers } from "./named_servers.ts";

/** Reads a page of events. Those that cannot be read are left out. */
export async function readEvents(
  database: Database,
  { server, ...query }: EventsQuery,
): Promise<EventsPage> {
  const servers = server === undefined ? undefined : await numbersOf(database, server);
  if (servers?.length === 0) return { events: [], next: null };
  return await newestEvents(database, { ...query, servers, onBroken: leaveOut });
}

/** The numbers of the servers that a query names; none for a name that the database does not have. */
async function numbersOf(database: Database, server: number | string): Promise<readonly number[]> {
  if (typeof server === "number") return isServerNumber(server) ? [server] : [];
  return (await namedServers(database, server)).map(({ id }) => id);
}
