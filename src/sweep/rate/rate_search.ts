/**
 * Finding the highest rate at which nothing is lost that is not lost at lower ones too.
 *
 * @module
 */
import { type Outcomes, RateLevel } from "./rate_level.ts";

/** Why a rate was chosen. */
export type RateReason =
  /** It is still being looked for. */
  | "searching"
  /** Above it canaries were lost. */
  | "loss"
  /** Above it the system had no room, for what was sent or what came back. */
  | "buffers"
  /** The machine, or caps for hosts and networks, let no more leave. */
  | "sender"
  /** No more is allowed. */
  | "limit"
  /** Too few servers answered to tell. */
  | "unknown";

/** What a search has come to. */
export interface RateReport {
  /** Datagrams a second. */
  readonly rate: number;
  /** Why it is that. */
  readonly reason: RateReason;
  /** At which rate too much was lost last; `undefined`: at none. */
  readonly lossAt?: number;
  /** Which share was lost there, and which is lost at lower rates. */
  readonly lossThere?: number;
  /** The same at rates that are low enough. */
  readonly usualLoss?: number;
}

/** Where to look. */
export interface RateSearchOptions {
  /** Where to begin, datagrams a second. */
  readonly start: number;
  /** The highest that is allowed. */
  readonly most: number;
}

/** Additive increase, as a share of the rate: doubled while it is above all that is known. */
const STEP = 0.03;
/** On the way to what is aimed at, at the most; and to what was too much, of what is missing. */
const APPROACH = 0.25;
const NEARER = 0.5;
/** What is aimed at, of the rate that came through where too much was lost. */
const MARGIN = 0.97;
/** What is kept at least where too much was lost, and when the system had no room. */
const LEAST_KEPT = 0.5;
const ROOM_KEPT = 0.85;
/** It is found when too much was lost at a rate that is no more than this times higher. */
const TIGHT = 1.15;
/** Outcomes that the first loss is taken from, and where that is much. */
const LEAST_FIRST = 40;
const SURE_FIRST = 100;
/** Outcomes after which it is believed that half of the rate loses no less. */
const ENOUGH = 400;
/** Outcomes, or milliseconds, that tell how much comes through a rate that was doubled. */
const LEAST_DOUBLED = 60;
const LONG_DOUBLED_MS = 3000;
/** What a level has to reach of its rate; else something else decides about the speed. */
const REACHED = 0.9;
/** Levels in a row that do not: a machine may be busy with something else for a while. */
const MOST_SHORT = 3;
/** How long a rate that was found is kept before it is tried whether there is more, milliseconds. */
const HOLD_MS = 8000;
const LONGEST_HOLD_MS = 128_000;
/** From which loss on it is looked whether already the first rate is too much. */
const SUSPICIOUS = 0.15;
/** As low as it goes, datagrams a second. */
const LOWEST = 10;

/**
 * - `first`: the loss of the first rate is the one that others are compared with.
 * - `down`: it is much: is it less at half of the rate?
 * - `double`: twice the rate after each level without loss, until the first with.
 * - `drain`: too much was lost; what is still under way tells how much came through.
 * - `check`: whether it is less at the lower rate: else it is not our doing.
 * - `climb`: additive increase.
 * - `hold`: it is found.
 */
type Phase = "first" | "down" | "double" | "drain" | "check" | "climb" | "hold";

/**
 * The search. Slow start, then additive increase and multiplicative decrease: by what did not come
 * through, where canaries tell it. What a path loses at any rate does not count: a level is compared
 * with those below it.
 */
export class RateSearch {
  readonly #most: number;
  #phase: Phase = "first";
  #level: RateLevel;
  /** The level that lost too much, whose last outcomes are awaited or which is compared. */
  #bad: RateLevel | undefined;
  /** Whether what was found has just lost too much, once. */
  #alarmed = false;
  /** In which phase that was. */
  #before: Phase = "first";
  /** Outcomes at rates that are low enough. */
  #usual = { asked: 0, lost: 0 };
  /** The last level that lost no more: it counts as usual when a higher one does not either. */
  #pending: RateLevel | undefined;
  /** The last rate that lost no more. */
  #good: number;
  /** What is aimed at: most of the rate that came through. */
  #goal = Infinity;
  /** The lowest rate that is known for too much. */
  #ceiling = Infinity;
  /** The last level that lost too much. */
  #last: RateLevel | undefined;
  /** Levels in a row in which less left than could have. */
  #short = 0;
  /** The next increase, as a share. */
  #step = STEP;
  #reason: RateReason = "unknown";
  /** What was found last, since when it is kept, and how long. */
  #held = { rate: 0, since: 0, ms: HOLD_MS };

