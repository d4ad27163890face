/**
 * One rate that is tried, and what canaries tell of it.
 *
 * @module
 */
/** What a level shows: no more is lost than usual, or more. */
export type RateVerdict = "clear" | "lost";

/** How many were asked, and how many of those did not answer. */
export interface Outcomes {
  readonly asked: number;
  readonly lost: number;
}

/** How long a level lasts at least: buffers on the way, and buckets, fill up first. */
const LEAST_MS = 1000;
/** Canaries whose outcome it takes at least, and with how many it is decided anyhow. */
const LEAST = 12;
const MOST = 400;
/**
 * What is looked for: so much lost beyond the usual. On the way up by doubling it may be less than a
 * twentieth at the most once, and then it is half.
 */
const EXCESS = 0.05;
const DOUBLED_EXCESS = 0.15;
/**
 * How much likelier one has to be than the other: in so few levels the test is wrong. More loss that
 * is none costs time; no loss that is more is seen in the next level.
 */
const SURE_OF_LOSS = Math.log(1000);
const SURE_OF_NONE = Math.log(30);
/** What is usual, before anything is known: little, as if so many had been asked. */
const PRIOR = { asked: 20, lost: 0.4 };
/** Losses that may be the usual one, from one in ten thousand on. */
const USUAL = Array.from({ length: 60 }, (_, i) => 1e-4 * 1.17 ** i).filter((share) => share < 1);
/** The share of datagrams without room from which on there is no room for the rate. */
const CROWDED = 0.002;
/** How long the speed is averaged over, milliseconds: caps let what they have leave at once. */
const SPEED_MS = 1000;
/** Standard deviations that two losses have to differ by, to be two. */
const DIFFERENT = 2.5;

/** A rate and its outcomes. */
export class RateLevel {
  asked = 0;
  lost = 0;
  /** The highest speed over a second, datagrams a second. */
  peak = 0;
  /** When another rate took its place. */
  until = Infinity;
  #sent = 0;
  /** Datagrams that left, and how often there was no room for one. */
  #all = 0;
  #full = 0;
  #begun: number;

  /** Begins. */
  constructor(readonly rate: number, readonly since: number) {
    this.#begun = since;
  }

  /** The share that was lost. */
  get share(): number {
    return this.asked === 0 ? 0 : this.lost / this.asked;
  }

  /** Takes what became of a canary. */
  outcome(lost: boolean): void {
    this.asked++;
    if (lost) this.lost++;
  }

  /** Whether a canary was asked at this rate. */
  holds(askedAt: number): boolean {
    return askedAt >= this.since && askedAt < this.until;
  }

  /** Notes datagrams that left, and how often the system had no room. */
  note(now: number, sent: number, full: number): void {
    this.#sent += sent;
    this.#all += sent;
    this.#full += full;
    const ms = now - this.#begun;
    if (ms < SPEED_MS) return;
    this.peak = Math.max(this.peak, 1000 * this.#sent / ms);
    this.#sent = 0;
    this.#begun = now;
  }

  /** Whether the system has no room for this rate, in more than a burst. */
  isCrowded(now: number): boolean {
    return now - this.since >= LEAST_MS && this.#full > CROWDED * this.#all;
  }

  /** Whether it lasted long enough, and so many outcomes are known. */
  hasSeen(outcomes: number, now: number): boolean {
    return now - this.since >= LEAST_MS && this.asked >= outcomes;
  }

  /**
   * What it shows, as soon as that is sure enough: the sequential test of Wald, the usual loss
   * against more. How much is usual is not known for sure, so that both are averaged over what it
   * may be.
   */
  verdict(now: number, usual: Outcomes, doubled: boolean): RateVerdict | undefined {
    if (!this.hasSeen(LEAST, now)) return undefined;
    const evidence = this.#evidence(usual, doubled ? DOUBLED_EXCESS : EXCESS);
    if (evidence <= -SURE_OF_NONE) return "clear";
    const least = this.asked < MOST ? SURE_OF_LOSS : 0;
    if (evidence >= least && this.isWorseThan(usual)) return "lost";
    return this.asked < MOST ? undefined : "clear";
  }

  /** The logarithm of how much likelier more loss makes what came than the usual one does. */
  #evidence(usual: Outcomes, excess: number): number {
    const { asked, lost } = this;
    const logs = (share: number, of: Outcomes) =>
      of.lost * Math.log(share) + (of.asked - of.lost) * Math.log1p(-share);
    const before = { asked: usual.asked + PRIOR.asked, lost: usual.lost + PRIOR.lost };
    // Each share stands for an equal part of the logarithms.
    const weights = USUAL.map((share) => logs(share, before));
    const sum = (of: (share: number) => number) => {
      const terms = USUAL.map((share, i) => weights[i] + logs(of(share), { asked, lost }));
      const most = Math.max(...terms);
      return most + Math.log(terms.reduce((all, term) => all + Math.exp(term - most), 0));
    };
    return sum((share) => share + (1 - share) * excess) - sum((share) => share);
  }

  /** Whether it lost clearly more than others. */
  isWorseThan({ asked, lost }: Outcomes): boolean {
    const both = (lost + this.lost) / (asked + this.asked);
    const deviation = Math.sqrt(both * (1 - both) * (1 / asked + 1 / this.asked));
    return this.share - lost / asked > DIFFERENT * deviation;
  }
}
