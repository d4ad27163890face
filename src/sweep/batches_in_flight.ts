/**
 * Probes that are prepared and sent in turn: some are prepared while others are being sent. They are
 * written into batches, or are a block of positions whose targets a sender thread computes.
 *
 * @module
 */
import {
  type Batch,
  MAX_IN_BLOCK,
  type ProbeSocket,
  type SendGate,
  type SentBlock,
  type TargetThread,
  type Template,
  type ThreadPass,
} from "../net/mod.ts";

/** Time from filling a block to its end above which blocks become smaller, microseconds. */
const SLOW_BLOCK = 100_000;

/** A block and a pair of batches, one per address family, that are sent together. */
export class BatchInFlight {
  /** Settles when this one and all earlier ones are sent; `undefined`: they are sent. */
  sending: Promise<void> | undefined;
  /** The block: the first position, number of positions, and the stamp of its start. */
  from = 0;
  count = 0;
  stamp = 0;
  /** Number of canary probes in the batches. */
  canaries = 0;
  /** What the gate had kept back when the batches were passed to the sockets. */
  keptBack = 0;

  /** Creates an empty block and pair from empty batches. */
  constructor(readonly ipv4: Batch | undefined, readonly ipv6: Batch | undefined) {}

  /** Number of probes in the batches and the block. */
  get length(): number {
    return this.count + this.written;
  }

  /** Number of probes in the batches. */
  get written(): number {
    return (this.ipv4?.length ?? 0) + (this.ipv6?.length ?? 0);
  }

  /** Adds positions to the block. They follow its last ones. */
  addToBlock(from: number, count: number, stamp: number): void {
    if (this.count === 0) {
      this.from = from;
      this.stamp = stamp;
    }
    this.count += count;
  }

  /** Removes all probes from the batches. */
  clear(): void {
    this.ipv4?.clear();
    this.ipv6?.clear();
  }
}

/** Options of {@linkcode BatchesInFlight}. */
export interface BatchesInFlightOptions {
  /** The sockets, of one or both address families. */
  readonly sockets: readonly ProbeSocket[];
  /** The probe's datagram, which is copied into each slot. */
  readonly template: Template;
  /** Number of probes per batch. */
  readonly batch: number;
  /** Number of pairs of batches, at least 1. */
  readonly count: number;
  /** Cancels a wait for an interface that is down, or for connections that have to end first. */
  readonly signal?: AbortSignal;
  /**
   * Adds the targets that a sender thread left out of a block, unless they are skipped, to the
   * batches.
   *
   * @param left The positions that were left out, counted from the start of the block.
   * @param at Index of the first one to add.
   * @returns Index of the next one to add, when the batches are full.
   */
  readonly addLeft?: (flight: BatchInFlight, left: ArrayLike<number>, at: number) => number;
  /**
   * Called for each pair that was sent, in order: with the argument of `send()`, the number of
   * probes that the system accepted, and the number that it refused.
   */
  readonly onSent: (visited: number, sent: number, refused: number) => void;
  /** Maximum number of replies to blocks that the buffers of all threads have space for. */
  readonly mostReplies?: number;
  /** The time of stamps, microseconds modulo 2^32. */
  readonly stampNow?: () => number;
}

type ByFamily = Readonly<Record<4 | 6, readonly ProbeSocket[]>>;

/** Numbers of probes that were sent or refused. */
interface Outcome {
  readonly sent: number;
  readonly refused: number;
  /** Number of positions, if a block ended before all were visited. */
  readonly visited?: number;
}

const NOTHING: Outcome = { sent: 0, refused: 0 };

/** Sends pairs of batches in turn and reports them in order. */
export class BatchesInFlight {
  /** Number of probes in pairs that are being sent. */
  probesInFlight = 0;
  /** The gate of the sockets; `undefined`: none. */
  readonly gate: SendGate | undefined;
  /**
   * Whether the gate kept back probes of the last pair, whose positions were not visited then. A
   * probe that the system refused meanwhile counts as kept back.
   */
  isCut = false;
  /**
   * Whether the signal ended a block or pair before all of its positions were visited. Those of the
   * pair, and later ones, do not count as visited.
   */
  isStopped = false;
  /** Number of positions that were visited. */
  visited = 0;
  /** Maximum number of positions in the next block. A slow line makes blocks smaller. */
  blockSize: number;
  readonly #maxBlock: number;
  readonly #pairs: readonly BatchInFlight[];
  readonly #sockets: ByFamily;
  /** The sockets of each sender thread. */
  readonly #threads: ReadonlyMap<TargetThread, ByFamily>;
  readonly #options: BatchesInFlightOptions;
  #count = 0;
  /** Settles when all pairs are sent; `undefined`: all are sent. */
  #sending: Promise<void> | undefined;
  #failure: Error | undefined;

