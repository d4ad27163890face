/**
 * The queue of open ports in unresponsive networks, which are queried last. A port takes 18 bytes
 * (IPv6: 57), and has no connection.
 *
 * @module
 */
import { type Endpoint, endpointKey, endpointOfKey } from "../../../core/address.ts";

/** Default maximum number of ports. */
const MAX_DEFERRED = 1_048_576;
/** Number of ports that are looked at for one of a host that is not busy. */
const TRIES = 64;

/** An open port, and the protocol in which it is queried. */
interface Port {
  readonly endpoint: Endpoint;
  readonly protocol: string;
}

/** The ports of one network: the keys of their endpoints, and their protocols. */
interface Group {
  readonly keys: (number | bigint)[];
  readonly protocols: string[];
}

export interface DeferredPort extends Port {
  /** A number that grows with the time of the sighting. */
  readonly number: number;
  /** Finishes the sighting. */
  readonly onFinished: () => void;
}

/** A bounded queue of ports by network. Networks take turns. */
export class DeferredPorts {
  readonly #unresponsive = new Map<string, Group>();
  /** Those of networks that have replied since. */
  readonly #returned = new Map<string, Group>();
  #size = 0;
  #tried = 0;
  /** Number of ports that were added and are not finished. */
  #unfinished = 0;
  /** The oldest sighting. It is finished after all ports, and the low-water mark stays before it. */
  #oldest: DeferredPort | undefined;

  /** @param max Maximum number of ports. Default: 1,048,576. */
  constructor(private readonly max: number = MAX_DEFERRED) {}

  /** Number of ports that wait. */
  get size(): number {
    return this.#size;
  }

  /**
   * Adds a port of an unresponsive network.
   *
   * @param name Name of the network or host.
   * @returns False if the queue is full: the port is not added.
   */
  add(name: string, port: DeferredPort): boolean {
    if (this.#size >= this.max) return false;
    this.#size++;
    const { keys, protocols } = this.#unresponsive.getOrInsertComputed(name, noPorts);
    keys.push(endpointKey(port.endpoint));
    protocols.push(port.protocol);
    const isOldest = this.#unfinished++ === 0 || port.number < this.#oldest!.number;
    const newer = isOldest ? this.#oldest : port;
    if (isOldest) this.#oldest = port;
    newer?.onFinished();
    return true;
  }

  /** Finishes a port that was taken. */
  finish(): void {
    if (--this.#unfinished > 0) return;
    const oldest = this.#oldest;
    this.#oldest = undefined;
    oldest?.onFinished();
  }

  /** Moves the ports of a network to those that are taken first, or back. */
  move(name: string, isUnresponsive: boolean): void {
    const [from, to] = isUnresponsive
      ? [this.#returned, this.#unresponsive]
      : [this.#unresponsive, this.#returned];
    const group = from.get(name);
    if (group === undefined) return;
    from.delete(name);
    to.set(name, group);
  }

  /**
   * Takes a port.
   *
   * @param isBusy Whether a port has to wait for others of its host.
   * @param isReturned Whether only ports of networks that have replied since are taken.
   */
  take(isBusy: (endpoint: Endpoint) => boolean, isReturned: boolean): Port | undefined {
    const groups = isReturned ? this.#returned : this.#unresponsive;
    for (let tries = Math.min(TRIES, this.#size); tries > 0; tries--) {
      const [name, group] = groups.entries().next().value ?? [];
      if (group === undefined) return undefined;
      groups.delete(name!);
      const { keys, protocols } = group;
      const i = this.#tried++ % keys.length;
      const port = { endpoint: endpointOfKey(keys[i]), protocol: protocols[i] };
      const isFree = !isBusy(port.endpoint);
      if (isFree) {
        this.#size--;
        [keys[i], protocols[i]] = [keys.at(-1)!, protocols.at(-1)!];
        keys.pop();
        protocols.pop();
      }
      if (keys.length > 0) groups.set(name!, group);
      if (isFree) return port;
    }
    return undefined;
  }

  /** Drops the ports, whose sightings are never finished. */
  clear(): void {
    this.#unresponsive.clear();
    this.#returned.clear();
    this.#size = 0;
  }
}

function noPorts(): Group {
  return { keys: [], protocols: [] };
}
