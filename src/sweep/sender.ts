/**
 * Sends the probes of one pass: positions in order, each with its token, at the allowed rate.
 *
 * @module
 */
import { Endpoints } from "../core/endpoints.ts";
import { sleep } from "../net/clock.ts";
import { MAX_IN_BATCH, type ProbeSocket, type Throttle, untilOpen } from "../net/mod.ts";
import type { ProbeSpace } from "../targets/space.ts";
import type { Canaries } from "./canaries/canaries.ts";
import { BatchesInFlight, type BatchInFlight } from "./batches_in_flight.ts";
import { type ProbeKind, stampClock } from "./probe_kind.ts";
import { COMPUTED_AT_ONCE, ProbeWriter, type ProbeWriterOptions } from "./probe_writer.ts";
import { capacityOf, type ProbeWindow } from "./probe_window.ts";

/**
 * Number of datagrams per batch, which are stamped and sent together. A socket's buffer has space
 * for a reply to each of them, and the stamp differs from the time of sending by less than a
 * millisecond.
 */
const PER_BATCH = 1 / 4;
/**
 * Number of batches or blocks per sender thread. While one is being sent, others are queued or are
 * being filled. The queue must last until the main thread fills more, which may take milliseconds
 * when all cores send (measured: with four batches, a thread is idle for a quarter of its time).
 */
const BATCHES_PER_THREAD = 8;
/** Number of positions between two readings of the clock. */
const PER_CLOCK_READING = 64;
/** Number of probes between two yields to the event loop, as a fraction of the buffers' capacity. */
const PER_YIELD = 1 / 64;
/** The same while few targets reply and no inspection runs: a yield wakes another thread. */
const QUIET_PER_YIELD = 1 / 16;
/**
 * Number of probes between two polls of sockets, as a fraction of the buffers' capacity. The buffers
 * can store the replies even if every target replies at once.
 */
const PER_POLL = 1 / 2;
/** Maximum time between two yields to the event loop, milliseconds. A yield costs hundreds of probes. */
const YIELD_MS = 10;
/**
 * Maximum time between two yields to the event loop while the loop has only the status line to
 * draw, milliseconds.
 */
const QUIET_YIELD_MS = 50;
/**
 * Maximum time between two polls of sockets, milliseconds. Without this limit, sockets on a busy
 * machine were not polled for a second (measured), and responders counted as unresponsive.
 */
const POLL_MS = 20;
/** Maximum number of skipped positions between two yields to the event loop. */
const MAX_SKIPPED = 16384;
/** Pause while the window or the queue of inspections is full, milliseconds. */
const PAUSE_MS = 1;

/** Options of {@linkcode Sender}. */
export interface SenderOptions extends ProbeWriterOptions {
  /** The sockets, of one or both address families. */
  readonly sockets: readonly ProbeSocket[];
  /** Number of sender threads. Default: 0, the main thread sends. */
  readonly threads?: number;
  /** The rate limit and the caps of sent datagrams. */
  readonly throttle: Throttle;
  /** The limit of probes in flight. */
  readonly window: ProbeWindow;
  /** Canary probes to send among the probes. Default: none. */
  readonly canaries?: Canaries;
  /** Cancels the pass after the current batch. */
  readonly signal: AbortSignal;
  /** Cancels a wait for an interface that is down. Default: `signal`. */
  readonly waitSignal?: AbortSignal;
  /** Whether the queue of inspections is full. While it is full, sending has to wait. */
  readonly backlogged: () => boolean;
  /** Whether the event loop has other work now. Default: always. */
  readonly isBusy?: () => boolean;
  /** Called after every batch. */
  readonly onProgress: (progress: SendProgress) => void;
}

/** Progress since the last report. */
export interface SendProgress {
  /** Number of visited positions. */
  readonly visited: number;
  /** Number of sent probes. */
  readonly sent: number;
  /** Number of probes that the system refused. */
  readonly refused: number;
}

