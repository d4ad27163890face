/**
 * Chooses which servers are canaries, and when each is probed.
 *
 * @module
 */
import type { Address, Endpoint } from "../../core/address.ts";
import { mix } from "../../core/bits.ts";
import type { ProbeKind } from "../probe_kind.ts";

/** Maximum number of servers in the sample. */
const MOST = 4096;
/** Minimum time between a canary probe and the last packet before it to the same host, milliseconds. */
const HOST_MS = 1000;

/** A server in the sample of canaries. */
export interface Canary {
  readonly endpoint: Endpoint;
  readonly kind: ProbeKind;
  /** Earliest time of the next canary probe, milliseconds of the clock. */
  readyAt: number;
  /** Number of the last canary probe to this server. */
  round: number;
  last: CanaryProbe | undefined;
  /** Number of misses in a row. */
  misses: number;
  /** Number of misses that the loss tally does not count yet. */
  uncountedMisses: number;
  /** Whether the server was removed from the sample. */
  isRemoved: boolean;
}

/** A canary probe that was sent, and its outcome so far. */
export interface CanaryProbe {
  readonly canary: Canary;
  readonly sentAt: number;
  /** Whether the outcome counts for the scan's loss estimate. */
  readonly isCounted: boolean;
  /** Whether the server replied to the previous canary probe. */
  readonly isAfterReply: boolean;
  replied: boolean;
  /** Whether the probe has timed out. */
  missed: boolean;
}

export interface CanaryLimits {
  /** Minimum time between two canary probes to a server, milliseconds; at least 1,000. */
  readonly gapMs: number;
  /** Whether a server may be probed now, later or never again. */
  readonly mayProbe: (endpoint: Endpoint) => "yes" | "later" | "never";
  /** When a datagram was last sent to a host, milliseconds of the clock, as far as known. */
  readonly lastTo: (address: Address) => number;
}

/** The queues of one kind of probe: servers with misses, and all others. */
interface Queues {
  readonly again: Queue<Canary>;
  readonly ready: Queue<Canary>;
}

/** A random sample of responders, at most one per address. */
export class CanarySchedule {
  readonly #limits: CanaryLimits;
  readonly #seed: number;
  readonly #byAddress = new Map<Address, Canary>();
  readonly #all: Canary[] = [];
  readonly #queues = new Map<number, Queues>();
  #seen = 0;

  /**
   * Creates an empty sample.
   *
   * @param seed 32 random bits, which hosts cannot predict. No host can therefore influence the
   * choice.
   */
  constructor(limits: CanaryLimits, seed: number) {
    this.#limits = limits;
    this.#seed = seed;
  }

  /** Number of servers in the sample. */
  get size(): number {
    return this.#all.length;
  }

  /** Iterates over the servers of the sample. */
  [Symbol.iterator](): Iterator<Canary> {
    return this.#all.values();
  }

  /** Finds the canary of an endpoint and a kind of probe. */
  at({ address, port }: Endpoint, { kind }: ProbeKind): Canary | undefined {
    const canary = this.#byAddress.get(address);
    return canary?.endpoint.port === port && canary.kind.kind === kind ? canary : undefined;
  }

