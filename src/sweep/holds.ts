/**
 * Holds. An endpoint with an unverified reply needs a hold for its interview. The number of holds
 * bounds how many interviews forged replies cause.
 *
 * An endpoint keeps its hold until a valid reply proves that the endpoint is a server. An endpoint
 * that sends no valid reply in its interview keeps its hold to the end of the scan. Otherwise forged
 * replies could cause any number of interviews. If no hold is free, the endpoint waits for the hold
 * of another endpoint: one that is proved, or one that could not be interviewed because no descriptor
 * was free. Holds of endpoints of the same address are given first. A waiting endpoint is omitted as
 * soon as no pending interview can free a hold for it.
 *
 * @module
 */
import type { Address, Endpoint } from "../core/address.ts";
import { type AddedAddresses, EndpointSet } from "../core/endpoint_set.ts";
import type { Endpoints } from "../core/endpoints.ts";

/** Maximum number of holds in all, and per address. */
const MAX_HELD = 4096;
const MAX_HELD_OF_ADDRESS = 64;
/** Maximum number of queued and omitted endpoints: about 20 MiB at 500 to 700 bytes each. */
const MAX_QUEUED = 32_768;

/** An endpoint that waits for a hold. Exactly one of its functions is called, once. */
export interface Waiting {
  readonly endpoint: Endpoint;
  /** Called when the endpoint has a hold: its interview may begin. */
  readonly admit: () => void;
  /** Called when the endpoint stops waiting: no hold becomes free for it, or it was proved. */
  readonly cancel: () => void;
}

/** Numbers of holds of one address. */
interface Host {
  /** Number of holds, including those of endpoints whose interviews have ended. */
  held: number;
  /** Number of holds of endpoints whose interviews have not ended. */
  pending: number;
}

/** Gives holds to the endpoints of a scan, queues waiting endpoints, and frees holds. */
export class Holds {
  readonly #held: EndpointSet;
  /** Endpoints with a hold whose interviews have not ended. */
  readonly #pending: EndpointSet;
  /** Endpoints that wait or were omitted. */
  readonly #queued: EndpointSet;
  readonly #hosts = new Map<Address, Host>();
  /** Waiting endpoints by address and port, in the order of arrival. */
  readonly #waiting = new Map<Address, Map<number, Waiting>>();

  /**
   * @param seed 32 random bits.
   * @param added Gets the address of each endpoint that waits. Default: nothing does.
   */
  constructor(seed: number, added?: AddedAddresses) {
    this.#held = new EndpointSet(seed);
    this.#pending = new EndpointSet(seed);
    this.#queued = new EndpointSet(seed, added);
  }

  /** Whether an endpoint has a hold, waits for one, or was omitted. */
  has(endpoint: Endpoint): boolean {
    return this.#held.has(endpoint) || this.#queued.has(endpoint);
  }

  /** Whether an endpoint of a batch waits or was omitted. */
  isQueuedAt(endpoints: Endpoints, i: number): boolean {
    return this.#queued.hasAt(endpoints, i);
  }

  /** Gives a hold to an endpoint that has none; false when none is free. */
  take(endpoint: Endpoint): boolean {
    if (!this.#isFree(endpoint.address)) return false;
    const host = this.#hosts.get(endpoint.address) ?? { held: 0, pending: 0 };
    this.#hosts.set(endpoint.address, host);
    host.held++;
    host.pending++;
    this.#held.add(endpoint);
    this.#pending.add(endpoint);
    return true;
  }

  #isFree(address: Address): boolean {
    const ofAddress = this.#hosts.get(address)?.held ?? 0;
    return this.#held.size < MAX_HELD && ofAddress < MAX_HELD_OF_ADDRESS;
  }

  /** Queues an endpoint that got no hold. */
  wait(waiting: Waiting): void {
    const { endpoint, endpoint: { address, port } } = waiting;
    if (this.#queued.size >= MAX_QUEUED) return waiting.cancel();
    this.#queued.add(endpoint);
    const ofAddress = this.#waiting.get(address);
    if (ofAddress === undefined) this.#waiting.set(address, new Map([[port, waiting]]));
    else ofAddress.set(port, waiting);
    this.#omitUnadmissible(address);
  }

  /** Records that an endpoint was proved. Its hold goes to a waiting endpoint. */
  proved(endpoint: Endpoint): void {
    if (this.#queued.has(endpoint)) this.#dequeue(endpoint)?.cancel();
    this.release(endpoint);
  }

  /** Frees the hold of an endpoint that was neither proved nor disproved, for a waiting endpoint. */
  release(endpoint: Endpoint): void {
    if (!this.#held.delete(endpoint)) return;
    const { address } = endpoint;
    const host = this.#hosts.get(address)!;
    if (this.#pending.delete(endpoint)) host.pending--;
    if (--host.held === 0) this.#hosts.delete(address);
    this.#admitNext(address);
  }

  /** Records that an interview has ended. An endpoint that was not proved keeps its hold. */
  ended(endpoint: Endpoint): void {
    if (!this.#pending.delete(endpoint)) return;
    this.#hosts.get(endpoint.address)!.pending--;
    this.#omitUnadmissible(endpoint.address);
  }

  /** Removes an endpoint from the queue; `undefined` when it was omitted. */
  #dequeue(endpoint: Endpoint): Waiting | undefined {
    const { address, port } = endpoint;
    this.#queued.delete(endpoint);
    const ofAddress = this.#waiting.get(address);
    const waiting = ofAddress?.get(port);
    ofAddress?.delete(port);
    if (ofAddress?.size === 0) this.#waiting.delete(address);
    return waiting;
  }

  /**
   * Gives a freed hold to the endpoint that has waited longest at the same address: if one endpoint
   * of an address was proved, the replies of its other endpoints are probably genuine too. If no
   * endpoint waits at that address, an endpoint of another address gets the hold.
   */
  #admitNext(freed: Address): void {
    const address = this.#waiting.has(freed) ? freed : this.#firstAdmissible();
    const next = this.#waiting.get(address!)?.values().next().value;
    if (next === undefined || !this.take(next.endpoint)) return;
    this.#dequeue(next.endpoint);
    next.admit();
  }

  /**
   * The first waiting address that may get another hold. At most 64 addresses have their maximum
   * number of holds (4,096 / 64), so the loop ends after at most 65 addresses.
   */
  #firstAdmissible(): Address | undefined {
    for (const address of this.#waiting.keys()) if (this.#isFree(address)) return address;
  }

  /** Omits the endpoints for which no pending interview can free a hold any more. */
  #omitUnadmissible(address: Address): void {
    if (this.#pending.size === 0) {
      return [...this.#waiting.keys()].forEach((one) => this.#omit(one));
    }
    const host = this.#hosts.get(address);
    if (host?.pending === 0 && host.held >= MAX_HELD_OF_ADDRESS) this.#omit(address);
  }

  #omit(address: Address): void {
    const ofAddress = this.#waiting.get(address);
    this.#waiting.delete(address);
    for (const waiting of ofAddress?.values() ?? []) waiting.cancel();
  }
}
