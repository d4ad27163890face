/**
 * Querying one host: every endpoint at which its name or address may have a server.
 *
 * @module
 */
import { anyAddress, type Network } from "../net/network.ts";
import { Shortage } from "../net/file_descriptors.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { type QueriedServer, queryServer } from "../scan/query_server.ts";
import { shortageLine } from "./engines/send_error_lines.ts";
import { streamLimits } from "./settings/scan_settings.ts";
import type { Located, Questions } from "./targets/locate_server.ts";
import { DEFAULTS } from "./settings/defaults.ts";
import { newScanId, randomBytes } from "./system_random.ts";
import { nonceOf } from "../scan/random_numbers.ts";

/** How to query a host. */
export interface EndpointQueryOptions {
  /** What opens sockets and connections, and times them. */
  readonly network: Pick<Network, "clock" | "openSocket" | "dialer">;
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
  /** Time limit of a reply, milliseconds. Default: 1500, and for connections those of real clients. */
  readonly timeoutMs: number | undefined;
  /** Repetitions of an exchange without a reply. */
  readonly retries: number;
  /** Whether to find out if a RakNet connection can be opened. */
  readonly verify: boolean;
  /** Called when descriptors are short. */
  readonly note: (line: string) => void;
  /** Ends the query: no further endpoint is queried. */
  readonly signal: AbortSignal;
}

/** An endpoint of a host, and the reply. */
export interface QueriedEndpoint {
  /** The endpoint, and why it was queried. */
  readonly asked: Questions;
  /** What replied, and how each exchange ended. */
  readonly server: QueriedServer;
}

/** Queries the endpoints of a host, one after the other; after the signal no further one. */
export async function queryEndpoints(
  { endpoints, name }: Located,
  options: EndpointQueryOptions,
): Promise<QueriedEndpoint[]> {
  const { network: { clock, openSocket, dialer }, timeoutMs, signal, note } = options;
  const shortage = new Shortage(clock, (code) => note(shortageLine("queries", code)));
  const queried: QueriedEndpoint[] = [];
  for (const asked of endpoints) {
    if (signal.aborted) break;
    const server = await queryServer(asked.endpoint, {
      ...options,
      protocols: asked.first,
      followUps: asked.rest,
      timeoutMs: timeoutMs ?? DEFAULTS.timeoutMs,
      open: (family) => openSocket({ address: anyAddress(family), port: 0 }),
      dialer,
      streamLimits: streamLimits(timeoutMs),
      nonce: () => nonceOf(randomBytes),
      clock,
      shortage,
      requestedAs: name,
      service: asked.service,
      scanId: newScanId(clock.wall()),
    });
    queried.push({ asked, server });
  }
  return queried;
}
