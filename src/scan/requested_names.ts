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
}

/** The name to send to a server: the one that the user gave, never the target of an SRV record. */
export function requestedNameOf(
  { names, services }: TargetNames,
  endpoint: Endpoint,
): string | undefined {
  return services?.get(endpointKey(endpoint))?.name ?? names.get(endpoint.address);
}

/** The value of the column `requested_as`: the name, and its SRV service if there is one. */
export function requestOf({ names, services }: TargetNames, endpoint: Endpoint): string | null {
  const led = services?.get(endpointKey(endpoint));
  return led === undefined
    ? names.get(endpoint.address) ?? null
    : requestText(led.name, led.service);
}
