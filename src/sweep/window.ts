/**
 * How many probes may be under way where nearly everybody answers: a portable socket's buffer holds
 * 256 datagrams, and what comes beyond them is lost.
 *
 * @module
 */

/** Probes under way per socket: half of what its buffer holds. */
const PER_SOCKET = 128;
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

  /** The sum of the last so many milliseconds. */
  sum(ms: number, now: number): number {
    this.#advance(now);
    let sum = 0;
    for (let i = 0; i < Math.min(SLOTS, Math.ceil(ms / SLOT_MS)); i++) {
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
    const answered = this.#answered.sum(1000, now);
    if (answered <= ACTIVE_SHARE * this.#sent.sum(1000, now)) return Infinity;
    const life = this.#roundTrip === undefined
      ? UNKNOWN_MS
      : Math.min(MOST_MS, Math.max(LEAST_MS, ROUND_TRIPS * this.#roundTrip));
    const underWay = Math.max(0, this.#sent.sum(life, now) - this.#answered.sum(life, now));
    return Math.max(0, this.#size - underWay);
  }
}
