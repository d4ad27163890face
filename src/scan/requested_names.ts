/**
 * The names that the user gave for endpoints.
 *
 * @module
 */
import { type Address, type Endpoint, endpointKey } from "../core/address.ts";
import { type NamedService, requestText } from "../targets/srv.ts";

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
}

/** The name by which a server was requested. */
export interface RequestedName {
  /** The name to send to the server: that of the user, never the target of an SRV record. */
  readonly sent: string | null;
  /** The value of the column `requested_as`: the name, and its SRV service if there is one. */
  readonly column: string | null;
}

/** The name by which a server was requested; nulls if it was requested by its address. */
export function requestedName(targets: TargetNames, endpoint: Endpoint): RequestedName {
  const led = targets.services?.get(endpointKey(endpoint));
  if (led !== undefined) return { sent: led.name, column: requestText(led.name, led.service) };
  const name = nameOf(targets, endpoint);
  return { sent: name, column: name };
}

/** The name of a known server at an endpoint, otherwise the name that resolved to its address. */
function nameOf({ names, knownNames }: TargetNames, endpoint: Endpoint): string | null {
  const known = knownNames?.get(endpointKey(endpoint));
  return known === undefined ? names.get(endpoint.address) ?? null : known;
}
