/**
 * Finds the server of a database that a user names.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Database } from "../../store/database/database.ts";
import {
  type NumberedServer,
  parseServerName,
  type ServerName,
  serversOfHost,
  serverWithKey,
} from "../../store/mod.ts";

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

/** The servers that a name may stand for. */
export interface NamedServers {
  /**
   * The server whose key is the name. If there is none: those with its host, and with its port if
   * the name has one.
   */
  readonly matching: readonly NumberedServer[];
  readonly ofHost: readonly NumberedServer[];
}

/** Looks up the servers that a user names. */
export async function lookUpServers(
  database: Database,
  { key, host, port }: ServerName,
): Promise<NamedServers> {
  const exact = await serverWithKey(database, key);
  if (exact !== undefined) return { matching: [exact], ofHost: [exact] };
  const ofHost = await serversOfHost(database, host);
  return { matching: ofHost.filter((server) => server.port === (port ?? server.port)), ofHost };
}

/**
 * The server that a user names: by its key, by a host that has one server, or by the address and port of
 * a server that has a name.
 *
 * @throws InputError when there is none, or several.
 */
export async function findServer(database: Database, word: string): Promise<NumberedServer> {
  const servers = await lookUpServers(database, serverNameOf(word));
  if (servers.matching.length === 1) return servers.matching[0];
  throw ambiguousName(database, word, servers);
}

/** The error for a name that stands for no server, or for several. */
export function ambiguousName(
  { name }: Database,
  word: string,
  { matching, ofHost }: NamedServers,
): InputError {
  return new InputError(
    ofHost.length === 0
      ? `Cannot find "${word}": it is not in ${name}`
      : `Cannot find "${word}": ${name} has this host only ${whereOnly(ofHost, matching)}`,
  );
}

/** A list of a host's servers, for the error when the user's words name none or several. */
function whereOnly(
  servers: readonly NumberedServer[],
  matching: readonly NumberedServer[],
): string {
  const ports = servers.map(({ port }) => port);
  return matching.length > 1 && new Set(ports).size < ports.length
    ? `as ${matching.map(({ key }) => key).join(", ")}`
    : `with port ${ports.join(", ")}`;
}
