/**
 * The names that the user gave for endpoints.
 *
 * @module
 */
import { GAME_PORT } from "../../protocols/usual_ports.ts";
import { type Address, type Endpoint, endpointKey, parseAddress } from "../../core/address.ts";
import type { ServerRecord } from "../../core/record.ts";
import { type NamedService, requestText } from "../../targets/srv.ts";

/** A name that the user gave for an address, or by which a database knows a server there. */
export interface NameRequest {
  /** The address to which the name leads. */
  readonly address: Address;
  /** The port; `undefined`: each port of the scan. */
  readonly port: number | undefined;
  /** The value of the column `requested_as`; `null`: the server has no name. */
  readonly requestedAs: string | null;
}

/** The names that resolved to the targets. */
export interface TargetNames {
  /** The name that resolved to each address. */
  readonly names: ReadonlyMap<Address, string>;
  /** The SRV records that led to endpoints, by `endpointKey()`. Default: none. */
  readonly services?: ReadonlyMap<number | bigint, NamedService>;
  /**
   * The names of known servers, by `endpointKey()`. `null` for a server that is known by its address;
   * the name of another server at the same address does not apply to it. Default: none.
   */
  readonly knownNames?: ReadonlyMap<number | bigint, string | null>;
  /** The names of addresses that have several names. Default: there are none. */
  readonly requests?: SharedRequests;
}

/** Names by address, only of addresses that have several names. */
export type SharedRequests = ReadonlyMap<Address, readonly NameRequest[]>;

/** The names of those addresses that have several names. */
export function sharedRequests(requests: readonly NameRequest[]): SharedRequests {
  const all = Map.groupBy(requests, ({ address }) => address);
  const isShared = (ofAddress: readonly NameRequest[]) =>
    new Set(ofAddress.map(({ requestedAs }) => requestedAs)).size > 1;
  return new Map([...all].filter(([, ofAddress]) => isShared(ofAddress)));
}

/** The values of `requested_as` that apply to an endpoint. */
function textsFor(requests: SharedRequests, { address, port }: Endpoint): (string | null)[] {
  return (requests.get(address) ?? [])
    .filter((one) => one.port === undefined || one.port === port)
    .map(({ requestedAs }) => requestedAs);
}

/**
 * The other values of `requested_as` that apply to a record's endpoint. If an SRV record of a name leads
 * to the endpoint, only the value with this SRV record applies, and not the value that is just the name.
 */
export function otherRequests(
  requests: SharedRequests,
  { host, port, requested_as: own }: RequestedRecord,
): readonly (string | null)[] {
  const address = parseAddress(host);
  const texts = address === undefined ? [] : textsFor(requests, { address, port });
  const isLed = (text: string) =>
    [own, ...texts].some((other) => other !== null && other.startsWith(`${text} SRV `));
  return [...new Set(texts)].filter((text) => text !== own && (text === null || !isLed(text)));
}

/** The columns of a record for its endpoint and requested name. */
export type RequestedRecord = Pick<ServerRecord, "host" | "port" | "requested_as">;

/** The name by which a server was requested. */
export interface RequestedName {
  /** The name to send to the server: that of the user, never the target of an SRV record. */
  readonly sent: string | null;
  /** The port to send with it, if an SRV record of the name led to the endpoint. */
  readonly port?: number;
  /** The value of the column `requested_as`: the name, and its SRV service if there is one. */
  readonly column: string | null;
}

/** The name by which a server was requested; nulls if it was requested by its address. */
export function requestedName(targets: TargetNames, endpoint: Endpoint): RequestedName {
  const led = targets.services?.get(endpointKey(endpoint));
  if (led !== undefined) {
    return { sent: led.name, port: GAME_PORT, column: requestText(led.name, led.service) };
  }
  const name = nameOf(targets, endpoint);
  return { sent: name, column: name };
}

/** The name and the port to send to an endpoint. */
export function sentNameAndPort(targets: TargetNames, endpoint: Endpoint) {
  const { sent: requestedAs, port: requestedPort } = requestedName(targets, endpoint);
  return { requestedAs, requestedPort };
}

/** The name of a known server at an endpoint, otherwise the last name that leads to the endpoint. */
function nameOf(targets: TargetNames, endpoint: Endpoint): string | null {
  const { names, knownNames, requests } = targets;
  const known = knownNames?.get(endpointKey(endpoint));
  if (known !== undefined) return known;
  const name = names.get(endpoint.address) ?? null;
  if (requests === undefined || !requests.has(endpoint.address)) return name;
  const texts = textsFor(requests, endpoint);
  return texts.includes(name) ? name : texts.findLast((text) => !text?.includes(" ")) ?? null;
}
