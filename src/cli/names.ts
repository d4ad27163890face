/**
 * From a name to where it may be asked: its addresses, and where its SRV record leads.
 *
 * @module
 */
import type { Address } from "../address.ts";
import { InputError } from "../errors.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { neverAsked } from "../targets/lists.ts";
import { type FindService, requestText, type Service, SERVICE_PROTOCOL } from "../targets/srv.ts";

/** What names are looked up with. */
export interface Lookups {
  /**
   * Finds the addresses of a name.
   *
   * @throws InputError when there are none.
   */
  readonly resolve: (name: string) => Promise<readonly Address[]>;
  /** Finds what a name's SRV record says. Default: none is looked up. */
  readonly findService?: FindService;
  /** Told what stands against using an SRV record. */
  readonly note: (text: string) => void;
}

/** A service, and the addresses of its host. */
export interface FoundService {
  /** What the SRV record says. */
  readonly service: Service;
  /** Where that is; at least one. */
  readonly addresses: readonly Address[];
}

/** Where a name may be asked: on an address, or where its SRV record leads. */
export interface FoundName {
  /** Its addresses. */
  readonly addresses: readonly Address[];
  /** Where its SRV record leads. */
  readonly found?: FoundService;
}

/** Whether SRV records lead to servers of one of the protocols. */
export function haveService(protocols: readonly Protocol[]): boolean {
  return protocols.some(({ name }) => name === SERVICE_PROTOCOL);
}

/**
 * Looks up a name. A name that has nothing but an SRV record will do.
 *
 * @throws InputError when it has neither.
 */
export async function lookUpName(name: string, lookups: Lookups): Promise<FoundName> {
  const [addresses, found] = await Promise.allSettled([
    lookups.resolve(name),
    followService(name, lookups),
  ]);
  if (found.status === "rejected") throw found.reason;
  const only = addresses.status === "rejected" && addresses.reason instanceof InputError;
  if (only && found.value !== undefined) return { addresses: [], found: found.value };
  if (addresses.status === "rejected") throw addresses.reason;
  return { addresses: addresses.value, found: found.value };
}

/** Where a name's SRV record leads: one that cannot be used is told, and as good as none. */
async function followService(name: string, lookups: Lookups): Promise<FoundService | undefined> {
  const { resolve, findService, note } = lookups;
  let led: string | undefined;
  try {
    const service = await findService?.(name);
    if (service === undefined) return undefined;
    led = requestText(name, service);
    const all = await resolve(service.host);
    const addresses = all.filter((address) => neverAsked(address) === undefined);
    if (addresses.length > 0) return { service, addresses };
    throw new InputError(`Cannot ask "${service.host}": never asked: ${neverAsked(all[0])}`);
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    note(led === undefined ? error.message : `${led}: ${error.message}`);
  }
}
