/**
 * Finds the servers that a user names.
 *
 * @module
 */
import { lookUpServers } from "../../app/databases/find_server.ts";
import type { Database } from "../../store/database/database.ts";
import type { NumberedServer } from "../../store/history_queries.ts";
import { parseServerName } from "../../store/rows/identity.ts";

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
