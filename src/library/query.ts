/**
 * Queries one server from a program.
 *
 * @module
 */
import { contextNetwork } from "../app/network/call_context.ts";
import type { ServerRecord } from "../core/record.ts";
import { queryHost, type QueryOptions } from "./query_host.ts";

/**
 * Queries the servers of one host.
 *
 * If a port is given, it is queried in every protocol. Otherwise each protocol is queried on its
 * usual port. Server List Ping is queried at the target of the name's SRV record, if the name has
 * one. Names that are not local must not lead to private addresses, unless `allowPrivate` is set.
 * Needs `--allow-net`, and `"unstable": ["net"]` in deno.json.
 *
 * @param host An address or a name, optionally with a port: `play.example.org`, `192.0.2.1:19132`,
 * `[2001:db8::1]:19133`.
 * @returns A record for each endpoint that replied, in order of rank; for example two records if a
 * host runs a Bedrock and a Java server. Empty when no endpoint replied in time.
 * @throws InputError for a host or options that cannot be used; the reason of the signal when the
 * signal is aborted.
 *
 * @example The status of a server
 * ```ts
 * import { query } from "blocksweep";
 * import { startFleet } from "blocksweep/testing";
 * import { assertEquals } from "@std/assert";
 *
 * await using fleet = await startFleet({ range: "127.99.1.0/30", servers: 1, software: ["bds"] });
 * const [server] = await query(fleet.servers[0].host);
 * assertEquals([server.protocol, server.port], ["raknet", 19132]);
 * ```
 */
export function query(
  host: string,
  options: QueryOptions = {},
): Promise<readonly ServerRecord[]> {
  return queryHost(host, options, contextNetwork);
}
