/**
 * By which names endpoints are asked for.
 *
 * @module
 */
import { type Address, type Endpoint, endpointKey } from "../core/address.ts";
import { type NamedService, requestText } from "../targets/srv.ts";

/** The names behind targets. */
export interface TargetNames {
  /** Names that addresses were asked for by. */
  readonly names: ReadonlyMap<Address, string>;
  /** The SRV records that led to endpoints, by `endpointKey()`. Default: none. */
  readonly services?: ReadonlyMap<number | bigint, NamedService>;
}

/** The name that was written, as servers are told it: never that of an SRV record's host. */
export function requestedNameOf(
  { names, services }: TargetNames,
  endpoint: Endpoint,
): string | undefined {
  return services?.get(endpointKey(endpoint))?.name ?? names.get(endpoint.address);
}

/** What a row says its server was asked for by. */
export function requestOf({ names, services }: TargetNames, endpoint: Endpoint): string | null {
  const led = services?.get(endpointKey(endpoint));
  return led === undefined
    ? names.get(endpoint.address) ?? null
    : requestText(led.name, led.service);
}