  /** Begins. */
  constructor({ start, most }: RateSearchOptions, now: number) {
    this.#most = most;
    this.#good = Math.min(start, most);
    this.#level = new RateLevel(this.#good, now);
  }

  /** Datagrams a second, now. */
  get rate(): number {
    return this.#level.rate;
  }

  /** Whether outcomes are wanted soon: more canaries than usual are worth it. */
  get curious(): boolean {
    return this.#phase !== "hold";
  }

  /** What it came to. */
  get report(): RateReport {
    const { asked, lost } = this.#usual;
    const last = this.#last;
    return {
      rate: SETTLED.has(this.#reason) ? this.#held.rate : this.#good,
      reason: this.#reason,
      ...(last === undefined ? {} : { lossAt: last.rate, lossThere: last.share }),
      ...(asked === 0 ? {} : { usualLoss: lost / asked }),
    };
  }

  /** Takes what became of a canary. */
  outcome(lost: boolean, askedAt: number): void {
    if (this.#level.holds(askedAt)) this.#level.outcome(lost);
    else if (this.#bad?.holds(askedAt)) this.#bad.outcome(lost);
  }

  /**
   * Notes what happened since the last call.
   *
   * @param sent Datagrams that left.
   * @param full How often the system had no room for one.
   * @param patienceMs After how long the outcome of a canary is told.
   * @returns Whether the rate is another one now.
   */
  step(now: number, sent: number, full: number, patienceMs: number): boolean {
    const before = this.rate;
    this.#level.note(now, sent, full);
    if (this.#level.isCrowded(now) && this.#phase !== "drain") this.#crowded(now);
    else if (this.#phase === "drain") this.#drain(now, patienceMs);
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
    if (doubled && level.asked < LEAST_DOUBLED && now - level.since < LONG_DOUBLED_MS) return;
    if (this.#phase === "hold" && !this.#alarmed) { // held for long, it is wrong now and then
      this.#go("hold", this.rate, now);
      this.#alarmed = true;
    } else this.#lost(now);
  }

  /** The first rate: what it loses is usual, unless half of it loses less. */
  #first(now: number): void {
    if (!this.#level.hasSeen(LEAST_FIRST, now)) return;
    this.#reason = "searching";
    if (this.#level.share < SUSPICIOUS) {
      this.#pending = this.#level;
      return this.#clear(now, "double");
    }
    if (this.#level.asked < SURE_FIRST) return;
    this.#bad = this.#level;
    this.#go("down", this.rate / 2, now);
  }

  /** Half of a rate: is less lost? Then it is our doing; else the path loses so much at any rate. */
  #down(now: number): void {
    const before = this.#bad!;
    const level = this.#level;
    if (!level.hasSeen(LEAST_FIRST, now)) return;
    if (before.isWorseThan(level)) {
      this.#last = before;
      this.#ceiling = before.rate;
      this.#goal = MARGIN * before.rate * (1 - before.share) / (1 - level.share);
      this.#good = Math.min(this.#good, this.#goal);
      this.#pending = level;
      if (level.share < SUSPICIOUS || this.rate <= LOWEST) return this.#clear(now, "climb");
      this.#bad = level;
      this.#go("down", this.rate / 2, now);
    } else if (level.asked >= ENOUGH) {
      const { asked, lost } = before;
      this.#usual = { asked: asked + level.asked, lost: lost + level.lost };
      this.#last = this.#bad = undefined;
      this.#goal = this.#ceiling = Infinity;
      const doubling = this.#before === "first" || this.#before === "double";
      this.#go(doubling ? "double" : "climb", before.rate, now);
    }
  }

  /** Too much was lost: half of the rate at once, and then most of what came through. */
  #lost(now: number): void {
    const level = this.#level;
    if (this.#phase === "check" && !this.#bad!.isWorseThan(level)) {
      this.#bad = level; // as much as before: is it our doing?
      return this.#go("down", this.rate / 2, now);
    }
    this.#bad = level;
    this.#before = this.#phase;
    this.#go("drain", LEAST_KEPT * this.rate, now);
  }

  /** What was asked at the rate that lost too much is all judged: so much came through. */
  #drain(now: number, patienceMs: number): void {
    if (now - this.#level.since < patienceMs) return;
    const bad = this.#bad!;
    this.#step = STEP;
    this.#pending = undefined;
    const through = Math.min(1, (1 - bad.share) / (1 - this.#usualShare()));
    this.#last = bad;
    this.#ceiling = bad.rate;
    this.#goal = MARGIN * bad.rate * Math.max(LEAST_KEPT, through);
    this.#good = Math.min(this.#good, this.#goal);
    this.#reason = "searching";
    this.#go("check", this.#goal, now);
  }

  /** The system had no room. */
  #crowded(now: number): void {
    const rate = ROOM_KEPT * this.rate;
    this.#goal = this.#ceiling = this.rate;
    this.#hold(rate, now, "buffers");
  }

  /** Nothing was lost that is not lost at lower rates. */
  #clear(now: number, phase: Phase = this.#phase): void {
    const { rate } = this;
    this.#learn(phase === "hold" ? this.#level : this.#pending);
    this.#pending = this.#level;
    this.#good = rate;
    this.#bad = undefined;
    const { peak } = this.#level;
    if (phase === "hold") {
      if (now - this.#held.since < this.#held.ms) return this.#go("hold", rate, now);
      this.#goal = this.#ceiling = Infinity; // perhaps there is more by now
      this.#step = STEP;
    }
    if (peak >= REACHED * rate) this.#short = 0;
    else if (++this.#short >= MOST_SHORT) return this.#hold(rate, now, "sender", peak);
    else return this.#go(phase === "double" ? "double" : "climb", rate, now);
    if (rate >= this.#most) return this.#hold(rate, now, "limit");
    if (phase === "double") return this.#go("double", 2 * rate, now);
    if (this.#ceiling <= TIGHT * rate) return this.#hold(rate, now, "loss");
    this.#go("climb", rate + this.#increase(rate), now);
  }

  #increase(rate: number): number {
    if (rate > TIGHT * this.#held.rate) this.#reason = "searching";
    const least = STEP * rate;
    if (rate < this.#goal && this.#goal < Infinity) {
      return Math.max(least, Math.min(this.#goal - rate, APPROACH * rate));
    }
    const step = this.#step * rate;
    this.#step = Math.min(1, 2 * this.#step);
    return Math.max(least, Math.min(step, NEARER * (this.#ceiling - rate)));
  }

  #hold(rate: number, now: number, reason: RateReason, found = rate): void {
    const again = reason !== "sender" && Math.abs(found / this.#held.rate - 1) < TIGHT - 1;
    this.#short = 0;
    const ms = again ? Math.min(LONGEST_HOLD_MS, 2 * this.#held.ms) : HOLD_MS;
    this.#held = { rate: found, since: now, ms };
    this.#reason = reason;
    this.#go("hold", rate, now);
  }

  #go(phase: Phase, rate: number, now: number): void {
    this.#phase = phase;
    this.#alarmed = false;
    this.#level.until = now;
    this.#level = new RateLevel(Math.min(this.#most, Math.max(LOWEST, rate)), now);
  }

  #learn({ asked, lost }: Outcomes = NONE): void {
    const usual = this.#usual;
    const weight = usual.asked > MOST_REMEMBERED ? 0.5 : 1; // a path may change its habits
    this.#usual = { asked: weight * usual.asked + asked, lost: weight * usual.lost + lost };
  }

  #usualShare(): number {
    const { asked, lost } = this.#usual;
    return asked === 0 ? 0 : lost / asked;
  }
}

/** Reasons for which a rate is kept. */
const SETTLED: ReadonlySet<RateReason> = new Set(["loss", "buffers", "sender", "limit"]);
/** Outcomes that usual loss is taken from. */
const MOST_REMEMBERED = 4000;
const NONE = { asked: 0, lost: 0 };
