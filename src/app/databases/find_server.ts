/**
 * Finds the server of a database that a user names.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Database } from "../../store/database/database.ts";
import { type NumberedServer, serversOfHost, serverWithKey } from "../../store/history_queries.ts";
import { parseServerName, type ServerName } from "../../store/rows/identity.ts";

/**
 * Parses the name of a server.
 *
 * @throws InputError for text that is neither an address nor a name.
 */
export function serverNameOf(word: string): ServerName {
  const named = parseServerName(word);
  if (named !== undefined) return named;
  throw new InputError(
    `Cannot find "${word}": expected an address or a name such as 192.0.2.1, [::1]:19132 or ` +
      "play.example.org",
  );
}

/**
 * The server that a user names: by its key, by a host that has one server, or by the address and port of
 * a server that has a name.
 *
 * @returns `undefined` when the database has no server of this host.
 * @throws InputError when the host has several servers, or has others only.
 */
export async function lookUpServer(
  database: Database,
  word: string,
): Promise<NumberedServer | undefined> {
  const named = serverNameOf(word);
  const exact = await serverWithKey(database, named.key);
  if (exact !== undefined) return exact;
  const servers = await serversOfHost(database, named.host);
  const matching = servers.filter(({ port }) => port === (named.port ?? port));
  if (matching.length === 1) return matching[0];
  if (servers.length === 0) return undefined;
  throw new InputError(
    `Cannot find "${word}": ${database.name} has this host only ${whereOnly(servers, matching)}`,
  );
}

/**
 * The server that a user names, as {@linkcode lookUpServer}.
 *
 * @throws InputError when there is none, or several.
 */
export async function findServer(database: Database, word: string): Promise<NumberedServer> {
  const server = await lookUpServer(database, word);
  if (server !== undefined) return server;
  throw new InputError(`Cannot find "${word}": it is not in ${database.name}`);
}

/** The servers of a host, for a user who named none of them. */
function whereOnly(
  servers: readonly NumberedServer[],
  matching: readonly NumberedServer[],
): string {
  const ports = servers.map(({ port }) => port);
  return matching.length > 1 && new Set(ports).size < ports.length
    ? `as ${matching.map(({ key }) => key).join(", ")}`
    : `with port ${ports.join(", ")}`;
}
