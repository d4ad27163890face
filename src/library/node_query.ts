/**
 * Queries one server from a program in Node.js or Bun.
 *
 * @module
 */
import { nodeNetwork } from "../app/network/mod.ts";
import type { ServerRecord } from "../core/record.ts";
import { queryHost, type QueryOptions } from "./query_host.ts";

/**
 * Queries the servers of one host.
 *
 * If a port is given, it is queried in every protocol. Otherwise each protocol is queried on its
 * usual port. Server List Ping is queried at the target of the name's SRV record, if the name has
 * one. Names that are not local must not lead to private addresses, unless `allowPrivate` is set.
 *
 * @param host An address or a name, optionally with a port: `play.example.org`, `192.0.2.1:19132`,
 * `[2001:db8::1]:19133`.
 * @returns A record for each endpoint that replied, in order of rank; for example two records if a
 * host runs a Bedrock and a Java server. Empty when no endpoint replied in time.
 * @throws InputError for a host or options that cannot be used; the reason of the signal when the
 * signal is aborted.
 */
export function queryWithNode(
  host: string,
  options: QueryOptions = {},
): Promise<readonly ServerRecord[]> {
  return queryHost(host, options, (context) => context.network ?? nodeNetwork(context));
}
