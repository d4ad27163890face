/**
 * Queries one host: every endpoint at which its name or address may have a server.
 *
 * @module
 */
import { anyAddress, type Network } from "../net/network.ts";
import { Shortage } from "../net/file_descriptors.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { type QueriedServer, queryServer } from "../scan/query_server.ts";
import { shortageLine } from "./engines/send_error_lines.ts";
import { streamLimits } from "./scan/scan_rates.ts";
import type { EndpointProtocols, Located } from "./targets/locate_server.ts";
import { DEFAULTS } from "./settings/defaults.ts";
import { newScanId, randomBytes } from "./system_random.ts";
import { nonceOf } from "../scan/random_numbers.ts";

/** Options of a query of a host. */
export interface EndpointQueryOptions {
  /** Opens sockets and connections, and has the clock. */
  readonly network: Pick<Network, "clock" | "openSocket" | "dialer">;
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
  /**
   * Timeout for a reply, milliseconds. Default: 1500; for connections, the timeouts of real
   * clients.
   */
  readonly timeoutMs: number | undefined;
  /** Number of repetitions of an exchange without a reply. */
  readonly retries: number;
  /** Whether to verify that a RakNet connection can be opened. */
  readonly verify: boolean;
  /** Called when descriptors are short. */
  readonly note: (line: string) => void;
  /** Cancels the query: no further endpoint is queried. */
  readonly signal: AbortSignal;
}

/** An endpoint of a host, and the reply. */
export interface QueriedEndpoint {
  /** The endpoint, and the protocols to query there. */
  readonly protocolsThere: EndpointProtocols;
  /** The server's record, and the outcome of each exchange. */
  readonly server: QueriedServer;
}

/** Queries the endpoints of a host, one after the other, until the signal is aborted. */
export async function queryEndpoints(
  { endpoints, name }: Located,
  options: EndpointQueryOptions,
): Promise<QueriedEndpoint[]> {
  const { network: { clock, openSocket, dialer }, timeoutMs, signal, note } = options;
  const shortage = new Shortage(clock, (code) => note(shortageLine("queries", code)));
  const queried: QueriedEndpoint[] = [];
  for (const protocolsThere of endpoints) {
    if (signal.aborted) break;
    const server = await queryServer(protocolsThere.endpoint, {
      ...options,
      protocols: protocolsThere.first,
      followUps: protocolsThere.rest,
      timeoutMs: timeoutMs ?? DEFAULTS.timeoutMs,
      open: (family) => openSocket({ address: anyAddress(family), port: 0 }),
      dialer,
      streamLimits: streamLimits(timeoutMs),
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
