/**
 * Finds the endpoints and protocols to query for one server.
 *
 * @module
 */
import { type Address, type Endpoint, endpointKey, family } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { hasUsualPort, mayHaveService } from "../../protocols/usual_ports.ts";
import { neverProbedReason } from "../../targets/shipped_lists.ts";
import { parseZonedTarget } from "../../targets/parse.ts";
import type { Service } from "../../targets/srv.ts";
import {
  type FoundName,
  haveService,
  lookUpName,
  type Lookups,
  RefusedName,
} from "./name_lookup.ts";

/** An endpoint and the protocols to query there. */
export interface EndpointProtocols {
  readonly endpoint: Endpoint;
  /** Protocols that are queried in any case. */
  readonly first: readonly Protocol[];
  /** Protocols that are queried after a first reply. */
  readonly rest: readonly Protocol[];
  /** The SRV record that names the endpoint. */
  readonly service?: Service;
}

/** The endpoints of a server, and its name. */
export interface Located {
  /** The endpoints, in the order of their protocols. */
  readonly endpoints: readonly EndpointProtocols[];
  /** The name as the user typed it; `null` for an address. */
  readonly name: string | null;
}

/**
 * Finds the endpoints of a server. With a port, all protocols are queried there. Without a port, each
 * protocol is queried on its usual port. An SRV record replaces the endpoint of its own protocol, if
 * the game would look it up. Of several addresses the first is queried, in the system's order.
 *
 * @param command The command, for errors.
 * @throws InputError for a word that is not a host, cannot be found, or is never probed; RefusedName
 * for a name of which no record may be used.
 */
export async function locate(
  word: string,
  protocols: readonly Protocol[],
  lookups: Lookups,
  command: "query" | "watch" = "query",
): Promise<Located> {
  const { target, zone } = parseZonedTarget(word);
  const { port } = target;
  if (port === undefined) requirePort(protocols);
  const { findService } = mayHaveService(port) && haveService(protocols) ? lookups : {};
  const { addresses: [address], found, refused } = "name" in target
    ? await lookUpName(target.name, { ...lookups, findService })
    : { addresses: [onlyAddress(word, target.range, command)] } satisfies FoundName;
  const name = "name" in target ? target.name : null;
  if (refused !== undefined) throw new RefusedName(name!, refused, lookups.note);
  const service = found && { ...found.service, address: found.addresses[0] };
  const endpoints = endpointsOf(protocols, address, port, service);
  return {
    endpoints: endpoints.map((one) => ({ ...one, endpoint: withZone(one.endpoint, zone) })),
    name,
  };
}

function withZone(endpoint: Endpoint, zone: string | undefined): Endpoint {
  return zone === undefined ? endpoint : { ...endpoint, zone };
}

function onlyAddress(
  word: string,
  { start, end }: { start: Address; end: Address },
  command: string,
): Address {
  if (BigInt(end) - BigInt(start) !== 1n) {
    throw new InputError(`Cannot ${command} "${word}": it is a range; use scan for ranges`);
  }
  const reason = neverProbedReason(start);
  if (reason === undefined) return start;
  throw new InputError(`Cannot ${command} "${word}": never probed: ${reason}`);
}

function requirePort(protocols: readonly Protocol[]): void {
  const portless = protocols.find((protocol) => !hasUsualPort(protocol));
  if (portless === undefined) return;
  throw new InputError(
    `Cannot use protocol "${portless.name}" without a port: it has no default port; ` +
      "give HOST:PORT",
  );
}

/**
 * The protocols grouped by the endpoint on which each is queried.
 *
 * @param port The port of all protocols. Default: their usual ports.
 */
function endpointsOf(
  protocols: readonly Protocol[],
  address: Address | undefined,
  port: number | undefined,
  service: Service & { readonly address: Address } | undefined,
): EndpointProtocols[] {
  const endpointsOf = ({ ports, hasServiceRecords }: Protocol): Endpoint[] => {
    if (hasServiceRecords && service !== undefined) return [service];
    if (address === undefined) return [];
    const numbers = port === undefined ? ports[family(address)] : [port];
    return numbers.map((number) => ({ address, port: number }));
  };
  const endpoints = new Map(
    protocols.flatMap(endpointsOf).map((endpoint) => [endpointKey(endpoint), endpoint]),
  );
  return [...endpoints].map(([key, { address, port }]) => {
    const first = protocols.filter((protocol) =>
      endpointsOf(protocol).some((endpoint) => endpointKey(endpoint) === key)
    );
    const led = service !== undefined && endpointKey(service) === key;
    return {
      endpoint: { address, port },
      first,
      rest: protocols.filter((protocol) => !first.includes(protocol)),
      service: led ? { host: service.host, port } : undefined,
    };
  });
}
