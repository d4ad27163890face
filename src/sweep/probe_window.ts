/**
 * Limits the probes in flight when many targets reply: replies beyond the capacity of a socket's
 * receive buffer are lost.
 *
 * @module
 */
import type { ProbeSocket } from "../net/mod.ts";

/**
 * Buffer space of a small datagram in Linux, bytes, on loopback and veth. A buffer of the default
 * size contains at most 256 small datagrams, or 166 datagrams of the size of a full stat. Network
 * cards that use a page per datagram need up to five times as much space.
 */
const SMALL_DATAGRAM = 832;
/**
 * Fraction of the buffers that replies to probes in flight may fill. The rest is for replies to
 * inspections.
 */
const WINDOW = 1 / 4;
/** Maximum of the window, probes: routers and hosts have limited buffers too. */
const LARGEST_WINDOW = 16_384;
/** Maximum of the window before the first replies, probes: enough for 100,000 probes per second. */
const LARGEST_OPENING = 32_768;
/** Minimum capacity of the sockets, small datagrams. */
const MIN_CAPACITY = 16 * 256;
/** Capacity for each inspection, small datagrams. */
const PER_INSPECTION = 4;

/** The members of a socket that describe its receive buffer. */
type Buffer = Pick<ProbeSocket, "receiveBuffer" | "receiveBufferUsed">;

/** The capacity of sockets' receive buffers, small datagrams. */
export function capacityOf(sockets: readonly Buffer[]): number {
  return sockets.reduce((sum, { receiveBuffer }) => sum + capacityOfOne(receiveBuffer), 0);
}

function capacityOfOne(receiveBuffer: number): number {
  return Math.max(1, Math.floor(receiveBuffer / SMALL_DATAGRAM));
}

/** Number of sockets per family for a number of concurrent inspections and a buffer size. */
export function socketsFor(concurrency: number, receiveBuffer: number): number {
  const capacity = Math.max(MIN_CAPACITY, concurrency * PER_INSPECTION);
  return Math.ceil(capacity / capacityOfOne(receiveBuffer));
}
/** Number of replies after which the round-trip time is known. */
const MIN_REPLIES = 8;
/**
 * Number of probes after which the response rate is known: at a rate of 10 %, its standard error is
 * 1.7 percentage points.
 */
const MIN_PROBES = 320;
/** Maximum number of unread replies while sending continues. */
const MAX_UNREAD = 1024;
/** Interval of the check for unread replies, milliseconds. */
const CHECK_MS = 2;
/** Minimum response rate at which the window applies, 0 to 1. */
const ACTIVE_RATE = 0.1;
const SLOT_MS = 10;
const SLOTS = 200;
/** How long a probe counts as in flight, in round-trip times. */
const ROUND_TRIPS = 4;
/** Minimum of that time, milliseconds. */
const MIN_MS = 50;
/** Maximum of that time, milliseconds. */
const MAX_MS = 1500;
/** How long a probe counts as in flight while no round-trip time is known, milliseconds. */
const UNKNOWN_MS = 250;
/** Maximum delay after which delayed replies may arrive in one burst, milliseconds. */
const HOLD_UP_MS = 250;
/** Period over which the response rate is measured, and for which it is valid, milliseconds. */
const MEMORY_MS = 1000;

/** A ring of counters, one per ten milliseconds, over the last two seconds. */
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

  /** The sum over the last `ms` milliseconds, except the last `but` milliseconds. */
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

/** Computes from sent probes and replies how many more probes may be sent. */
export class ProbeWindow {
  readonly #sent = new Recent();
  readonly #replies = new Recent();
  readonly #size: number;
  readonly #opening: number;
  #roundTrip: number | undefined;
  #checkedAt = -Infinity;
  #isLate = false;

  /** @param sockets The sockets that receive replies. */
  constructor(private readonly sockets: readonly Buffer[]) {
    const share = WINDOW * capacityOf(sockets);
    this.#size = Math.min(LARGEST_WINDOW, share);
    this.#opening = Math.min(LARGEST_OPENING, share);
  }

  /** Counts probes that were sent at a time. */
  sent(count: number, now: number): void {
    this.#sent.add(count, now);
  }

  /** Counts a reply, with its round-trip time (milliseconds) if known. */
  replied(latencyMs: number | undefined, now: number): void {
    this.#replies.add(1, now);
    if (latencyMs === undefined) return;
    this.#roundTrip = this.#roundTrip === undefined
      ? latencyMs
      : this.#roundTrip + (latencyMs - this.#roundTrip) / 8;
  }

  /** Number of probes that may be sent now. */
  capacity(now: number): number {
    if (this.#hasUnread(now)) return 0;
    const known = this.#responseRate(now);
    const rate = known ?? 1;
    const replied = this.#replies.sum(MEMORY_MS, now);
    if (rate <= ACTIVE_RATE && replied <= ACTIVE_RATE * this.#sent.sum(MEMORY_MS, now)) {
      return Infinity;
    }
    const life = this.#roundTrip === undefined
      ? UNKNOWN_MS
      : Math.min(MAX_MS, Math.max(MIN_MS, ROUND_TRIPS * this.#roundTrip));
    // When a host or a network stalls, probes are not lost. Their replies arrive later in one
    // burst, and the burst needs buffer space. Probes whose replies are overdue therefore count as
    // in flight.
    const held = Math.max(life, HOLD_UP_MS);
    const inFlight = Math.max(
      0,
      this.#sent.sum(life, now) - this.#replies.sum(life, now),
      rate * this.#sent.sum(held, now) - this.#replies.sum(held, now),
    );
    return Math.max(0, (known === undefined ? this.#opening : this.#size) - inFlight);
  }

  /**
   * Whether unread replies are in the buffers. The numbers of probes and replies alone do not show
   * this: when this program is slow, replies that stay in a buffer for seconds would count as lost,
   * and more probes would be sent (measured: until the buffer is full).
   */
  #hasUnread(now: number): boolean {
    if (now - this.#checkedAt < CHECK_MS) return this.#isLate;
    this.#checkedAt = now;
    this.#isLate = this.sockets.some(({ receiveBufferUsed = 0, receiveBuffer }) =>
      receiveBufferUsed > Math.min(MAX_UNREAD * SMALL_DATAGRAM, WINDOW * receiveBuffer)
    );
    return this.#isLate;
  }

  /**
   * The response rate of probes that were sent long enough ago for a reply to arrive; `undefined`
   * while there are no such probes. Until then the sender has to expect a reply to every probe: a
   * burst of probes could cause a burst of replies.
   */
  #responseRate(now: number): number | undefined {
    const ms = HOLD_UP_MS + MEMORY_MS;
    const sent = this.#sent.sum(ms, now, HOLD_UP_MS);
    if (sent > 0) return Math.min(1, this.#replies.sum(ms, now, HOLD_UP_MS) / sent);
    const replied = this.#replies.sum(ms, now);
    if (this.#roundTrip === undefined || replied < MIN_REPLIES) return undefined;
    const early = this.#sent.sum(ms, now, Math.max(MIN_MS, ROUND_TRIPS * this.#roundTrip));
    return early < MIN_PROBES ? undefined : Math.min(1, replied / early);
  }
}
