/**
 * The hosts on which a server was found, and which of their ports were probed.
 *
 * @module
 */
import { grown, Rows, Slots } from "./slots.ts";

/** What is known of a port of a host, apart from the slices of its /24. */
export const HostPortState = {
  /** It was not probed as a port of this host. */
  unprobed: 0,
  /** It was probed. */
  probed: 1,
  /** It is probed in the planned pass. */
  planned: 2,
  /** A server responded. */
  open: 3,
} as const;

/** Upper ends of the bins of distance from an open port; the last has none. */
const BIN_ENDS = [1, 2, 5, 15, 50];
/** Number of bins of distance. */
export const BINS = BIN_ENDS.length + 1;
/** Largest number of ports that is counted in a bin. */
const MAX_COUNT = 255;

export class Hosts {
  /** The address of each host. */
  addresses = new Uint32Array(0);
  /** The next host of the same /24, plus one; 0: none. */
  next = new Uint32Array(0);
  /** Number of open ports other than the default port. */
  others = new Uint16Array(0);
  /** 1: the host is not probed any more. */
  ended = new Uint8Array(0);
  /** For each host, the unprobed ports in each bin of distance from its open ports: see `count`. */
  counts = new Uint8Array(0);
  /** 1: the counts of a host have to be computed again. */
  #stale = new Uint8Array(0);
  /** For each port two bits, a value of {@linkcode HostPortState}. */
  readonly #states: Rows<Uint32Array>;
  readonly #slots = new Slots((host) => this.addresses[host]);
  #length = 0;
  /** Port indexes in ascending order of the ports. */
  readonly #ascending: Uint16Array;
  /** For each port in ascending order, its distance from an open port. */
  readonly #distances: Uint16Array;

  /**
   * Creates an empty table.
   *
   * @param ports The ports, the default port first.
   */
  constructor(private readonly ports: readonly number[]) {
    this.#states = new Rows(Math.ceil(ports.length / 16), (length) => new Uint32Array(length));
    this.#ascending = Uint16Array.from(ports.keys()).sort((a, b) => ports[a] - ports[b]);
    this.#distances = new Uint16Array(ports.length);
  }

  /** Number of hosts. */
  get length(): number {
    return this.#length;
  }

  /** Memory of the table, bytes. */
  get bytes(): number {
    return (12 + BINS) * this.addresses.length + this.#states.bytes + this.#slots.bytes;
  }

  /** The index of a host; -1: no server was found on it. */
  find(address: number): number {
    return this.#slots.find(address);
  }

  /**
   * Adds a host before the others of its /24.
   *
   * @param next The first of these others plus one; 0: none.
   * @returns Its index.
   */
  add(address: number, next: number): number {
    const host = this.#length++;
    if (host === this.addresses.length) this.#grow(host + 1);
    this.addresses[host] = address;
    this.next[host] = next;
    this.#stale[host] = 1;
    this.#slots.add(address);
    return host;
  }

  state(host: number, port: number): number {
    const word = this.#states.chunk(host)[this.#states.start(host) + (port >>> 4)];
    return word >>> 2 * (port & 15) & 3;
  }

  setState(host: number, port: number, state: number): void {
    const chunk = this.#states.chunk(host);
    const at = this.#states.start(host) + (port >>> 4);
    chunk[at] = chunk[at] & ~(3 << 2 * (port & 15)) | state << 2 * (port & 15);
    if (state !== HostPortState.planned && state !== HostPortState.unprobed) this.#stale[host] = 1;
  }

  /** Whether the default port is open. */
  hasDefault(host: number): boolean {
    return this.state(host, 0) === HostPortState.open;
  }

  /** Whether a port was probed as a port of this host. */
  wasProbed(host: number, port: number): boolean {
    const state = this.state(host, port);
    return state === HostPortState.probed || state === HostPortState.open;
  }

  /** Whether a port is probed in the planned pass. */
  isPlanned(host: number, port: number): boolean {
    return this.state(host, port) === HostPortState.planned;
  }

  /** Whether the counts of a host have to be computed again, because a port was probed. */
  isStale(host: number): boolean {
    return this.#stale[host] === 1;
  }

  /**
   * Counts the unprobed ports of a host by their bins.
   *
   * @param wasProbed Whether a port was probed as part of a slice.
   */
  count(host: number, wasProbed: (port: number) => boolean): void {
    this.#measure(host);
    const first = host * BINS;
    this.counts.fill(0, first, first + BINS);
    const chunk = this.#states.chunk(host);
    const start = this.#states.start(host);
    for (let i = 0; i < this.#ascending.length; i++) {
      const port = this.#ascending[i];
      const state = chunk[start + (port >>> 4)] >>> 2 * (port & 15) & 3;
      if (state !== HostPortState.unprobed || wasProbed(port)) continue;
      const at = first + binOf(this.#distances[i]);
      if (this.counts[at] < MAX_COUNT) this.counts[at]++;
    }
    this.#stale[host] = 0;
  }

  /**
   * Writes the unprobed ports of a host in a bin of distance from its open ports.
   *
   * @param wasProbed Whether a port was probed as part of a slice.
   * @param ports The indexes of the ports, as many as the array takes.
   * @returns Their number.
   */
  unprobed(
    host: number,
    bin: number,
    wasProbed: (port: number) => boolean,
    ports: Uint16Array,
  ): number {
    this.#measure(host);
    let count = 0;
    for (let i = 0; i < this.#ascending.length && count < ports.length; i++) {
      if (binOf(this.#distances[i]) !== bin) continue;
      const port = this.#ascending[i];
      if (this.state(host, port) !== HostPortState.unprobed || wasProbed(port)) continue;
      ports[count++] = port;
    }
    if (count === 0) this.#stale[host] = 1;
    return count;
  }

  /** Computes the distance of each port from the nearest open one: upwards, then downwards. */
  #measure(host: number): void {
    const [ascending, distances] = [this.#ascending, this.#distances];
    let open = -Infinity;
    for (let i = 0; i < ascending.length; i++) {
      const port = this.ports[ascending[i]];
      if (this.state(host, ascending[i]) === HostPortState.open) open = port;
      distances[i] = Math.min(0xffff, port - open);
    }
    open = Infinity;
    for (let i = ascending.length - 1; i >= 0; i--) {
      const port = this.ports[ascending[i]];
      if (distances[i] === 0) open = port;
      distances[i] = Math.min(distances[i], open - port);
    }
  }

  #grow(length: number): void {
    this.addresses = grown(this.addresses, length);
    this.next = grown(this.next, length);
    this.others = grown(this.others, length);
    this.ended = grown(this.ended, length);
    this.counts = grown(this.counts, BINS * this.addresses.length);
    this.#stale = grown(this.#stale, length);
  }
}

/** The bin of a distance from the nearest open port. */
function binOf(distance: number): number {
  let bin = 0;
  while (bin < BIN_ENDS.length && distance > BIN_ENDS[bin]) bin++;
  return bin;
}
