/**
 * Canaries: servers that have answered are asked again now and then, the same harmless question;
 * what they do not answer was lost on the way, there or back.
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
import type { ProbeKind } from "../receiver.ts";
import type { Tokens } from "../token.ts";

/** Misses in a row after which a server counts as stopped. */
const DEAD = 8;
/** Tokens of canaries differ from the sweep's, and from those of the same server's last ones. */
const CANARY = 0x80;
const ROUNDS = 16;
const ROUND = 3;

/** What asking again needs. */
export interface CanaryOptions extends CanaryLimits {
  /** The scan's tokens. */
  readonly tokens: Tokens;
  /** The clock. */
  readonly clock: Clock;
  /** How many questions there are to a probe, 0 to 1. */
  readonly share: number;
  /** After how long no answer comes any more, milliseconds. */
  readonly lateMs: number;
  /** 32 bits that nobody can guess. */
  readonly seed: number;
  /** Gets the outcomes for the loss of the scan. */
  readonly tally: LossTally;
  /** Told of each outcome, in the order of asking: whether it was lost, and when it was asked. */
  readonly onOutcome?: (lost: boolean, askedAt: number) => void;
}

/**
 * Asks again. The questions leave among the probes, in the same batches: what happens to probes
 * happens to them. Each of a hundred probes is as likely to be followed by one as the others: where
 * bursts are cut off on the way, it matters which place in them one has.
 *
 * What a server does not answer may have been lost, or the server has stopped. So misses wait until
 * it answers again, and are booked with that answer; after eight in a row it is left out, and those
 * are not booked. Who is alive and misses eight is rare: that understates a loss of 30 % by 0.03
 * points, one of 50 % by 0.8. Who has missed is asked first, so that few wait at the end; these are
 * booked as lost.
 */
export class Canaries {
  /** Questions to a probe, at the moment; those above the usual share do not count for the scan. */
  share: number;
  readonly #options: CanaryOptions;
  readonly #sample: CanarySchedule;
  readonly #times = new CanaryRoundTrips();
  /** How many were due; of each further one, by how much later it is asked; their number. */
  #due = 0;
  #delay: number;
  #turns = 0;
  /** Of those that count, how many are due. */
  #counted = 0;
  /** Who is asked next. */
  #next: Canary | undefined;

  /** Starts with an empty sample. */
  constructor(options: CanaryOptions) {
    this.#options = options;
    this.share = options.share;
    this.#sample = new CanarySchedule(options, options.seed);
    this.#delay = this.#draw();
  }

  /** How many servers are in the sample. */
  get size(): number {
    return this.#sample.size;
  }

  /** After how long the outcome of a question is told, milliseconds. */
  get patienceMs(): number {
    return this.#times.patienceMs;
  }

  /** Takes a server that has answered the kind of probe, with its token. */
  add(kind: ProbeKind, endpoint: Endpoint): void {
    if (kind.probe.macMask !== 0) this.#sample.add(kind, endpoint, this.#options.clock.now());
  }

  /** Notes that a probe is about to leave; whether a question is due behind it. */
  probe(): boolean {
    this.#due += this.share;
    this.#counted += this.#options.share;
    return this.#due >= 1 + this.#delay;
  }

  /** Anything from 0 to 1. */
  #draw(): number {
    return (mix(this.#options.seed + ++this.#turns) >>> 0) / 2 ** 32;
  }

  /**
   * Chooses whom to ask.
   *
   * @param row Gets the endpoint, as its first.
   * @returns Whether there is somebody; `ask()` follows, or `dismiss()`.
   */
  choose(kind: ProbeKind, row: Endpoints): boolean {
    this.#due -= Math.floor(this.#due); // what could not be asked is not made up for
    this.#delay = this.#draw();
    this.#next = this.#sample.next(kind, this.#options.clock.now());
    if (this.#next !== undefined) row.set(0, this.#next.endpoint);
    return this.#next !== undefined;
  }

  /** Whether who was chosen still may be asked. */
  get welcome(): boolean {
    return !this.#next!.gone && this.#options.mayAsk(this.#next!.endpoint) === "yes";
  }

  /** Does not ask who was chosen. */
  dismiss(): void {
    const { clock } = this.#options;
    if (this.#sample.may(this.#next!, clock.now()) !== "never") {
      this.#sample.wait(this.#next!, clock.now());
    }
    this.#next = undefined;
  }

  /**
   * Asks who was chosen: the question leaves now.
   *
   * @returns The token that it carries.
   */
  ask(): number {
    const canary = this.#next!;
    const askedAt = this.#options.clock.now();
    canary.round = (canary.round + 1) % ROUNDS;
    const counts = this.#counted >= 1;
    this.#counted -= Math.floor(this.#counted);
    const sound = canary.misses === 0;
    canary.last = { canary, askedAt, counts, sound, answered: false, missed: false };
    this.#times.asked(canary.last);
    this.#next = undefined;
    return this.#token(canary);
  }

  #token(canary: Canary): number {
    const { kind, endpoint, round } = canary;
    const number = CANARY | round << ROUND | kind.kind; // protocols have numbers below eight
    return (this.#options.tokens.of(number, endpoint) & kind.probe.macMask) >>> 0;
  }

  /**
   * Takes an answer that is not to the sweep's own probe.
   *
   * @returns Whether it is one to a canary, the first or a copy; `undefined`: it is none.
   */
  answered(kind: ProbeKind, from: Endpoint, mac: number): "canary" | "duplicate" | undefined {
    const canary = this.#sample.at(from, kind);
    if (canary === undefined || mac !== this.#token(canary)) return undefined;
    const { last } = canary;
    if (last === undefined || last.answered) return "duplicate";
    const { clock, tally } = this.#options;
    last.answered = true;
    if (last.missed) { // late, but a sweep would have found it
      if (last.counts) canary.unbooked--;
    } else {
      this.#times.answered(clock.now() - last.askedAt);
      this.#sample.wait(canary, last.askedAt);
    }
    this.#bookMisses(canary);
    if (last.counts) tally.book(false);
    canary.misses = 0;
    return "canary";
  }

  #bookMisses(canary: Canary): void {
    for (; canary.unbooked > 0; canary.unbooked--) this.#options.tally.book(true);
  }

  /** Looks whose time is up. */
  settle(): void {
    const { onOutcome, clock, lateMs } = this.#options;
    const now = clock.now();
    for (const { canary, sound, answered, askedAt } of this.#times.judged(now)) {
      if (sound && (answered || !canary.gone)) onOutcome?.(!answered, askedAt);
    }
    for (const question of this.#times.over(now - lateMs)) {
      if (!question.answered && !question.canary.gone) this.#miss(question);
    }
  }

  #miss(question: CanaryProbe): void {
    const { canary, counts } = question;
    question.missed = true;
    canary.misses++;
    if (counts) canary.unbooked++;
    if (canary.misses < DEAD) {
      this.#sample.hurry(canary);
      return;
    }
    this.#sample.drop(canary);
    this.#options.tally.counts.stopped++;
  }

  /**
   * Books what is known, when nobody is asked any more: who should have answered by now has not,
   * though an answer might still come.
   */
  end(): void {
    const { clock, tally } = this.#options;
    this.settle();
    const late = this.#times.over(clock.now() - this.#times.patienceMs);
    for (const { canary, answered, counts } of late) {
      if (!answered && !canary.gone && counts) tally.book(true);
    }
    for (const canary of this.#sample) this.#bookMisses(canary);
  }
}
