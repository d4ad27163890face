/**
 * Finds servers that are added to watched databases while a watch runs.
 *
 * @module
 */
import { type Clock, sleep } from "../../net/clock.ts";
import { type Database, StoreError } from "../../store/database/database.ts";
import { lastServerId, withDatabaseErrors } from "../../store/mod.ts";
import type { WatchedServer } from "../../watch/mod.ts";
import { addedServers, type StoredSources } from "./watch_targets.ts";

/** Time between two queries for added servers, milliseconds. */
const ADDED_MS = 20_000;
/**
 * Number of queries after which older ids are not read again. A transaction may take a low id, and
 * commit after others with higher ids.
 */
const REREAD = 6;
/** Number of ids before those that are read again each time. */
const REREAD_IDS = 1000;

/** Options of {@linkcode findAddedServers}. */
export interface AddedServersOptions extends StoredSources {
  /** The watched databases, and the last id of each before its servers were read. */
  readonly databases: ReadonlyMap<Database, number>;
  /** The servers of the watch, to which added servers are appended. */
  readonly servers: WatchedServer[];
  readonly mayWatch: (server: WatchedServer) => boolean;
  readonly add: (servers: readonly WatchedServer[]) => void;
  /** The clock of the queries. */
  readonly clock: Clock;
  /** Ends the queries. */
  readonly signal: AbortSignal;
}

/** Queries the databases for added servers until the signal. A database that is unavailable is skipped. */
export async function findAddedServers(options: AddedServersOptions): Promise<void> {
  const { databases, servers, mayWatch, add, clock, signal } = options;
  const known = new Set(servers.map(({ identity }) => identity.key));
  const lastIds = [...databases].map(([database, id]) => ({ database, ids: [id] }));
  while (!signal.aborted) {
    for (const { database, ids } of lastIds) {
      const found: WatchedServer[] = [];
      try {
        await withDatabaseErrors("read", database, async () => {
          const last = await lastServerId(database);
          const from = Math.max(0, ids[0] - REREAD_IDS);
          for await (const server of addedServers(database, from, options)) found.push(server);
          ids.push(last);
          if (ids.length > REREAD) ids.shift();
        });
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
        continue; // the journal reports that the database is unavailable
      }
      const added = found.filter((server) => {
        if (known.has(server.identity.key) || !mayWatch(server)) return false;
        known.add(server.identity.key);
        return true;
      });
      if (added.length === 0) continue;
      servers.push(...added);
      add(added);
    }
    await sleep(clock, ADDED_MS, signal);
  }
}
