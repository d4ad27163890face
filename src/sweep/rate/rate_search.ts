/**
 * Searches for the highest rate without more loss than at lower rates.
 *
 * @module
 */
import { type Outcomes, RateLevel } from "./rate_level.ts";

export type RateReason =
  /** The search is not finished. */
  | "searching"
  /** Higher rates had more loss of canary probes. */
  | "loss"
  /** Higher rates lacked buffer space in the system, for sent or received datagrams. */
  | "buffers"
  /** The machine, its link, or the caps of hosts and networks allow no higher rate. */
  | "sender"
  /** The highest allowed rate was reached. */
  | "limit"
  /** Too few servers replied for a measurement. */
  | "unknown";

/** The result of a search. */
export interface RateReport {
  /** The rate, datagrams per second. */
  readonly rate: number;
  readonly reason: RateReason;
  /** The last rate with too much loss, datagrams per second; `undefined`: none. */
  readonly lossAt?: number;
  /** Loss at the rate `lossAt`, 0 to 1. */
  readonly lossThere?: number;
  /** Loss at lower rates, 0 to 1. */
  readonly usualLoss?: number;
}

/** Options of {@linkcode RateSearch}. */
export interface RateSearchOptions {
  /** The first rate, datagrams per second. */
  readonly start: number;
  /** The highest allowed rate, datagrams per second. */
  readonly most: number;
}

/**
 * Additive increase, as a fraction of the rate. Above the goal, each increase is twice the previous
 * one.
 */
const STEP = 0.03;
/**
 * Maximum increase towards the goal, as a fraction of the rate, or of the distance to the lowest rate
 * with too much loss.
 */
const APPROACH = 0.25;
const NEARER = 0.5;
/** The goal, as a fraction of the rate that the network delivered when the loss was too high. */
const MARGIN = 0.97;
/** Minimum fraction of the rate that is kept after loss. */
const MIN_KEPT = 0.5;
/** Fraction of the rate that is kept after a lack of buffer space. */
const KEPT_WITHOUT_BUFFERS = 0.85;
/** The rate is found when the rate with too much loss is at most this factor higher. */
const TIGHT = 1.15;
/** Minimum number of outcomes for an estimate of the loss at the first rate. */
const MIN_FIRST = 40;
/** Minimum number of outcomes for the conclusion that the loss at the first rate is high. */
const SURE_FIRST = 100;
/** Number of outcomes after which the search concludes that half the rate has no less loss. */
const ENOUGH = 400;
/** Minimum number of outcomes for the measurement of a doubled rate. */
const MIN_DOUBLED = 60;
/** Time after which fewer outcomes suffice for the measurement of a doubled rate, milliseconds. */
const LONG_DOUBLED_MS = 3000;
/**
 * Minimum measured speed of a level, as a fraction of its rate. If the speed is lower, the sender
 * is the limit.
 */
const REACHED = 0.9;
/**
 * Number of levels in a row with a lower speed, after which the sender counts as the limit. A
 * machine may be busy for a short time.
 */
const MAX_SHORT = 3;
/**
 * How long a found rate is kept before a higher rate is tried, milliseconds: at first, and at most.
 */
const SETTLED_MS = 8000;
const LONGEST_SETTLED_MS = 128_000;
/** Minimum loss at the first rate for which half the rate is tried as well, 0 to 1. */
const SUSPICIOUS = 0.15;
/** Lowest rate, datagrams per second. */
const LOWEST = 10;

/**
 * - `first`: measures the loss at the first rate. The loss at other rates is compared with it.
 * - `down`: after a high loss, measures half the rate.
 * - `double`: doubles the rate after each clear level, until the first loss.
 * - `drain`: after too much loss, waits for the outcomes in flight. They show which rate the network
 *   delivered.
 * - `check`: measures whether the lower rate has less loss. If not, the rate is not the cause of the
 *   loss.
 * - `climb`: additive increase of the rate.
 * - `settled`: the rate is found.
 */
type Phase = "first" | "down" | "double" | "drain" | "check" | "climb" | "settled";

/**
 * The rate search: slow start, then additive increase and multiplicative decrease. The search
 * reacts to the loss of canary probes. Loss that a path has at any rate does not count, because
 * each level is compared with levels of lower rates.
 */
