/**
 * Canaries: servers that have replied are probed again from time to time. A canary probe without a
 * reply was lost on the network, in either direction.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { mix } from "../../core/bits.ts";
import type { Endpoints } from "../../core/endpoints.ts";
import type { Clock } from "../../net/clock.ts";
import {
  type Canary,
  type CanaryLimits,
  type CanaryProbe,
  CanaryRoundTrips,
  CanarySchedule,
} from "./canary_schedule.ts";
import type { LossTally } from "./loss_estimate.ts";
import type { ProbeKind } from "../probe_kind.ts";
import type { Tokens } from "../../targets/token.ts";

/** Number of canary probes in a row without a reply after which a server counts as stopped. */
const MAX_MISSES = 8;
/** Bit in the token's kind that distinguishes canary probes from probes of the sweep. */
const CANARY = 0x80;
const ROUNDS = 16;
const ROUND = 3;

/** Options of {@linkcode Canaries}. */
export interface CanaryOptions extends CanaryLimits {
  /** The token generator of the scan. */
  readonly tokens: Tokens;
  /** The clock of timeouts. */
  readonly clock: Clock;
  /** Number of canary probes per probe of the sweep, 0 to 1. */
  readonly share: number;
  /** Time after which a canary probe counts as lost, milliseconds. */
  readonly timeoutMs: number;
  /** Seed of the sample and of the random delays, 32 random bits. */
  readonly seed: number;
  /** Counts outcomes for the loss estimate of the scan. */
  readonly tally: LossTally;
  /** Called with the endpoint of each canary probe that is sent. Default: nothing is. */
  readonly onSent?: (endpoint: Endpoint) => void;
  /** Called with the endpoint of each canary that replies. Default: nothing is. */
  readonly onReply?: (endpoint: Endpoint) => void;
  /**
   * Called for each outcome in the order of sending: whether the probe was lost, and when it was
   * sent.
   */
  readonly onOutcome?: (lost: boolean, sentAt: number) => void;
}

/**
 * Sends canary probes among the sweep's probes and in the same batches. Canary probes and other
 * probes therefore have equal losses. The position of a canary probe among the probes is random,
 * because loss depends on the position in a burst if the network drops the ends of bursts.
 *
 * A canary probe without a reply (a miss) was lost, or the server has stopped. A miss is therefore
 * counted as lost only when the server replies again. After eight misses in a row the server is
 * removed, and its misses are not counted. A running server rarely has eight misses in a row:
 * ignoring them makes the estimate too low, by 0.03 percentage points if the loss is 30 %, and by
 * 0.8 if it is 50 %. Servers with misses are probed first, which keeps the number of undecided
 * misses at the end low. Undecided misses are counted as lost.
 */
export class Canaries {
  /**
   * Current number of canary probes per probe of the sweep. Canary probes beyond `options.share`
   * are not counted in the tally.
   */
  share: number;
  readonly #options: CanaryOptions;
  readonly #sample: CanarySchedule;
  readonly #times = new CanaryRoundTrips();
  /**
   * Number of due canary probes, with fractions. The next one is sent when this reaches 1 plus
   * `#delay`, a random number below 1.
   */
  #due = 0;
  #delay: number;
  #draws = 0;
  /** Number of due canary probes that the tally counts, with fractions. */
  #counted = 0;
  /** The server that is probed next. */
  #next: Canary | undefined;

  /** Creates canaries with an empty sample. */
  constructor(options: CanaryOptions) {
    this.#options = options;
    this.share = options.share;
    this.#sample = new CanarySchedule(options, options.seed);
    this.#delay = this.#draw();
  }

  /** Number of servers in the sample. */
  get size(): number {
    return this.#sample.size;
  }

  /** Time after which the outcome of a canary probe is reported to the rate search, milliseconds. */
  get earlyTimeoutMs(): number {
    return this.#times.earlyTimeoutMs;
  }

  /** Offers a server for the sample. The server has sent a valid reply to a kind of probe. */
  add(kind: ProbeKind, endpoint: Endpoint): void {
    if (kind.probe.macMask !== 0) this.#sample.add(kind, endpoint, this.#options.clock.now());
  }

  /** Counts probes of the sweep. Returns whether a canary probe is due after them. */
  probed(count: number): boolean {
    this.#due += count * this.share;
    this.#counted += count * this.#options.share;
    return this.#due >= 1 + this.#delay;
  }

