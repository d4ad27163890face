/**
 * Queries one host from a program, on the network of any runtime.
 *
 * @module
 */
import type { CallContext, QueryNetwork } from "../app/network/call_context.ts";
import { locateHosts, queryEndpoints, readQuery, recordsOf } from "../app/query/mod.ts";
import type { ServerRecord } from "../core/record.ts";
import { callContext, type InquiryOptions, signalOf } from "./common_options.ts";
import { givenOptions, wrongType } from "./given_options.ts";

/** Options of a query. They have the names and defaults of the options of `blocksweep query`. */
export interface QueryOptions extends InquiryOptions {
  /**
   * Number of repetitions of an exchange without a reply, 0 to 3.
   *
   * @default 1
   */
  readonly retries?: number;
  /** Whether to verify that servers accept RakNet connections. Default: no. */
  readonly verify?: boolean;
  /** Whether records contain no names of players. Default: records contain them. */
  readonly noPlayers?: boolean;
}

/**
 * Queries the servers of one host, as `query()` describes it.
 *
 * @param networkOf Returns the network of a query.
 * @throws InputError for a host or options that cannot be used; the reason of the signal when the
 * signal is aborted.
 */
export async function queryHost(
  host: string,
  options: QueryOptions,
  networkOf: (context: CallContext) => QueryNetwork,
): Promise<readonly ServerRecord[]> {
  if (typeof host !== "string") throw wrongType("host", host, "a text");
  const given = givenOptions("query", [host], options);
  const request = readQuery(given, callContext("query", options), networkOf);
  const signal = signalOf(options);
  signal.throwIfAborted();
  const [{ located }] = await locateHosts(request);
  const queried = await queryEndpoints(located, request, signal);
  signal.throwIfAborted();
  return recordsOf(request, queried);
}