export class RateSearch {
  readonly #most: number;
  #phase: Phase = "first";
  #level: RateLevel;
  /**
   * The level with too much loss whose last outcomes are awaited, or with which lower levels are
   * compared.
   */
  #bad: RateLevel | undefined;
  /**
   * Whether the last level at the found rate had too much loss. A second such level in a row lowers
   * the rate.
   */
  #hadExcess = false;
  /** The phase before the loss. */
  #before: Phase = "first";
  /** Outcomes at rates without additional loss. */
  #usual = { probes: 0, lost: 0 };
  /** The last clear level. Its loss counts as usual when a higher level is clear too. */
  #pending: RateLevel | undefined;
  /** The last clear rate, datagrams per second. */
  #good: number;
  /** The goal: 97 % of the rate that the network delivered, datagrams per second. */
  #goal = Infinity;
  /** The lowest rate with too much loss, datagrams per second. */
  #ceiling = Infinity;
  /** The last level with too much loss. */
  #last: RateLevel | undefined;
  /** Number of levels in a row in which the sender did not reach the rate. */
  #short = 0;
  /** The next increase, as a fraction of the rate. */
  #step = STEP;
  #reason: RateReason = "unknown";
  /** The last found rate, since when it is kept, and for how long, milliseconds. */
  #settled = { rate: 0, since: 0, ms: SETTLED_MS };

  /** Starts a search at a rate and a time. */
  constructor({ start, most }: RateSearchOptions, now: number) {
    this.#most = most;
    this.#good = Math.min(start, most);
    this.#level = new RateLevel(this.#good, now);
  }

  /** The current rate, datagrams per second. */
  get rate(): number {
    return this.#level.rate;
  }

  /** Whether the search needs more canary probes than usual. */
  get needsCanaries(): boolean {
    return this.#phase !== "settled";
  }