  /** Offers a responder to the sample (reservoir sampling: all responders have about equal probability). */
  add(kind: ProbeKind, endpoint: Endpoint, now: number): void {
    if (this.#byAddress.has(endpoint.address)) return;
    this.#seen++;
    if (this.size >= MOST) {
      const index = (mix(this.#seed ^ this.#seen) >>> 0) % this.#seen;
      if (index >= MOST || isAwaited(this.#all[index])) return;
      this.drop(this.#all[index], index);
    }
    const state = { round: 0, last: undefined, misses: 0, uncountedMisses: 0, isRemoved: false };
    const canary = { endpoint: { ...endpoint }, kind, readyAt: 0, ...state };
    this.#byAddress.set(endpoint.address, canary);
    this.#all.push(canary);
    this.wait(canary, now);
  }

  /**
   * Removes a canary from the sample.
   *
   * @param index Its index in `#all`. Default: it is searched.
   */
  drop(canary: Canary, index: number = this.#all.indexOf(canary)): void {
    canary.isRemoved = true;
    this.#byAddress.delete(canary.endpoint.address);
    this.#all[index] = this.#all.at(-1)!;
    this.#all.pop();
  }

  /** Queues a canary. `since` is the time of its last probe or reply. */
  wait(canary: Canary, since: number): void {
    canary.readyAt = since + this.#limits.gapMs;
    this.#queuesOf(canary.kind).ready.push(canary);
  }

  /** Queues all canaries anew. */
  restart(now: number): void {
    this.#queues.clear();
    for (const canary of this.#all) this.wait(canary, now);
  }

  /** Moves a canary to the queue of servers with misses. */
  repeat(canary: Canary): void {
    this.#queuesOf(canary.kind).again.push(canary);
  }

  /** Removes the next due canary from the queues: servers with misses first, then in queue order. */
  next(kind: ProbeKind, now: number): Canary | undefined {
    const { again, ready } = this.#queuesOf(kind);
    for (const queue of [again, ready]) {
      for (let left = queue.length; left > 0 && queue.first!.readyAt <= now; left--) {
        const canary = queue.take();
        const may = this.may(canary, now);
        if (may === "yes") return canary;
        if (may === "later") this.wait(canary, now);
      }
    }
    return undefined;
  }

  /** Whether a canary may be probed. Removes one that may never be probed again. */
  may(canary: Canary, now: number): "yes" | "later" | "never" {
    if (canary.isRemoved) return "never";
    const { mayProbe, lastTo } = this.#limits;
    const may = mayProbe(canary.endpoint);
    if (may === "never") this.drop(canary);
    return may === "yes" && now - lastTo(canary.endpoint.address) < HOST_MS ? "later" : may;
  }

  #queuesOf({ kind }: ProbeKind): Queues {
    return this.#queues.getOrInsertComputed(
      kind,
      () => ({ again: new Queue(), ready: new Queue() }),
    );
  }
}

/** Whether the reply to the last probe of a canary is not known yet, or was missing. */
function isAwaited({ misses, last }: Canary): boolean {
  return misses > 0 || last !== undefined && !last.replied;
}

/** Early timeout of a canary probe, in round-trip times. */
const ROUND_TRIPS = 4;
/** Minimum of the early timeout, milliseconds. */
const MIN_MS = 250;
/** Maximum of the early timeout, milliseconds. */
const MAX_MS = 2000;
/** Early timeout while no round-trip time is known, milliseconds. */
const UNKNOWN_MS = 1000;

/** A queue. `Array.shift()` moves all elements of a long array; this queue seldom moves them. */
class Queue<T> {
  #items: T[] = [];
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

  /** The first element; `undefined`: the queue is empty. */
  get first(): T | undefined {
    return this.#items[this.#first];
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Removes and returns the first element of a queue that is not empty. */
  take(): T {
    const item = this.#items[this.#first++];
    if (2 * this.#first >= this.#items.length) {
      this.#items.splice(0, this.#first);
      this.#first = 0;
    }
    return item;
  }
}

/** Removes and yields all probes that were sent until a time. */
function* sentUntil(time: number, queue: Queue<CanaryProbe>): Generator<CanaryProbe> {
  while (queue.first !== undefined && queue.first.sentAt <= time) yield queue.take();
}

/**
 * Canary probes in flight. Each probe is yielded twice: after a few round-trip times for the rate
 * search (early timeout), and after the full timeout.
 */
export class CanaryRoundTrips {
  #early = new Queue<CanaryProbe>();
  #late = new Queue<CanaryProbe>();
  #roundTrip: number | undefined;

  get earlyTimeoutMs(): number {
    if (this.#roundTrip === undefined) return UNKNOWN_MS;
    return Math.min(MAX_MS, Math.max(MIN_MS, ROUND_TRIPS * this.#roundTrip));
  }

  add(probe: CanaryProbe): void {
    this.#early.push(probe);
    this.#late.push(probe);
  }

  /** Forgets the probes in flight. */
  clear(): void {
    this.#early = new Queue();
    this.#late = new Queue();
  }

  /** Adds the round-trip time of a reply, milliseconds. */
  addRoundTrip(ms: number): void {
    this.#roundTrip = this.#roundTrip === undefined ? ms : this.#roundTrip * 7 / 8 + ms / 8;
  }

  /** The probes whose early timeout has passed since the last call. */
  early(now: number): Iterable<CanaryProbe> {
    return sentUntil(now - this.earlyTimeoutMs, this.#early);
  }

  /**
   * The probes that were sent until a given time. The caller passes the time that is the full
   * timeout ago.
   */
  sentBefore(time: number): Iterable<CanaryProbe> {
    return sentUntil(time, this.#late);
  }
}
