/**
 * How many probes may be under way where nearly everybody answers: a socket's buffer holds so many
 * datagrams, and what comes beyond them is lost.
 *
 * @module
 */
import type { DatagramSocket } from "../net/socket.ts";

/**
 * What a small datagram takes up in a buffer of Linux, bytes, on loopback and veth: 256 of them fill
 * one of the usual size, or 166 of the size of a full stat. Network cards that give each its own
 * page take up to five times as much.
 */
const SMALL_DATAGRAM = 832;
/** The part of it that probes under way may fill with answers: stats need room too. */
const WINDOW = 1 / 4;
/** And no more than this: what lies on the way, and stands at its end, has buffers too. */
const LARGEST_WINDOW = 16_384;
/** The same before anybody can have answered: hardly ever does everybody, and 100,000 a second fit. */
const LARGEST_OPENING = 32_768;
/** How many small datagrams the sockets have room for at least, and for each inspection. */
const LEAST_CAPACITY = 16 * 256;
const PER_INSPECTION = 4;

/** What is asked of a socket here. */
type Buffer = Pick<DatagramSocket, "receiveBuffer" | "receiveBufferUsed">;

/** How many small datagrams the buffers of sockets hold. */
export function capacityOf(sockets: readonly Buffer[]): number {
  return sockets.reduce((sum, { receiveBuffer }) => sum + capacityOfOne(receiveBuffer), 0);
}

function capacityOfOne(receiveBuffer: number): number {
  return Math.max(1, Math.floor(receiveBuffer / SMALL_DATAGRAM));
}

/** How many sockets of a family, with such buffers, it takes to ask so many servers at once. */
export function socketsFor(concurrency: number, receiveBuffer: number): number {
  const capacity = Math.max(LEAST_CAPACITY, concurrency * PER_INSPECTION);
  return Math.ceil(capacity / capacityOfOne(receiveBuffer));
}
/** After so many answers, it is known how long they take, and who does not answer will not. */
const TELLING_ANSWERS = 32;
/** How many of them may wait in a buffer while more is sent, and how often that is looked at. */
const MOST_WAITING = 1024;
const LOOK_MS = 2;
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
export class ProbeWindow {
  readonly #sent = new Recent();
  readonly #answered = new Recent();
  readonly #size: number;
  readonly #opening: number;
  #roundTrip: number | undefined;
  #looked = -Infinity;
  #behind = false;

  /** @param sockets Those that answers come to. */
  constructor(private readonly sockets: readonly Buffer[]) {
    const part = WINDOW * capacityOf(sockets);
    this.#size = Math.min(LARGEST_WINDOW, part);
    this.#opening = Math.min(LARGEST_OPENING, part);
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
    if (this.#isBehind(now)) return 0;
    const known = this.#usualShare(now);
    const usual = known ?? 1;
    const answered = this.#answered.sum(MEMORY_MS, now);
    if (usual <= ACTIVE_SHARE && answered <= ACTIVE_SHARE * this.#sent.sum(MEMORY_MS, now)) {
      return Infinity;
    }
    const life = this.#roundTrip === undefined
      ? UNKNOWN_MS
      : Math.min(MOST_MS, Math.max(LEAST_MS, ROUND_TRIPS * this.#roundTrip));
    // Where a host or a network stands still for a while, probes are not lost: their answers come
    // later, all at once, and had better find room. So what should be here by now is under way.
    const held = Math.max(life, HOLD_UP_MS);
    const underWay = Math.max(
      0,
      this.#sent.sum(life, now) - this.#answered.sum(life, now),
      usual * this.#sent.sum(held, now) - this.#answered.sum(held, now),
    );
    return Math.max(0, (known === undefined ? this.#opening : this.#size) - underWay);
  }

  /**
   * Whether answers wait to be read, so that more would only wait longer. What follows from the counts
   * of probes and answers alone drifts: where we are the slow ones, what lies in a buffer for seconds
   * is forgotten, and others are sent for (measured: until it is full).
   */
  #isBehind(now: number): boolean {
    if (now - this.#looked < LOOK_MS) return this.#behind;
    this.#looked = now;
    this.#behind = this.sockets.some(({ receiveBufferUsed = 0, receiveBuffer }) =>
      receiveBufferUsed > Math.min(MOST_WAITING * SMALL_DATAGRAM, WINDOW * receiveBuffer)
    );
    return this.#behind;
  }

  /**
   * Which share of probes is answered, from those that had the time; `undefined` before any had. Then
   * all may be: an opening burst would be answered by a burst.
   */
  #usualShare(now: number): number | undefined {
    const ms = HOLD_UP_MS + MEMORY_MS;
    const sent = this.#sent.sum(ms, now, HOLD_UP_MS);
    if (sent > 0) return Math.min(1, this.#answered.sum(ms, now, HOLD_UP_MS) / sent);
    const answered = this.#answered.sum(ms, now);
    if (this.#roundTrip === undefined || answered < TELLING_ANSWERS) return undefined;
    const early = this.#sent.sum(ms, now, Math.max(LEAST_MS, ROUND_TRIPS * this.#roundTrip));
    return early === 0 ? undefined : Math.min(1, answered / early);
  }
}
