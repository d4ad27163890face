/**
 * Reads the observations of one server from a database.
 *
 * @module
 */
import { parseAddress } from "../core/address.ts";
import { type Database, hexColumn, type Value } from "./database/database.ts";
import { addressColumn, addressValue } from "./rows/addresses.ts";

/** The result of one scan or poll of a server. Fields are null when the server did not reply. */
export interface Observation {
  /** When the server was probed, Unix milliseconds. */
  readonly seen_at: number;
  /** Whether the server replied. */
  readonly online: boolean;
  /** Number of players online; null when the server did not publish it. */
  readonly players_online: number | null;
  /** Number of player slots; null when the server did not publish it. */
  readonly players_max: number | null;
  /** Round-trip time of the first reply, milliseconds; null when it is unknown. */
  readonly latency_ms: number | null;
  /** Hash of the server's content, 16 hexadecimal digits. It changes when the content changes. */
  readonly content_hash: string | null;
  /** Identity of the scan or watch, UUIDv7. */
  readonly scan_id: string;
}

/** The last `limit` observations of a server, oldest first. */
export async function historyOf(
  database: Database,
  server: number,
  limit: number,
): Promise<Observation[]> {
  const sql = "select c.uuid as scan_id, o.at as seen_at, o.players_online, o.players_max, " +
    `o.latency_ms, ${hexColumn(database, "o.content")} as content_hash, o.online ` +
    "from observations o join scans c on c.id = o.scan where o.server = ? " +
    "order by o.at desc, o.scan desc limit ?";
  const rows = await database.rows(sql, [server, limit]);
  return rows.toReversed().map(({ online, ...rest }) => {
    return { ...rest, online: online === 1 } as unknown as Observation;
  });
}

export async function countObservations(database: Database, server: number): Promise<number> {
  const sql = "select count(*) as count from observations where server = ?";
  const [{ count }] = await database.rows(sql, [server]);
  return Number(count);
}

/** A server of a database by its key. */
export interface NumberedServer {
  /** `servers.id`. */
  readonly id: number;
  /** `servers.key`. */
  readonly key: string;
  /** The last port. */
  readonly port: number;
}

/** The server with a key; `undefined`: none. */
export async function serverWithKey(
  database: Database,
  key: string,
): Promise<NumberedServer | undefined> {
  return (await numberedServers(database, "key = ?", [key]))[0];
}

/**
 * The servers with a name, or with a last address, in the order of their ports.
 *
 * @param port Only the servers with this port. Default: all ports.
 */
export async function serversOfHost(
  database: Database,
  host: string,
  port?: number,
): Promise<NumberedServer[]> {
  const address = parseAddress(host);
  const type = database.engine === "postgres" ? "::inet" : "";
  const [condition, value] = address === undefined
    ? ["hostname = ?", host]
    : [`${addressColumn(database)} = ?${type}`, addressValue(database, address)];
  return port === undefined
    ? await numberedServers(database, condition, [value])
    : await numberedServers(database, `${condition} and port = ?`, [value, port]);
}

async function numberedServers(
  database: Database,
  condition: string,
  values: readonly Value[],
): Promise<NumberedServer[]> {
  const sql = `select id, key, port from servers where ${condition} order by port, id`;
  const rows = await database.rows(sql, values);
  return rows.map(({ id, key, port }) => ({
    id: Number(id),
    key: String(key),
    port: Number(port),
  }));
}
