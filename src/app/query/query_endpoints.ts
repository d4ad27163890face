/**
 * Queries one host: every endpoint at which its name or address may have a server.
 *
 * @module
 */
import { anyAddress } from "../../net/mod.ts";
import { nonceOf, type QueriedServer, queryServer } from "../../scan/mod.ts";
import { Shortage } from "../../net/file_descriptors.ts";
import type { InputError } from "../../core/errors.ts";
import type { ServerRecord } from "../../core/record.ts";
import { withoutPlayers } from "../../protocols/declared_facts.ts";
import { shortageLine } from "../engines/send_error_lines.ts";
import { streamLimits } from "../engines/scan_rates.ts";
import type { CallContext, QueryNetwork } from "../network/call_context.ts";
import type { GivenOptions } from "../options/given_options.ts";
import type { OptionsOf } from "../options/option_table.ts";
import { readOptions } from "../options/read_options.ts";
import { chosenVerify, protocolsOf } from "../settings/chosen_protocols.ts";
import { type EndpointProtocols, locate, type Located } from "../names/locate_server.ts";
import { lookUpEach, MissingName, RefusedName, reportMissing } from "../names/name_lookup.ts";
import { DEFAULTS } from "../settings/defaults.ts";
import { newScanId, randomBytes } from "../system_random.ts";

/** A query whose options were read. Nothing is looked up or opened yet. */
export interface QueryCall {
  readonly options: OptionsOf<"query">;
  /** The hosts, as the user named them. */
  readonly words: readonly string[];
  readonly network: QueryNetwork;
  /** Receives the reason why a record of a name is not used, and a lack of descriptors. */
  readonly note: (text: string) => void;
}

/**
 * Reads the options of a query.
 *
 * @param networkOf Returns the network of the query, which passes on notes to the function of its context.
 * @throws InputError for options that cannot be used.
 */
export function readQuery(
  given: GivenOptions,
  context: CallContext,
  networkOf: (context: CallContext) => QueryNetwork,
): QueryCall {
  const options = readOptions("query", given, context);
  chosenVerify(options);
  const note = options.quiet ? () => {} : context.note;
  return { options, words: given.words, network: networkOf({ ...context, note }), note };
}

/** A host as the user named it, and its endpoints. */
export interface NamedHost {
  readonly word: string;
  readonly located: Located;
}

/**
 * The hosts, in their order. Those whose names cannot be used are reported and left out.
 *
 * @throws InputError for a word that is no host, and if no host is left.
 */
export async function locateHosts(
  { options, words, network, note }: QueryCall,
): Promise<readonly NamedHost[]> {
  const { resolve, findService } = network;
  const lookups = { resolve, findService, note, allowPrivate: options.allowPrivate };
  const protocols = protocolsOf(options);
  const results = await lookUpEach(words, (word) => locate(word, protocols, lookups));
  const hosts: NamedHost[] = [];
  const missing: InputError[] = [];
  for (const [i, result] of results.entries()) {
    if (result.status === "fulfilled") hosts.push({ word: words[i], located: result.value });
    else if (result.reason instanceof MissingName || result.reason instanceof RefusedName) {
      missing.push(result.reason);
    } else throw result.reason;
  }
  const hasOthers = hosts.length > 0;
  reportMissing(missing, { hasOthers, strict: false, note, warn: () => {} });
  return hosts;
}

/** An endpoint of a host, and the reply. */
export interface QueriedEndpoint {
  /** The endpoint, and the protocols to query there. */
  readonly protocolsThere: EndpointProtocols;
  /** The server's record, and the outcome of each exchange. */
  readonly server: QueriedServer;
}

/** The records of a host, with the names of players if they are wanted. */
export function recordsOf(
  { options: { noPlayers, allProtocols } }: QueryCall,
  queried: readonly QueriedEndpoint[],
): readonly ServerRecord[] {
  const records = queried.flatMap(({ server: { record } }) => record ?? []);
  return noPlayers ? records.map((record) => withoutPlayers(record, allProtocols)) : records;
}

/** Queries the endpoints of a host, one after the other, until the signal is aborted. */
export async function queryEndpoints(
  { endpoints, name }: Located,
  { options, network: { clock, openSocket, dialer }, note }: QueryCall,
  signal: AbortSignal,
): Promise<QueriedEndpoint[]> {
  const { timeout, retries, verify, allProtocols } = options;
  const shortage = new Shortage(clock, (code) => note(shortageLine("queries", code)));
  const queried: QueriedEndpoint[] = [];
  for (const protocolsThere of endpoints) {
    if (signal.aborted) break;
    const server = await queryServer(protocolsThere.endpoint, {
      allProtocols,
      retries,
      verify,
      signal,
      protocols: protocolsThere.first,
      followUps: protocolsThere.rest,
      timeoutMs: timeout ?? DEFAULTS.timeoutMs,
      open: (family) => openSocket({ address: anyAddress(family), port: 0 }),
      dialer,
      streamLimits: streamLimits(timeout),
      nonce: () => nonceOf(randomBytes),
      clock,
      shortage,
      requestedAs: name,
      service: protocolsThere.service,
      scanId: newScanId(clock.wall()),
    });
    queried.push({ protocolsThere, server });
  }
  return queried;
}