  /** The rate found so far, and why no higher one was chosen. */
  get report(): RateReport {
    const { probes, lost } = this.#usual;
    const last = this.#last;
    return {
      rate: SETTLED.has(this.#reason) ? this.#settled.rate : this.#good,
      reason: this.#reason,
      ...(last === undefined ? {} : { lossAt: last.rate, lossThere: last.share }),
      ...(probes === 0 ? {} : { usualLoss: lost / probes }),
    };
  }

  /** Counts the outcome of a canary probe. */
  outcome(lost: boolean, sentAt: number): void {
    if (this.#level.covers(sentAt)) this.#level.outcome(lost);
    else if (this.#bad?.covers(sentAt)) this.#bad.outcome(lost);
  }

  /**
   * Updates the search with the events since the last call.
   *
   * @param sent Number of sent datagrams.
   * @param full Number of datagrams without buffer space in the system.
   * @param earlyTimeoutMs Time after which the outcome of a canary probe is reported, milliseconds.
   * @returns Whether the rate has changed.
   */
  step(now: number, sent: number, full: number, earlyTimeoutMs: number): boolean {
    const before = this.rate;
    this.#level.note(now, sent, full);
    if (this.#level.lacksBuffers(now) && this.#phase !== "drain") this.#reduceForBuffers(now);
    else if (this.#phase === "drain") this.#drain(now, earlyTimeoutMs);
    else if (this.#phase === "first") this.#first(now);
    else if (this.#phase === "down") this.#down(now);
    else this.#judge(now);
    return this.rate !== before;
  }

  #judge(now: number): void {
    const level = this.#level;
    const doubled = this.#phase === "double";
    const verdict = level.verdict(now, this.#usual, doubled);
    if (verdict === "clear") this.#clear(now);
    if (verdict !== "lost") return;
    if (doubled && level.probes < MIN_DOUBLED && now - level.since < LONG_DOUBLED_MS) return;
    // over a long time, some verdicts are false alarms
    if (this.#phase === "settled" && !this.#hadExcess) {
      this.#enter("settled", this.rate, now);
      this.#hadExcess = true;
    } else this.#lost(now);
  }

  /** Judges the first rate. Its loss counts as usual, unless half the rate has less loss. */
  #first(now: number): void {
    if (!this.#level.hasOutcomes(MIN_FIRST, now)) return;
    this.#reason = "searching";
    if (this.#level.share < SUSPICIOUS) {
      this.#pending = this.#level;
      return this.#clear(now, "double");
    }
    if (this.#level.probes < SURE_FIRST) return;
    this.#bad = this.#level;
    this.#enter("down", this.rate / 2, now);
  }

  /**
   * Judges the loss at half a rate. If its loss is lower, the higher rate was the cause. If not, the path has
   * this loss at any rate.
   */
  #down(now: number): void {
    const before = this.#bad!;
    const level = this.#level;
    if (!level.hasOutcomes(MIN_FIRST, now)) return;
    if (before.isWorseThan(level)) {
      this.#last = before;
      this.#ceiling = before.rate;
      this.#goal = MARGIN * before.rate * (1 - before.share) / (1 - level.share);
      this.#good = Math.min(this.#good, this.#goal);
      this.#pending = level;
      if (level.share < SUSPICIOUS || this.rate <= LOWEST) return this.#clear(now, "climb");
      this.#bad = level;
      this.#enter("down", this.rate / 2, now);
    } else if (level.probes >= ENOUGH) {
      const { probes, lost } = before;
      this.#usual = { probes: probes + level.probes, lost: lost + level.lost };
      this.#last = this.#bad = undefined;
      this.#goal = this.#ceiling = Infinity;
      const doubling = this.#before === "first" || this.#before === "double";
      this.#enter(doubling ? "double" : "climb", before.rate, now);
    }
  }

  /** Reacts to too much loss. The rate is halved at once. Later it rises to the goal. */
  #lost(now: number): void {
    const level = this.#level;
    if (this.#phase === "check" && !this.#bad!.isWorseThan(level)) {
      this.#bad = level; // half the rate shows whether the rate is the cause
      return this.#enter("down", this.rate / 2, now);
    }
    this.#bad = level;
    this.#before = this.#phase;
    this.#enter("drain", MIN_KEPT * this.rate, now);
  }

  /** Sets the goal when all outcomes of the level with too much loss are known. */
  #drain(now: number, earlyTimeoutMs: number): void {
    if (now - this.#level.since < earlyTimeoutMs) return;
    const bad = this.#bad!;
    this.#step = STEP;
    this.#pending = undefined;
    const passed = Math.min(1, (1 - bad.share) / (1 - this.#usualShare()));
    this.#last = bad;
    this.#ceiling = bad.rate;
    this.#goal = MARGIN * bad.rate * Math.max(MIN_KEPT, passed);
    this.#good = Math.min(this.#good, this.#goal);
    this.#reason = "searching";
    this.#enter("check", this.#goal, now);
  }

  /** Reacts to a lack of buffer space in the system. */
  #reduceForBuffers(now: number): void {
    const rate = KEPT_WITHOUT_BUFFERS * this.rate;
    this.#goal = this.#ceiling = this.rate;
    this.#settle(rate, now, "buffers");
  }

  /** Reacts to a level without additional loss. */
  #clear(now: number, phase: Phase = this.#phase): void {
    const { rate } = this;
    this.#remember(phase === "settled" ? this.#level : this.#pending);
    this.#pending = this.#level;
    this.#good = rate;
    this.#bad = undefined;
    const { peak } = this.#level;
    if (phase === "settled") {
      if (now - this.#settled.since < this.#settled.ms) return this.#enter("settled", rate, now);
      this.#goal = this.#ceiling = Infinity; // a higher rate may be possible after this time
      this.#step = STEP;
    }
    if (peak >= REACHED * rate) this.#short = 0;
    else if (++this.#short >= MAX_SHORT) return this.#settle(rate, now, "sender", peak);
    else return this.#enter(phase === "double" ? "double" : "climb", rate, now);
    if (rate >= this.#most) return this.#settle(rate, now, "limit");
    if (phase === "double") return this.#enter("double", 2 * rate, now);
    if (this.#ceiling <= TIGHT * rate) return this.#settle(rate, now, "loss");
    this.#enter("climb", rate + this.#increase(rate), now);
  }

  #increase(rate: number): number {
    if (rate > TIGHT * this.#settled.rate) this.#reason = "searching";
    const least = STEP * rate;
    if (rate < this.#goal && this.#goal < Infinity) {
      return Math.max(least, Math.min(this.#goal - rate, APPROACH * rate));
    }
    const step = this.#step * rate;
    this.#step = Math.min(1, 2 * this.#step);
    return Math.max(least, Math.min(step, NEARER * (this.#ceiling - rate)));
  }

  #settle(rate: number, now: number, reason: RateReason, found = rate): void {
    const again = reason !== "sender" && Math.abs(found / this.#settled.rate - 1) < TIGHT - 1;
    this.#short = 0;
    const ms = again ? Math.min(LONGEST_SETTLED_MS, 2 * this.#settled.ms) : SETTLED_MS;
    this.#settled = { rate: found, since: now, ms };
    this.#reason = reason;
    this.#enter("settled", rate, now);
  }

  #enter(phase: Phase, rate: number, now: number): void {
    this.#phase = phase;
    this.#hadExcess = false;
    this.#level.until = now;
    this.#level = new RateLevel(Math.min(this.#most, Math.max(LOWEST, rate)), now);
  }

  #remember({ probes, lost }: Outcomes = NONE): void {
    const usual = this.#usual;
    // old outcomes lose weight, because the loss of a path may change
    const weight = usual.probes > MAX_REMEMBERED ? 0.5 : 1;
    this.#usual = { probes: weight * usual.probes + probes, lost: weight * usual.lost + lost };
  }

  #usualShare(): number {
    const { probes, lost } = this.#usual;
    return probes === 0 ? 0 : lost / probes;
  }
}

/** Reasons that end the search at a rate. */
const SETTLED: ReadonlySet<RateReason> = new Set(["loss", "buffers", "sender", "limit"]);
/** Maximum weight of the usual outcomes, as a number of canary probes. */
const MAX_REMEMBERED = 4000;
const NONE = { probes: 0, lost: 0 };