  /** Number of probes of the sweep after which the next canary probe is due, at least 1. */
  get untilDue(): number {
    return Math.max(1, Math.ceil((1 + this.#delay - this.#due) / this.share));
  }

  /** A random number from 0 to 1. */
  #draw(): number {
    return (mix(this.#options.seed + ++this.#draws) >>> 0) / 2 ** 32;
  }

  /**
   * Chooses the next server to probe.
   *
   * @param target Receives the endpoint at index 0.
   * @returns Whether a server was chosen. The caller then calls `start()` or `dismiss()`.
   */
  choose(kind: ProbeKind, target: Endpoints): boolean {
    this.#due -= Math.floor(this.#due); // only one of several due probes is sent
    this.#delay = this.#draw();
    this.#next = this.#sample.next(kind, this.#options.clock.now());
    if (this.#next !== undefined) target.set(0, this.#next.endpoint);
    return this.#next !== undefined;
  }

  /** Whether the chosen server may still be probed. */
  get mayBeSent(): boolean {
    return !this.#next!.isRemoved && this.#options.mayProbe(this.#next!.endpoint) === "yes";
  }

  /** Returns the chosen server to the queue without a probe. */
  dismiss(): void {
    const { clock } = this.#options;
    if (this.#sample.may(this.#next!, clock.now()) !== "never") {
      this.#sample.wait(this.#next!, clock.now());
    }
    this.#next = undefined;
  }

  /**
   * Records that the canary probe to the chosen server is sent now.
   *
   * @returns The token of the probe.
   */
  start(): number {
    const canary = this.#next!;
    const sentAt = this.#options.clock.now();
    canary.round = (canary.round + 1) % ROUNDS;
    const isCounted = this.#counted >= 1;
    this.#counted -= Math.floor(this.#counted);
    const isAfterReply = canary.misses === 0;
    canary.last = {
      canary,
      sentAt,
      isCounted,
      isAfterReply,
      replied: false,
      missed: false,
    };
    this.#times.add(canary.last);
    this.#next = undefined;
    this.#options.onSent?.(canary.endpoint);
    return this.#token(canary);
  }

  #token({ kind, endpoint, round: last }: Canary, before = 0): number {
    const round = (last - before + ROUNDS) % ROUNDS;
    const number = CANARY | round << ROUND | kind.kind; // protocols have numbers below eight
    return (this.#options.tokens.of(number, endpoint) & kind.probe.macMask) >>> 0;
  }

  /** Whether a token is that of the last two canary probes to an endpoint. */
  isFrom(kind: ProbeKind, from: Endpoint, mac: number): boolean {
    const canary = this.#sample.at(from, kind);
    return canary !== undefined && (mac === this.#token(canary) || this.#isEarlier(canary, mac));
  }

  /** Whether a token is that of the last but one probe: TCP repeats replies for seconds. */
  #isEarlier(canary: Canary, mac: number): boolean {
    return canary.last !== undefined && mac === this.#token(canary, 1);
  }

  /**
   * Processes a reply whose token is not that of the sweep's probe.
   *
   * @returns The class of a reply to a canary probe; `undefined` for other replies.
   */
  reply(kind: ProbeKind, from: Endpoint, mac: number): "canary" | "duplicate" | undefined {
    const canary = this.#sample.at(from, kind);
    if (canary === undefined) return undefined;
    if (mac !== this.#token(canary)) return this.#isEarlier(canary, mac) ? "duplicate" : undefined;
    const { last } = canary;
    if (last === undefined || last.replied) return "duplicate";
    const { clock, tally } = this.#options;
    last.replied = true;
    if (last.missed) { // the reply is late, but the sweep would still have accepted it
      if (last.isCounted) canary.uncountedMisses--;
    } else {
      this.#times.addRoundTrip(clock.now() - last.sentAt);
      this.#sample.wait(canary, last.sentAt);
    }
    this.#countMisses(canary);
    if (last.isCounted) tally.count(false);
    canary.misses = 0;
    this.#options.onReply?.(from);
    return "canary";
  }

  #countMisses(canary: Canary): void {
    for (; canary.uncountedMisses > 0; canary.uncountedMisses--) this.#options.tally.count(true);
  }

  /** Decides the outcomes of canary probes whose timeout has passed. */
  settle(): void {
    const { onOutcome, clock, timeoutMs } = this.#options;
    const now = clock.now();
    for (const { canary, isAfterReply, replied, sentAt } of this.#times.early(now)) {
      if (isAfterReply && (replied || !canary.isRemoved)) onOutcome?.(!replied, sentAt);
    }
    for (const probe of this.#times.sentBefore(now - timeoutMs)) {
      if (!probe.replied && !probe.canary.isRemoved) this.#miss(probe);
    }
  }

  #miss(probe: CanaryProbe): void {
    const { canary, isCounted } = probe;
    probe.missed = true;
    canary.misses++;
    if (isCounted) canary.uncountedMisses++;
    if (canary.misses < MAX_MISSES) {
      this.#sample.repeat(canary);
      return;
    }
    this.#sample.drop(canary);
    this.#options.tally.counts.stopped++;
  }

  /** Forgets the misses and the probes in flight: the network of this machine did not work. */
  forget(): void {
    const now = this.#options.clock.now();
    this.#times.clear();
    for (const canary of this.#sample) {
      canary.misses = canary.uncountedMisses = 0;
      if (canary.last?.replied === false) canary.last = undefined;
    }
    this.#sample.restart(now);
  }

  /**
   * Counts the remaining outcomes at the end. Probes without a reply count as lost, although a late
   * reply is still possible.
   */
  end(): void {
    const { clock, tally } = this.#options;
    this.settle();
    const late = this.#times.sentBefore(clock.now() - this.#times.earlyTimeoutMs);
    for (const { canary, replied, isCounted } of late) {
      if (!replied && !canary.isRemoved && isCounted) tally.count(true);
    }
    for (const canary of this.#sample) this.#countMisses(canary);
  }
}
