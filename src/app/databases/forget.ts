/**
 * Removes servers from a database and from the files that wait for it.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { sleep, systemClock } from "../../net/clock.ts";
import { type Database, StoreError } from "../../store/database/database.ts";
import {
  countObservations,
  identityOf,
  readOptedOutServers,
  readSharingServers,
  removeServers,
  removeTombstones,
  type ServerName,
  type ServerToForget,
  tombstoneKeys,
  writeTombstones,
} from "../../store/mod.ts";
import { reason } from "../environment.ts";
import { ambiguousName, lookUpServers, serverNameOf } from "./find_server.ts";
import { type FileSearch, forgetInFiles, type ForgottenInFile } from "./forget_in_files.ts";

/** Pause between two checks for transactions of other programs, milliseconds. */
const PAUSE_MS = 10;

export interface CountedServerToForget extends ServerToForget {
  readonly observations: number;
}

/** The servers that the user wants to forget. */
export interface WantedServers {
  /** The servers as the user names them. */
  readonly names: readonly string[];
  /** Whether to forget all servers whose addresses opted out. */
  readonly optedOut: boolean;
}

/**
 * Finds servers, and those that share their addresses and ports under other names. A server that the
 * database does not have can be forgotten too, by its name or address with a port.
 *
 * @throws InputError for a name that leads to no server, or to several.
 */
export async function findServersToForget(
  database: Database,
  { names, optedOut }: WantedServers,
): Promise<CountedServerToForget[]> {
  const ids: number[] = [];
  const servers = new Map<string, ServerToForget>();
  for (const word of names) {
    const name = serverNameOf(word);
    const found = await lookUpServers(database, name);
    if (name.port === undefined && found.matching.length !== 1 && found.ofHost.length > 0) {
      throw ambiguousName(database, word, found);
    }
    if (found.matching.length > 0) ids.push(...found.matching.map(({ id }) => id));
    else {
      const unknown = unknownServer(word, name, database);
      servers.set(unknown.key, unknown);
    }
  }
  if (optedOut) ids.push(...(await readOptedOutServers(database)).map(({ id }) => id!));
  for (const server of await readSharingServers(database, ids)) servers.set(server.key, server);
  const found: CountedServerToForget[] = [];
  for (const server of servers.values()) {
    const { id } = server;
    const observations = id === undefined ? 0 : await countObservations(database, id);
    found.push({ ...server, observations });
  }
  return found;
}

/** A server that the database does not have. */
function unknownServer(
  word: string,
  { key, host, port }: ServerName,
  database: Database,
): ServerToForget {
  if (port === undefined) {
    throw new InputError(
      `Cannot forget "${word}": it is not in ${database.name}; name its port too to forget it nevertheless`,
    );
  }
  const identity = identityOf({ host, port, requested_as: null });
  return { id: undefined, key, keys: identity === undefined ? [key] : tombstoneKeys(identity) };
}

/**
 * Forgets servers: marks them, removes them from files, and removes their rows.
 *
 * @returns The files that have lines of the servers.
 * @throws StoreError when a transaction of another program does not end.
 */
export async function forgetServers(
  database: Database,
  servers: readonly ServerToForget[],
  search: Omit<FileSearch, "keys">,
): Promise<ForgottenInFile[]> {
  const keys = new Set(servers.flatMap((server) => server.keys));
  if (search.dryRun) return await searchFiles({ ...search, keys });
  await writeTombstones(database, servers, database.now());
  const files = await searchFiles({ ...search, keys });
  const pause = () => sleep(systemClock, PAUSE_MS);
  if (await removeServers(database, servers, pause)) return files;
  throw new StoreError(
    `Cannot remove the rows of the servers from ${database.name}: a transaction of another program ` +
      'does not end (docs/database.md, "Long transactions in PostgreSQL"); the servers stay forgotten, but their ' +
      "rows remain; run the command again to remove them",
  );
}

/**
 * Removes servers from files. An error of the file system becomes an error that names the failed
 * search.
 */
async function searchFiles(search: FileSearch): Promise<ForgottenInFile[]> {
  try {
    return await forgetInFiles(search);
  } catch (error) {
    if (error instanceof InputError || error instanceof Deno.errors.NotCapable) throw error;
    throw new StoreError(`Cannot search spill files and the webhook's outbox: ${reason(error)}`, {
      cause: error,
    });
  }
}

/**
 * Lets scans, watches and imports write forgotten servers again, and the other servers that were
 * forgotten with their addresses and ports.
 *
 * @returns The keys of the named servers.
 * @throws InputError when one of the servers is not forgotten.
 */
export async function undoForget(
  database: Database,
  words: readonly string[],
): Promise<readonly string[]> {
  const keys = words.map((word) => serverNameOf(word).key);
  const missing = await removeTombstones(database, keys);
  if (missing === undefined) return keys;
  const word = words[keys.indexOf(missing)];
  throw new InputError(`Cannot undo: "${word}" is not forgotten in ${database.name}`);
}
