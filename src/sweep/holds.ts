/**
 * Holds: an endpoint whose reply proves nothing needs one for its interview. They bound how many
 * interviews forged replies provoke.
 *
 * An endpoint keeps its hold until a valid reply proves it. An endpoint that its interview disproved
 * keeps it to the end of the scan: a forger gets no further interviews by failing. An endpoint that
 * finds no hold free waits for the hold of a proved one, first of its own address, or of one that
 * could not be interviewed for lack of descriptors. It is omitted as soon as no pending interview can
 * free a hold for it.
 *
 * @module
 */
import type { Address, Endpoint } from "../core/address.ts";
import { EndpointSet } from "../core/endpoint_set.ts";
import type { Endpoints } from "../core/endpoints.ts";

/** Maximum number of holds in all, and per address. */
const MOST_HELD = 4096;
const MOST_HELD_OF_ADDRESS = 64;
/** Maximum number of queued and omitted endpoints: about 20 MiB at 500 to 700 bytes each. */
const MOST_QUEUED = 32_768;

/** An endpoint that waits for a hold. Exactly one of its functions is called, once. */
export interface Waiting {
  /** The endpoint that waits. */
  readonly endpoint: Endpoint;
  /** Called when the endpoint has a hold: its interview may begin. */
  readonly admit: () => void;
  /** Called when the endpoint stops waiting: no hold becomes free for it, or it was proved. */
  readonly cancel: () => void;
}

/** Numbers of holds of one address. */
interface Host {
  /** Number of holds, those of ended interviews included. */
  held: number;
  /** Number of holds of endpoints whose interviews have not ended. */
  pending: number;
}

/** Gives, queues and frees the holds of a scan. */
export class Holds {
  readonly #held: EndpointSet;
  /** Held endpoints whose interviews have not ended. */
  readonly #pending: EndpointSet;
  /** Endpoints that wait or were omitted. */
  readonly #queued: EndpointSet;
  readonly #hosts = new Map<Address, Host>();
  /** Waiting endpoints by address and port, in the order of arrival. */
  readonly #waiting = new Map<Address, Map<number, Waiting>>();

  /** @param seed 32 random bits. */
  constructor(seed: number) {
    this.#held = new EndpointSet(seed);
    this.#pending = new EndpointSet(seed);
    this.#queued = new EndpointSet(seed);
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
    return this.#held.size < MOST_HELD && ofAddress < MOST_HELD_OF_ADDRESS;
  }

  /** Queues an endpoint that got no hold. */
  wait(waiting: Waiting): void {
    const { endpoint, endpoint: { address, port } } = waiting;
    if (this.#queued.size >= MOST_QUEUED) return waiting.cancel();
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
   * Gives a free hold to the endpoint that has waited longest at the address of the freed one: if
   * that was proved, the replies of others are probably genuine too. If none waits there, another
   * address gets the hold.
   */
  #admitNext(freed: Address): void {
    const address = this.#waiting.has(freed) ? freed : this.#firstAdmissible();
    const next = this.#waiting.get(address!)?.values().next().value;
    if (next === undefined || !this.take(next.endpoint)) return;
    this.#dequeue(next.endpoint);
    next.admit();
  }

  /**
   * The first waiting address that has a free hold. At most 64 addresses have none (4,096 / 64), so
   * that one of the first 65 has.
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
    if (host?.pending === 0 && host.held >= MOST_HELD_OF_ADDRESS) this.#omit(address);
  }

  #omit(address: Address): void {
    const ofAddress = this.#waiting.get(address);
    this.#waiting.delete(address);
    for (const waiting of ofAddress?.values() ?? []) waiting.cancel();
  }
}