/** Sends the probes of one pass. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #kind: ProbeKind;
  readonly #batches: BatchesInFlight;
  readonly #writer: ProbeWriter;
  /** Computed targets. */
  readonly #targets = new Endpoints(COMPUTED_AT_ONCE);
  /** Position of the first computed target. */
  #computedFrom = 0;
  /** Position after the last computed target. */
  #computedTo = 0;
  /** Capacity of the sockets' buffers, datagrams. */
  readonly #capacity: number;
  /** Maximum size of a batch, datagrams. */
  readonly #batchSize: number;
  /** Whether sender threads compute the targets. */
  #isByThreads: boolean;
  /** Whether a socket cannot receive while it sends. */
  readonly #isBlockedBySending: boolean;
  /** Number of probes since the last poll of sockets. */
  #sincePoll = 0;
  /** Number of probes since the last yield to the event loop. */
  #sinceYield = 0;
  /** Time of the last yield to the event loop. */
  #yieldedAt = -Infinity;
  /** Time of the last poll of sockets. */
  #polledAt = -Infinity;
  /** Whether the rate limit has reserved a time for the next target. */
  #reserved = false;
  /** The reserved time. */
  readonly #dueAt = new Float64Array(1);
  /** The endpoint of the next canary probe. */
  readonly #canary = new Endpoints(1);
  /** Whether there is a next canary probe. */
  #hasCanary = false;

  /** Creates the sender of a pass for one kind of probe. */
  constructor(kind: ProbeKind, options: SenderOptions) {
    this.#kind = kind;
    this.#options = options;
    this.#capacity = capacityOf(options.sockets);
    this.#isBlockedBySending = !options.sockets.every(({ receivesWhileSending = false }) =>
      receivesWhileSending
    );
    const least = Math.min(...options.sockets.map((socket) => capacityOf([socket])));
    this.#batchSize = Math.max(1, Math.min(MAX_IN_BATCH, Math.floor(PER_BATCH * least)));
    this.#isByThreads = options.throttle.isUncapped && options.filter !== undefined &&
      options.sockets.every(({ thread }) => thread !== undefined);
    this.#writer = new ProbeWriter(kind, options);
    this.#batches = new BatchesInFlight({
      sockets: options.sockets,
      template: kind.probe,
      batch: this.#batchSize,
      signal: options.waitSignal ?? options.signal,
      count: Math.max(1, BATCHES_PER_THREAD * (options.threads ?? 0)),
      addLeft: (flight, left, from) => {
        const end = this.#writer.addLeft(flight, left, from, this.#batchSize);
        options.throttle.giveBack(end - from - flight.written);
        return end;
      },
      mostReplies: PER_BATCH * this.#capacity,
      stampNow: () => stampClock(options.clock.now()),
      onSent(visited, sent, refused) {
        options.window.sent(sent, options.clock.now());
        options.onProgress({ visited, sent, refused });
      },
    });
  }

  /**
   * Sends probes to all positions from `from` on.
   *
   * @returns The first position that was not visited: the size of the space, unless cancelled.
   */
  async send(space: ProbeSpace, from: number): Promise<number> {
    const { signal } = this.#options;
    let position = from;
    this.#isByThreads &&= "data" in space;
    if (this.#isByThreads) this.#batches.begin(this.#writer.threadPass(space, this.#batchSize));
    while (position < space.size && !signal.aborted) {
      const flight = this.#batches.next;
      if (flight.sending !== undefined) await this.#batches.whenSent(flight);
      const start = position;
      position = this.#fill(space, start, this.#capacityNow(), flight);
      this.#sincePoll += flight.length;
      this.#sinceYield += flight.length;
      this.#batches.send(position - start);
      if (this.#batches.isSinglePair && !this.#batches.isIdle) await this.#batches.whenSent();
      if (this.#batches.isCut) {
        position = this.#repeatFrom(start);
        if (!await untilOpen(this.#batches.gate!, signal)) break;
      }
      const wait = this.#wait();
      if (wait > 0 || this.#mustYield()) await this.#waitOrYield(wait);
    }
    if (this.#hasCanary) this.#options.canaries!.dismiss();
    await this.#batches.whenSent();
    return this.#batches.isStopped ? from + this.#batches.visited : position;
  }

  /**
   * Returns to a position, whose targets may have replied or opted out meanwhile. Their probes get
   * new send times and stamps.
   */
  #repeatFrom(position: number): number {
    this.#computedTo = 0;
    this.#reserved = false;
    return position;
  }

  /** Whether the sender must yield to the event loop before it sends more. */
  #mustYield(): boolean {
    const { clock, window } = this.#options;
    const ms = this.#isBlockedBySending || this.#isBusy ? YIELD_MS : QUIET_YIELD_MS;
    const isQuiet = this.#isBlockedBySending && !this.#isBusy &&
      window.capacity(clock.now()) === Infinity;
    const share = isQuiet ? QUIET_PER_YIELD : PER_YIELD;
    return this.#mustPoll() ||
      this.#isBlockedBySending && this.#sinceYield >= share * this.#capacity ||
      clock.now() - this.#yieldedAt >= ms;
  }

  /** Whether sockets must be polled before more is sent. */
  #mustPoll(): boolean {
    if (this.#isBlockedBySending && this.#sincePoll >= PER_POLL * this.#capacity) return true;
    return (this.#isBlockedBySending || this.#isBusy) &&
      this.#options.clock.now() - this.#polledAt >= POLL_MS;
  }

  get #isBusy(): boolean {
    return this.#options.isBusy?.() !== false;
  }

  /** Waits, or yields to the event loop. */
  async #waitOrYield(wait: number): Promise<void> {
    const { clock, signal } = this.#options;
    if (wait > 0) await sleep(clock, wait, signal);
    if (this.#mustPoll()) {
      await clock.pollSockets();
      this.#sincePoll = 0;
      this.#polledAt = clock.now();
    } else if (wait <= 0) {
      await clock.yieldToEvents();
    }
    this.#sinceYield = 0;
    this.#yieldedAt = clock.now();
  }

  /**
   * Number of probes that may be sent now: a whole batch or none. All sockets therefore send
   * equally many probes.
   */
  #capacityNow(): number {
    const { sockets, backlogged, window, clock } = this.#options;
    const most = this.#isByThreads ? this.#batches.blockSize : this.#batchSize;
    const capacity = backlogged()
      ? 0
      : Math.floor(Math.min(most, window.capacity(clock.now()) - this.#batches.probesInFlight));
    return capacity < this.#batchSize && sockets.length > 1 ? 0 : capacity;
  }

  /** Time until the next probe may be sent, milliseconds. */
  #wait(): number {
    const pause = this.#capacityNow() < 1 ? PAUSE_MS : 0;
    if (!this.#reserved) return pause;
    return Math.max(pause, this.#dueAt[0] - this.#options.clock.now());
  }

  /** Prepares probes until batches are full or a probe has to wait. Returns the next position. */
  #fill(space: ProbeSpace, from: number, most: number, flight: BatchInFlight): number {
    return this.#options.throttle.isUncapped
      ? this.#fillBlocks(space, from, most, flight)
      : this.#fillEach(space, from, most, flight);
  }

  /** Prepares probes without caps: the rate limit, clock and canaries are asked once per block. */
  #fillBlocks(space: ProbeSpace, from: number, most: number, flight: BatchInFlight): number {
    const { clock, canaries } = this.#options;
    const end = Math.min(space.size, from + MAX_SKIPPED);
    let position = from;
    while (flight.length < most && position < end) {
      const now = clock.now();
      this.#writer.stamp = stampClock(now);
      const size = Math.min(most - flight.length, end - position);
      const probes = this.#hasCanary ? 1 : this.#select(space, position, size);
      const wanted = Math.min(probes, canaries?.untilDue ?? Infinity);
      const count = this.#takeDue(wanted, now);
      if (this.#hasCanary) {
        if (count === 0) break;
        this.#writeCanary(flight);
        if (this.#isByThreads) break; // the canary probe is sent after the block
        continue;
      }
      position += this.#writeSelected(position, count, flight);
      if (canaries?.probed(count)) this.#hasCanary = canaries.choose(this.#kind, this.#canary);
      if (count < wanted) break;
    }
    return position;
  }

  /** Number of probes that are due now; if fewer than wanted, a time is reserved for the next. */
  #takeDue(wanted: number, now: number): number {
    let count = 0;
    if (this.#reserved && wanted > 0) {
      if (this.#dueAt[0] > now) return 0;
      this.#reserved = false;
      count = 1;
    }
    count += this.#options.throttle.reserveDue(wanted - count, now, this.#dueAt);
    this.#reserved = count < wanted || this.#reserved && wanted === 0;
    return count;
  }

  /** Selects the next positions. Returns the number of probes. */
  #select(space: ProbeSpace, position: number, size: number): number {
    if (this.#isByThreads) return size;
    return this.#writer.select(space, position, Math.min(size, COMPUTED_AT_ONCE));
  }

  /** Writes the first of the selected probes. Returns the number of positions before the next. */
  #writeSelected(position: number, count: number, flight: BatchInFlight): number {
    if (!this.#isByThreads) return this.#writer.writeSelected(count, flight);
    if (count > 0) flight.addToBlock(position, count, this.#writer.stamp);
    return count;
  }

  /**
   * Writes probes into the batches until the batches are full or a probe has to wait. It allocates
   * nothing for an IPv4 target: addresses, ports and times stay in arrays of numbers.
   */
  #fillEach(space: ProbeSpace, from: number, most: number, flight: BatchInFlight): number {
    const { clock, skip, canaries } = this.#options;
    const { protocol } = this.#kind;
    const targets = this.#targets;
    const end = Math.min(space.size, from + MAX_SKIPPED);
    let position = from;
    let now = 0;
    for (let filled = 0, visited = 0; filled < most && position < end; visited++) {
      // Reading the clock takes as long as all other work of this loop, and the time hardly changes
      // within a batch.
      if (visited % PER_CLOCK_READING === 0) {
        now = clock.now();
        this.#writer.stamp = stampClock(now);
      }
      if (this.#hasCanary) {
        if (!this.#sendCanary(now, flight)) break;
        filled++;
        continue;
      }
      if (position >= this.#computedTo) this.#compute(space, position);
      const i = position - this.#computedFrom;
      if (skip(targets, i, protocol)) {
        this.#reserved = false; // the target replied while its probe waited
        position++;
        continue;
      }
      if (!this.#isDue(targets, i, now)) break;
      this.#writer.write(flight, targets, i);
      filled++;
      position++;
      if (canaries?.probed(1)) this.#hasCanary = canaries.choose(this.#kind, this.#canary);
    }
    return position;
  }

  /**
   * Reserves a send time at the rate limit, unless one is reserved already. Returns whether the
   * reserved time has come.
   */
  #isDue(targets: Endpoints, i: number, now: number): boolean {
    const dueAt = this.#dueAt;
    const { throttle } = this.#options;
    if (!this.#reserved) {
      dueAt[0] = now;
      throttle.reserveAt(targets, i, dueAt);
      this.#reserved = true;
    }
    if (dueAt[0] > now) return false;
    if (dueAt[0] < now) throttle.sentTo(targets, i, dueAt[0], now);
    this.#reserved = false;
    return true;
  }

  /** Sends or drops the next canary probe. Returns `false` when it has to wait. */
  #sendCanary(now: number, flight: BatchInFlight): boolean {
    if (!this.#isDue(this.#canary, 0, now)) return false;
    this.#writeCanary(flight);
    return true;
  }

  /** Writes or drops the next canary probe. */
  #writeCanary(flight: BatchInFlight): void {
    const canaries = this.#options.canaries!;
    this.#hasCanary = false;
    if (!canaries.mayBeSent) return canaries.dismiss();
    this.#writer.writeWith(canaries.start(), flight, this.#canary, 0);
    flight.canaries++;
  }

  /** Computes the next targets. */
  #compute(space: ProbeSpace, position: number): void {
    const count = Math.min(COMPUTED_AT_ONCE, space.size - position);
    space.fill(position, count, this.#targets);
    this.#computedFrom = position;
    this.#computedTo = position + count;
  }
}
