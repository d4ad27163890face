/**
 * Hosts that flood: a host floods if it sends far more datagrams than the scan sent probes to it. The
 * datagrams of a flood fill the sockets' buffers, and replies of other hosts are lost.
 *
 * A surplus datagram is one that is not the first reply to a probe. It adds points to its endpoint: 2 if
 * it may be the reply to a probe of another endpoint (a foreign reply), otherwise 16. A host counts as
 * flooding if one of its endpoints has 1,024 points. It also counts as flooding if its endpoints
 * together have 1,024 points, plus 64 for each probe that the scan may send to the host.
 *
 * @module
 */
import {
  type Address,
  type Endpoint,
  endpointKey,
  formatAddress,
  parseAddress,
} from "../core/address.ts";
import { type AddedAddresses, EndpointSet } from "../core/endpoint_set.ts";
import type { Endpoints } from "../core/endpoints.ts";

/** Maximum size of the table of endpoints, and of the table of hosts. */
const MAX_COUNTED = 1024;
/** Maximum size of the table of flooding hosts. */
const MAX_FLOODING = 4096;
/** Points of an endpoint at which its host counts as flooding: those of 64 surplus datagrams. */
const LIMIT = 1024;
/**
 * Number of surplus datagrams that a host may send for each probe to it. The limit of a host is
 * this allowance plus the limit of one endpoint. Without the allowance, duplicates from many
 * servers of one host would count as a flood.
 */
const ALLOWED_OF_PROBE = 4;
/** Points of a surplus datagram. */
const SURPLUS = 16;
/**
 * Points of a reply with the token of another endpoint. A host with many addresses may send all its
 * replies from one address. It counts as flooding only after replies for 512 targets.
 */
const FOREIGN = 2;
/** Number of datagrams of flooding hosts in one time slot that may fill a buffer. */
const DISTURBING = 64;
/** Length of a time slot, milliseconds. */
const SLOT_MS = 10;
/** Pause of sending after such a slot, milliseconds. */
const PAUSE_MS = 20;
/** Maximum total pause of sending, milliseconds. */
const LONGEST_PAUSE_MS = 250;
/** The port number that stands for all ports of an address. */
const WHOLE_HOST = 0;

/**
 * A scan's report on hosts that flood: those that send far more datagrams than the scan sent probes
 * to them.
 */
export interface FloodReport {
  /** Number of hosts that flooded, or whose address was forged as the source of a flood. */
  hosts: number;
  /** Number of datagrams from these hosts since each was detected. */
  datagrams: number;
  /** The addresses of these hosts, as text. */
  readonly addresses: string[];
  /**
   * Protocols in which floods disturbed every pass. Replies of other hosts may have been lost in
   * these passes.
   */
  disturbed: string[];
  /** Outcomes of passes, for a resumed scan. */
  readonly passes: FloodedPasses;
}

/** Which protocols of a scan had passes with and without floods. */
export interface FloodedPasses {
  /** Protocols with a pass that was disturbed. */
  readonly disturbed: string[];
  /** Protocols with a pass that ended undisturbed. */
  readonly clean: string[];
  /** Number of times that further passes were begun for protocols without an undisturbed pass. */
  further: number;
}

/** A report without flooding hosts. */
export function noFloods(): FloodReport {
  const passes = { disturbed: [], clean: [], further: 0 };
  return { hosts: 0, datagrams: 0, addresses: [], disturbed: [], passes };
}

/** Counts surplus datagrams by endpoint and by host, in bounded memory, and decides which hosts flood. */
export class FloodingHosts {
  readonly #flooding: EndpointSet;
  /**
   * Points by endpoint. When the table is full and a new endpoint appears, each endpoint in it
   * loses as many points as the new one would get (the frequent-elements algorithm of Misra and
   * Gries). An endpoint that sends a thousandth of all surplus datagrams stays in the table.
   */
  readonly #points = new Map<number | bigint, number>();
  /** Points by address, because a flood may use a different source port for each datagram. */
  readonly #hostPoints = new Map<number | bigint, number>();
  readonly #hostLimit: number;
  /** Number of datagrams of flooding hosts in the current time slot. */
  #recent = 0;
  /** Start of the current time slot. */
  #slot = -Infinity;
  /** Start and end of the current disturbance, milliseconds of the clock. */
  #began = -Infinity;
  #until = -Infinity;
  /** The protocol of the running pass while no flood has disturbed the pass; else `undefined`. */
  #protocol: string | undefined;

