/**
 * Hosts that flood: they send far more datagrams than they were sent probes. What they send fills the
 * sockets' buffers, and replies of other hosts are lost there.
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
import { EndpointSet } from "../core/endpoint_set.ts";
import type { Endpoints } from "../core/endpoints.ts";

/** Endpoints, and hosts, whose surplus datagrams are counted at once, and hosts that are remembered as flooding. */
const MOST_COUNTED = 1024;
const MOST_FLOODING = 4096;
/** Points of one endpoint after which its host counts as flooding: 64 surplus datagrams. */
const LIMIT = 1024;
/**
 * Surplus datagrams of one host that are allowed for each probe that the scan may send it, besides
 * those of one endpoint: duplicates of many servers, or a reply to each of many probes, are no flood.
 */
const ALLOWED_OF_PROBE = 4;
/** Points of a surplus datagram. */
const SURPLUS = 16;
/**
 * Points of a reply whose token is another endpoint's. A host with many addresses may send all its
 * replies from one of them, so that 512 targets have to do so before it counts as flooding.
 */
const FOREIGN = 2;
/** So many datagrams of flooding hosts within so many milliseconds may fill a buffer. */
const DISTURBING = 64;
const SLOT_MS = 10;
/** How long sending pauses after them, and at the most before it goes on for as long, milliseconds. */
const PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 250;
/** Stands for all ports of an address. */
const WHOLE_HOST = 0;

/** What a scan reports of hosts that flood: they send far more datagrams than they were sent probes. */
export interface FloodReport {
  /** Hosts that flooded, or in whose name a flood was forged. */
  hosts: number;
  /** Datagrams that came from them since then. */
  datagrams: number;
  /** Their addresses. */
  readonly addresses: string[];
  /**
   * Protocols with passes that they disturbed, and none that ended undisturbed: replies of other hosts
   * may have been lost.
   */
  disturbed: string[];
  /** What came of passes, for who resumes the scan. */
  readonly passes: FloodedPasses;
}

/** What came of the passes of a scan. */
export interface FloodedPasses {
  /** Protocols with a pass that was disturbed. */
  readonly disturbed: string[];
  /** Protocols with a pass that ended undisturbed. */
  readonly clean: string[];
  /** How often further passes were begun for protocols without one. */
  further: number;
}

/** No host floods. */
export function noFloods(): FloodReport {
  const passes = { disturbed: [], clean: [], further: 0 };
  return { hosts: 0, datagrams: 0, addresses: [], disturbed: [], passes };
}

/** Counts surplus datagrams by endpoint and by host, in bounded memory, and decides which hosts flood. */
export class FloodingHosts {
  readonly #flooding: EndpointSet;
  /**
   * Points by endpoint. When the table is full, all lose what a new one would get (Misra and Gries'
   * frequent elements): an endpoint that sends a thousandth of all surplus stays in it.
   */
  readonly #points = new Map<number | bigint, number>();
  /** The same by address: a flood may come from another port with each datagram. */
  readonly #hostPoints = new Map<number | bigint, number>();
  readonly #hostLimit: number;
  /** Datagrams of flooding hosts in the present slot, and when it began. */
  #recent = 0;
  #slot = -Infinity;
  /** When the present disturbance began, and until when it lasts. */
  #began = -Infinity;
  #until = -Infinity;
  /** The protocol of the pass that runs, while nothing has disturbed it. */
  #protocol: string | undefined;

  /**
   * @param seed 32 bits that nobody can guess.
   * @param report Where flooding hosts are counted: those of an earlier part of the scan are in it.
   * @param onFlood Called once for each host that floods.
   * @param mostProbes How many probes one host is sent at the most, all passes together.
   */
  constructor(
    seed: number,
    private readonly report: FloodReport,
    private readonly onFlood: (address: Address) => void = () => {},
    mostProbes = 1,
  ) {
    this.#hostLimit = LIMIT + SURPLUS * ALLOWED_OF_PROBE * mostProbes;
    this.#flooding = new EndpointSet(seed);
    for (const text of report.addresses) {
      this.#flooding.add({ address: parseAddress(text)!, port: WHOLE_HOST });
    }
  }

  /** Whether an address floods. */
  has(address: Address): boolean {
    return this.#flooding.size > 0 && this.#flooding.has({ address, port: WHOLE_HOST });
  }

  /** Whether the address of a target in a row floods. */
  hasAt(targets: Endpoints, i: number): boolean {
    return this.#flooding.hasAt(targets, i, WHOLE_HOST);
  }

  /** Whether a datagram comes from a host that floods; if so, it is counted. */
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
    this.#protocol = undefined;
  }

  /**
   * Counts a datagram that was no first reply to a probe.
   *
   * @param foreign Whether it may be a reply to a probe of another endpoint.
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
    if (this.#flooding.size >= MOST_FLOODING) return;
    if (!this.#flooding.add({ address, port: WHOLE_HOST })) return;
    this.report.hosts++;
    this.report.addresses.push(formatAddress(address));
    this.onFlood(address);
  }

  /**
   * Whether sending has to pause, so that replies of other hosts find buffer space. A flood that does
   * not end stops sending for half of the time.
   */
  pauses(now: number): boolean {
    return now < this.#until && (now - this.#began) % (2 * LONGEST_PAUSE_MS) < LONGEST_PAUSE_MS;
  }

  /**
   * Notes that a pass of a protocol begins, and that the one before it has ended.
   *
   * @param isRest Whether it is the rest of a pass that an earlier part of the scan began. If hosts
   * flooded then, it proves nothing.
   */
  begin(protocol: string, isRest = false): void {
    this.end();
    if (!isRest || this.report.hosts === 0) this.#protocol = protocol;
  }

  /** Notes that the pass that runs has reached its end. */
  end(): void {
    if (this.#protocol !== undefined) note(this.report.passes.clean, this.#protocol);
    this.#protocol = undefined;
  }

  /** Protocols with passes that were disturbed, and none that ended undisturbed. */
  get disturbed(): string[] {
    const { disturbed, clean } = this.report.passes;
    return disturbed.filter((protocol) => !clean.includes(protocol));
  }

  /** How often further passes were begun. */
  get further(): number {
    return this.report.passes.further;
  }

  /** Notes that further passes begin. */
  beginFurther(): void {
    this.report.passes.further++;
  }
}

/** Adds a protocol, once. */
function note(protocols: string[], protocol: string): void {
  if (!protocols.includes(protocol)) protocols.push(protocol);
}

/** Adds points to those of a key, in bounded memory; returns how many it has. */
function count(points: Map<number | bigint, number>, key: number | bigint, more: number): number {
  const all = (points.get(key) ?? 0) + more;
  if (all > more || points.size < MOST_COUNTED) points.set(key, all);
  else lower(points, more);
  return all;
}

function lower(points: Map<number | bigint, number>, by: number): void {
  for (const [key, all] of points) {
    if (all > by) points.set(key, all - by);
    else points.delete(key);
  }
}
