/**
 * Finds the servers that a user names.
 *
 * @module
 */
import { lookUpServers } from "../../app/databases/mod.ts";
import { type NumberedServer, parseServerName } from "../../store/mod.ts";
import type { Database } from "../../store/database/database.ts";

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