  /** Allocates the batches, from the first socket of each family. */
  constructor(options: BatchesInFlightOptions) {
    const { sockets, template, batch, count } = options;
    this.#options = options;
    this.gate = sockets.find(({ gate }) => gate !== undefined)?.gate;
    this.#sockets = byFamily(sockets);
    this.#threads = new Map(
      [...Map.groupBy(sockets, ({ thread }) => thread)].flatMap(([thread, own]) =>
        thread === undefined ? [] : [[thread, byFamily(own)]]
      ),
    );
    // The replies to a block need space in the buffers of one thread.
    const share = (options.mostReplies ?? Infinity) / Math.max(1, this.#threads.size);
    this.#maxBlock = Math.floor(Math.max(batch, Math.min(MAX_IN_BLOCK, share)));
    this.blockSize = this.#maxBlock;
    const empty = (bits: 4 | 6) => this.#sockets[bits][0]?.batch(template, batch);
    this.#pairs = Array.from({ length: count }, () => new BatchInFlight(empty(4), empty(6)));
  }

  /**
   * The pair to fill next. If the pair is still in flight, the caller has to wait for it.
   *
   * @throws The error of a socket.
   */
  get next(): BatchInFlight {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#pairs[this.#count % this.#pairs.length];
  }

  /** Begins a pass whose targets the sender threads compute. */
  begin(pass: ThreadPass): void {
    for (const thread of this.#threads.keys()) thread.begin(pass);
  }

  /** Whether there is only one pair. Filling and sending then cannot overlap. */
  get isSinglePair(): boolean {
    return this.#pairs.length === 1;
  }

  /**
   * Sends the pair that was filled.
   *
   * @param visited Passed to `onSent` when the pair is sent.
   */
  send(visited: number): void {
    const flight = this.next;
    flight.keptBack = this.gate?.keptBack ?? 0;
    this.#count++;
    const sent = flight.count > 0
      ? this.#sendBlock(flight)
      : this.#flushPair(flight, this.#sockets, this.#count);
    if (this.#sending === undefined && !(sent instanceof Promise)) {
      this.#report(flight, visited, sent);
    } else {
      this.probesInFlight += flight.length;
      this.#sending = flight.sending = this.#finish(flight, visited, sent, this.#sending);
    }
  }

  /**
   * Sends the block of a pair through the thread with the fewest pending jobs, then its batches,
   * and then what the thread left out.
   */
  async #sendBlock(flight: BatchInFlight): Promise<Outcome> {
    const { signal, addLeft } = this.#options;
    const [thread, sockets] = this.#freest();
    const { from, count, stamp } = flight;
    const { errors } = [...sockets[4], ...sockets[6]][0];
    const block = thread.sendBlock(from, count, stamp, errors, signal);
    const canaries = this.#flushPair(flight, sockets, this.#count);
    const outcomes = await Promise.all([blockOutcome(block, count), canaries]);
    const { left } = await block;
    for (let at = 0; at < left.length;) {
      flight.clear();
      at = addLeft!(flight, left, at);
      outcomes.push(await this.#flushPair(flight, sockets, this.#count));
    }
    return sumOf(outcomes);
  }

  /** The thread with the fewest pending jobs; equal ones take turns. */
  #freest(): readonly [TargetThread, ByFamily] {
    const threads = [...this.#threads];
    let least = threads[this.#count % threads.length];
    for (const one of threads) if (one[0].pending < least[0].pending) least = one;
    return least;
  }

  /** Sends both batches, each from the next of the given sockets of its family. */
  #flushPair(
    { ipv4, ipv6, written: length }: BatchInFlight,
    sockets: ByFamily,
    number: number,
  ): Outcome | Promise<Outcome> {
    const one = this.#flush(ipv4, sockets[4], number);
    const other = this.#flush(ipv6, sockets[6], number);
    if (typeof one === "number" && typeof other === "number") return outcomeOf(one + other, length);
    return sumLater(one, other, length);
  }

  #flush(
    batch: Batch | undefined,
    sockets: readonly ProbeSocket[],
    number: number,
  ): number | Promise<number> {
    if (batch === undefined || batch.length === 0) return 0;
    return sockets[number % sockets.length].flush(batch, this.#options.signal);
  }

  /** Waits until a pair and all earlier ones are sent. Never rejects: errors are thrown later. */
  async #finish(
    flight: BatchInFlight,
    visited: number,
    sent: Outcome | Promise<Outcome>,
    before: Promise<void> | undefined,
  ): Promise<void> {
    const { length } = flight;
    try {
      const outcome = await sent;
      await before;
      if (this.#failure === undefined) this.#report(flight, visited, outcome);
    } catch (error) {
      this.#failure ??= error as Error;
      await before;
    }
    this.probesInFlight -= length;
    if (this.#sending === flight.sending) this.#sending = undefined;
    flight.sending = undefined;
  }

  #report(flight: BatchInFlight, all: number, { sent, refused, visited = all }: Outcome): void {
    const probes = Math.max(0, sent - flight.canaries);
    if (flight.count > 0) this.#adaptBlocks(flight);
    this.isCut = refused > 0 && this.gate !== undefined && this.gate.keptBack > flight.keptBack;
    flight.clear();
    flight.count = flight.canaries = 0;
    if (this.isCut) this.#options.onSent(0, probes, 0);
    else {
      const isEnded = refused > 0 && this.#options.signal?.aborted === true;
      const counted = this.isStopped || isEnded ? 0 : visited;
      this.isStopped ||= isEnded || visited < all;
      this.visited += counted;
      this.#options.onSent(counted, probes, isEnded ? 0 : refused);
    }
  }

  /** Adapts the size of blocks to the time that one took: probes must not wait behind others. */
  #adaptBlocks({ stamp }: BatchInFlight): void {
    const took = (this.#options.stampNow?.() ?? stamp) - stamp >>> 0;
    const { batch } = this.#options;
    if (took > SLOW_BLOCK) this.blockSize = Math.max(batch, Math.floor(this.blockSize / 2));
    else if (took < SLOW_BLOCK / 2) {
      this.blockSize = Math.min(this.#maxBlock, this.blockSize + batch);
    }
  }

  /**
   * Waits until a pair is sent; without an argument, until all are sent.
   *
   * @throws The error of a socket.
   */
  async whenSent(flight?: BatchInFlight): Promise<void> {
    await (flight === undefined ? this.#sending : flight.sending);
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Whether no pair is being sent. */
  get isIdle(): boolean {
    return this.#sending === undefined;
  }
}

function byFamily(sockets: readonly ProbeSocket[]): ByFamily {
  const of = (bits: 4 | 6) => sockets.filter(({ family }) => family === bits);
  return { 4: of(4), 6: of(6) };
}

function outcomeOf(sent: number, length: number): Outcome {
  return length === 0 ? NOTHING : { sent, refused: length - sent };
}

async function sumLater(
  one: number | Promise<number>,
  other: number | Promise<number>,
  length: number,
): Promise<Outcome> {
  // Usually there is one batch. Promise.all(), which several batches need, allocates more memory.
  const sent = typeof other === "number"
    ? await one + other
    : (await Promise.all([one, other])).reduce((sum, part) => sum + part);
  return outcomeOf(sent, length);
}

async function blockOutcome(block: Promise<SentBlock>, count: number): Promise<Outcome> {
  const { sent, left, visited } = await block;
  const refused = visited - left.length - sent;
  return visited < count ? { sent, refused, visited } : { sent, refused };
}

/** The sum of the outcomes of a block and of the batches after it. */
function sumOf(outcomes: readonly Outcome[]): Outcome {
  return outcomes.reduce((sum, one) => ({
    ...sum,
    sent: sum.sent + one.sent,
    refused: sum.refused + one.refused,
  }));
}
