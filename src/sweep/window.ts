/**
 * How many probes may be under way where nearly everybody answers: a portable socket's buffer holds
 * 256 small datagrams, or 166 of the size of a full stat, and what comes beyond them is lost.
 *
 * @module
 */

/** Probes under way per socket: a quarter of what its buffer holds, for stats need room too. */
const PER_SOCKET = 64;
/** Sockets at least, and stats that are expected on each. */
const LEAST_SOCKETS = 16;
const STATS_PER_SOCKET = 64;

/** How many sockets of a family it takes to ask so many servers at once without loss. */
export function socketsFor(concurrency: number): number {
  return Math.max(LEAST_SOCKETS, Math.ceil(concurrency / STATS_PER_SOCKET));
}
/** From which share of answers on the window applies. */
const ACTIVE_SHARE = 0.1;
const SLOT_MS = 10;
const SLOTS = 200;
/** How long a probe counts as under way, in round trips, and at least and at most, milliseconds. */
const ROUND_TRIPS = 4;
const LEAST_MS = 50;
const MOST_MS = 1500;
/** Before a round trip is known. */
const UNKNOWN_MS = 250;
/** How long answers may be held up somewhere, and then come all at once, milliseconds. */
const HOLD_UP_MS = 250;
/** How long the share of answers is taken from, and counts as known, milliseconds. */
const MEMORY_MS = 1000;

/** Counts in a ring of ten-millisecond slots, over the last two seconds. */
class Recent {
  readonly #counts = new Float64Array(SLOTS);
  #slot = 0;

  #advance(now: number): void {
    const slot = Math.floor(now / SLOT_MS);
    const passed = Math.min(SLOTS, slot - this.#slot);
    for (let i = 1; i <= passed; i++) this.#counts[(this.#slot + i) % SLOTS] = 0;
    this.#slot = Math.max(this.#slot, slot);
  }

  add(count: number, now: number): void {
    this.#advance(now);
    this.#counts[this.#slot % SLOTS] += count;
  }

  /** The sum of the last so many milliseconds, but for the very last of them. */
  sum(ms: number, now: number, but = 0): number {
    this.#advance(now);
    let sum = 0;
    const end = Math.min(SLOTS, Math.ceil(ms / SLOT_MS));
    for (let i = Math.ceil(but / SLOT_MS); i < end; i++) {
      sum += this.#counts[(this.#slot - i + SLOTS) % SLOTS];
    }
    return sum;
  }
}

/** Watches what is sent and answered, and says how many more probes may leave. */
export class Window {
  readonly #sent = new Recent();
  readonly #answered = new Recent();
  readonly #size: number;
  #roundTrip: number | undefined;

  /** @param sockets How many sockets share the probes. */
  constructor(sockets: number) {
    this.#size = PER_SOCKET * sockets;
  }

  /** Notes probes that left. */
  sent(count: number, now: number): void {
    this.#sent.add(count, now);
  }

  /** Notes an answer, and the round trip where it is known. */
  answered(latencyMs: number | undefined, now: number): void {
    this.#answered.add(1, now);
    if (latencyMs === undefined) return;
    this.#roundTrip = this.#roundTrip === undefined
      ? latencyMs
      : this.#roundTrip + (latencyMs - this.#roundTrip) / 8;
  }

  /** How many more probes may leave now. */
  room(now: number): number {
    const usual = this.#usualShare(now);
    const { sent, answered } = this.#last(MEMORY_MS, now);
    if (usual <= ACTIVE_SHARE && answered <= ACTIVE_SHARE * sent) return Infinity;
    const life = this.#roundTrip === undefined
      ? UNKNOWN_MS
      : Math.min(MOST_MS, Math.max(LEAST_MS, ROUND_TRIPS * this.#roundTrip));
    const young = this.#last(life, now);
    // Where a host or a network stands still for a while, probes are not lost: their answers come
    // later, all at once, and had better find room. So what should be here by now is under way.
    const held = this.#last(Math.max(life, HOLD_UP_MS), now);
    const underWay = Math.max(
      0,
      young.sent - young.answered,
      usual * held.sent - held.answered,
    );
    return Math.max(0, this.#size - underWay);
  }

  /** Probes and answers of the last so many milliseconds, but for the very last of them. */
  #last(ms: number, now: number, but = 0): { sent: number; answered: number } {
    return { sent: this.#sent.sum(ms, now, but), answered: this.#answered.sum(ms, now, but) };
  }

  /**
   * Which share of probes is answered, from those that had the time. Before any had, all may be:
   * an opening burst would be answered by a burst.
   */
  #usualShare(now: number): number {
    const { sent, answered } = this.#last(HOLD_UP_MS + MEMORY_MS, now, HOLD_UP_MS);
    return sent === 0 ? 1 : Math.min(1, answered / sent);
  }
}
