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

/**
 * The name to send to a server: the name that the user gave, never the target of an SRV record.
 */
export function requestedNameOf(
  targets: TargetNames,
  endpoint: Endpoint,
): string | undefined {
  return targets.services?.get(endpointKey(endpoint))?.name ?? nameOf(targets, endpoint) ??
    undefined;
}

/** The name of a known server at an endpoint, otherwise the name that resolved to its address. */
function nameOf({ names, knownNames }: TargetNames, endpoint: Endpoint): string | null {
  const known = knownNames?.get(endpointKey(endpoint));
  return known === undefined ? names.get(endpoint.address) ?? null : known;
}

/** The value of the column `requested_as`: the name, and its SRV service if there is one. */
export function requestOf(targets: TargetNames, endpoint: Endpoint): string | null {
  const led = targets.services?.get(endpointKey(endpoint));
  return led === undefined ? nameOf(targets, endpoint) : requestText(led.name, led.service);
}