  /**
   * @param seed 32 random bits.
   * @param report The report to update. It may contain hosts of an earlier run of the scan.
   * @param onFlood Called once for each host that floods.
   * @param maxProbes Maximum number of probes to one host in all passes.
   * @param added Gets the address of each host that floods. Default: nothing does.
   */
  constructor(
    seed: number,
    private readonly report: FloodReport,
    private readonly onFlood: (address: Address) => void = () => {},
    maxProbes = 1,
    added?: AddedAddresses,
  ) {
    this.#hostLimit = LIMIT + SURPLUS * ALLOWED_OF_PROBE * maxProbes;
    this.#flooding = new EndpointSet(seed, added);
    for (const text of report.addresses) {
      this.#flooding.add({ address: parseAddress(text)!, port: WHOLE_HOST });
    }
  }

  has(address: Address): boolean {
    return this.#flooding.size > 0 && this.#flooding.has({ address, port: WHOLE_HOST });
  }

  /** Whether the address of target `i` floods. */
  hasAt(targets: Endpoints, i: number): boolean {
    return this.#flooding.hasAt(targets, i, WHOLE_HOST);
  }

  /** Whether a datagram's source is a flooding host. Counts the datagram in that case. */
  drops(address: Address, clock: { now(): number }): boolean {
    if (!this.has(address)) return false;
    this.report.datagrams++;
    const now = clock.now();
    if (now - this.#slot >= SLOT_MS) {
      this.#slot = now;
      this.#recent = 0;
    }
    if (++this.#recent >= DISTURBING) this.#disturb(now);
    return true;
  }

  #disturb(now: number): void {
    if (now >= this.#until) this.#began = now;
    this.#until = now + PAUSE_MS;
    if (this.#protocol === undefined) return;
    note(this.report.passes.disturbed, this.#protocol);
    this.#settlePass();
  }

  /**
   * Counts a datagram that is not the first reply to a probe.
   *
   * @param foreign Whether the datagram may be a reply to a probe to another endpoint.
   */
  surplus(from: Endpoint, foreign = false): void {
    if (this.has(from.address)) return;
    const points = foreign ? FOREIGN : SURPLUS;
    const key = endpointKey(from);
    const isFlood = count(this.#points, key, points) >= LIMIT;
    if (isFlood) this.#points.delete(key);
    this.#countHost(from.address, points, isFlood);
  }

  /** Counts a datagram from a port of a probed host to which no probe was sent. */
  stray(address: Address): void {
    if (!this.has(address)) this.#countHost(address, SURPLUS, false);
  }

  #countHost(address: Address, points: number, isFlood: boolean): void {
    const all = count(this.#hostPoints, address, points);
    if (!isFlood && all < this.#hostLimit) return;
    this.#hostPoints.delete(address);
    this.#add(address);
  }

  #add(address: Address): void {
    if (this.#flooding.size >= MAX_FLOODING) return;
    if (!this.#flooding.add({ address, port: WHOLE_HOST })) return;
    this.report.hosts++;
    this.report.addresses.push(formatAddress(address));
    this.onFlood(address);
  }

  /**
   * Whether sending has to pause. The pause keeps buffer space for replies of other hosts. During a
   * flood that does not end, sending pauses for half of the time.
   */
  pauses(now: number): boolean {
    return now < this.#until && (now - this.#began) % (2 * LONGEST_PAUSE_MS) < LONGEST_PAUSE_MS;
  }

  /**
   * Begins a pass of a protocol, and ends the previous pass.
   *
   * @param isRest Whether the pass continues a pass of an earlier run of the scan. If hosts
   * flooded in that run, the continued pass does not count as undisturbed.
   */
  begin(protocol: string, isRest = false): void {
    this.end();
    if (!isRest || this.report.hosts === 0) this.#protocol = protocol;
  }

  /** Ends the running pass at its last position. */
  end(): void {
    if (this.#protocol === undefined) return;
    note(this.report.passes.clean, this.#protocol);
    this.#settlePass();
  }

  #settlePass(): void {
    const { disturbed, clean } = this.report.passes;
    this.report.disturbed = disturbed.filter((protocol) => !clean.includes(protocol));
    this.#protocol = undefined;
  }

  /** Counts the beginning of further passes. */
  beginFurther(): void {
    this.report.passes.further++;
  }
}

/** Adds a protocol to a list that does not contain it. */
function note(protocols: string[], protocol: string): void {
  if (!protocols.includes(protocol)) protocols.push(protocol);
}

/**
 * Adds points to a key, in bounded memory. Returns the key's points.
 *
 * @param max Maximum number of keys.
 */
export function count(
  points: Map<number | bigint, number>,
  key: number | bigint,
  more: number,
  max: number = MAX_COUNTED,
): number {
  const all = (points.get(key) ?? 0) + more;
  if (all > more || points.size < max) points.set(key, all);
  else lower(points, more);
  return all;
}

function lower(points: Map<number | bigint, number>, by: number): void {
  for (const [key, all] of points) {
    if (all > by) points.set(key, all - by);
    else points.delete(key);
  }
}
