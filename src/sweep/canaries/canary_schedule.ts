/**
 * Which servers are asked again, and when it is whose turn.
 *
 * @module
 */
import type { Address, Endpoint } from "../../core/address.ts";
import { mix } from "../../core/bits.ts";
import type { ProbeKind } from "../receiver.ts";

/** Servers in the sample, at the most. */
const MOST = 4096;
/** Two unsolicited questions to a host are that far apart, milliseconds. */
const HOST_MS = 1000;

/** A server of the sample. */
export interface Canary {
  readonly endpoint: Endpoint;
  readonly kind: ProbeKind;
  /** When it may be asked again. */
  readyAt: number;
  /** Which question it was asked last. */
  round: number;
  last: CanaryProbe | undefined;
  /** Misses in a row, and those of them that wait to be booked. */
  misses: number;
  unbooked: number;
  /** Whether it is not in the sample any longer. */
  gone: boolean;
}

/** A question to one. */
export interface CanaryProbe {
  readonly canary: Canary;
  readonly askedAt: number;
  /** Whether it counts for the loss of the scan. */
  readonly counts: boolean;
  /** Whether the server answered the one before. */
  readonly sound: boolean;
  answered: boolean;
  /** Whether its time is up. */
  missed: boolean;
}

/** Who may be asked, and when. */
export interface CanaryLimits {
  /** The least time between two questions to a server, milliseconds; a second or more. */
  readonly gapMs: number;
  /** Whether a server may be asked: not now, or never again. */
  readonly mayAsk: (endpoint: Endpoint) => "yes" | "later" | "never";
  /** When something was last sent to a host, as far as that is known. */
  readonly lastTo: (address: Address) => number;
}

/** Those whose turn it is for one kind of probe: who has missed, and the others, in their order. */
interface Queues {
  readonly again: Canary[];
  readonly ready: Canary[];
}

/** A random sample of the servers that answered, one of each address. */
export class CanarySchedule {
  readonly #manners: CanaryLimits;
  readonly #seed: number;
  readonly #byAddress = new Map<Address, Canary>();
  readonly #all: Canary[] = [];
  readonly #queues = new Map<number, Queues>();
  #seen = 0;

  /**
   * Starts empty.
   *
   * @param seed 32 bits that nobody can guess: nobody shall choose who is in it.
   */
  constructor(manners: CanaryLimits, seed: number) {
    this.#manners = manners;
    this.#seed = seed;
  }

  /** How many are in it. */
  get size(): number {
    return this.#all.length;
  }

  /** All of them. */
  [Symbol.iterator](): Iterator<Canary> {
    return this.#all.values();
  }

  /** The one on an endpoint that answers a kind of probe. */
  at({ address, port }: Endpoint, { kind }: ProbeKind): Canary | undefined {
    const canary = this.#byAddress.get(address);
    return canary?.endpoint.port === port && canary.kind.kind === kind ? canary : undefined;
  }

  /** Takes a server that has just answered, or not: where there are more, each is as likely in it. */
  add(kind: ProbeKind, endpoint: Endpoint, now: number): void {
    if (this.#byAddress.has(endpoint.address)) return;
    this.#seen++;
    if (this.size >= MOST) {
      const place = (mix(this.#seed ^ this.#seen) >>> 0) % this.#seen;
      if (place >= MOST || this.#all[place].misses > 0) return;
      this.drop(this.#all[place]);
    }
    const state = { round: 0, last: undefined, misses: 0, unbooked: 0, gone: false };
    const canary = { endpoint: { ...endpoint }, kind, readyAt: 0, ...state };
    this.#byAddress.set(endpoint.address, canary);
    this.#all.push(canary);
    this.wait(canary, now);
  }

  /** Takes one out. */
  drop(canary: Canary): void {
    canary.gone = true;
    this.#byAddress.delete(canary.endpoint.address);
    this.#all[this.#all.indexOf(canary)] = this.#all.at(-1)!;
    this.#all.pop();
  }

  /** Has one wait for its turn; it was asked, or answered, at that time. */
  wait(canary: Canary, since: number): void {
    canary.readyAt = since + this.#manners.gapMs;
    this.#queuesOf(canary.kind).ready.push(canary);
  }

  /** Has one asked as soon as that may be. */
  hurry(canary: Canary): void {
    this.#queuesOf(canary.kind).again.push(canary);
  }

  /** Takes out of the queues who is to be asked: who missed first, then who waited the longest. */
  next(kind: ProbeKind, now: number): Canary | undefined {
    const { again, ready } = this.#queuesOf(kind);
    for (const queue of [again, ready]) {
      for (let looks = queue.length; looks > 0 && queue[0].readyAt <= now; looks--) {
        const canary = queue.shift()!;
        const may = this.may(canary, now);
        if (may === "yes") return canary;
        if (may === "later") this.wait(canary, now);
      }
    }
    return undefined;
  }

  /** Whether one may be asked; who never may is taken out. */
  may(canary: Canary, now: number): "yes" | "later" | "never" {
    if (canary.gone) return "never";
    const { mayAsk, lastTo } = this.#manners;
    const may = mayAsk(canary.endpoint);
    if (may === "never") this.drop(canary);
    return may === "yes" && now - lastTo(canary.endpoint.address) < HOST_MS ? "later" : may;
  }

  #queuesOf({ kind }: ProbeKind): Queues {
    return this.#queues.getOrInsertComputed(kind, () => ({ again: [], ready: [] }));
  }
}

/** After how many round trips a question is judged, and after how long at least and at most. */
const ROUND_TRIPS = 4;
const LEAST_MS = 250;
const MOST_MS = 2000;
/** Before a round trip is known, milliseconds. */
const UNKNOWN_MS = 1000;

/** A queue that is not moved when its first element leaves. */
class Queue {
  #items: CanaryProbe[] = [];
  #first = 0;

  push(question: CanaryProbe): void {
    this.#items.push(question);
  }

  /** Takes all that were asked by a time. */
  *until(time: number): Generator<CanaryProbe> {
    while (this.#first < this.#items.length && this.#items[this.#first].askedAt <= time) {
      yield this.#items[this.#first++];
    }
    if (2 * this.#first < this.#items.length) return;
    this.#items = this.#items.slice(this.#first);
    this.#first = 0;
  }
}

/**
 * Questions come out twice: early, a few round trips after they were asked, for who wants to know
 * soon how the path is; and when it is sure that nothing comes.
 */
export class CanaryRoundTrips {
  readonly #early = new Queue();
  readonly #late = new Queue();
  #roundTrip: number | undefined;

  /** How long after it was asked a question is judged, milliseconds. */
  get patienceMs(): number {
    if (this.#roundTrip === undefined) return UNKNOWN_MS;
    return Math.min(MOST_MS, Math.max(LEAST_MS, ROUND_TRIPS * this.#roundTrip));
  }

  /** Notes a question. */
  asked(question: CanaryProbe): void {
    this.#early.push(question);
    this.#late.push(question);
  }

  /** Notes how long an answer took. */
  answered(ms: number): void {
    this.#roundTrip = this.#roundTrip === undefined ? ms : this.#roundTrip * 7 / 8 + ms / 8;
  }

  /** Those that can be judged now, and could not before. */
  judged(now: number): Iterable<CanaryProbe> {
    return this.#early.until(now - this.patienceMs);
  }

  /** Those that were asked by that time: their time is up. */
  over(time: number): Iterable<CanaryProbe> {
    return this.#late.until(time);
  }
}
