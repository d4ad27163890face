/**
 * One rate that the search tries, and the outcomes of canary probes at that rate.
 *
 * @module
 */
/** The verdict on a rate. `clear`: no more loss than at lower rates; `lost`: more loss. */
export type RateVerdict = "clear" | "lost";

/** Numbers of canary probes, and of those without a reply. */
export interface Outcomes {
  readonly probes: number;
  readonly lost: number;
}

/**
 * Minimum duration of a level, milliseconds. Within it, buffers and token buckets of the network
 * fill up.
 */
const MIN_MS = 1000;
/** Minimum number of outcomes for a verdict. */
const LEAST = 12;
/** Number of outcomes at which a verdict is forced. */
const MOST = 400;
/**
 * The additional loss that the test detects: normally, and while the search doubles the rate.
 * During doubling, a smaller loss can be missed at one level only: at the next level, about half of
 * the datagrams are lost.
 */
const EXCESS = 0.05;
const DOUBLED_EXCESS = 0.15;
/**
 * Likelihood ratios of the test, which bound the probability of errors. A false `lost` costs
 * time; a false `clear` is detected at the next level.
 */
const LOSS_THRESHOLD = Math.log(1000);
const NO_LOSS_THRESHOLD = Math.log(30);
/** Prior estimate of the usual loss: a low loss, with the weight of 20 canary probes. */
const PRIOR = { probes: 20, lost: 0.4 };
/** Candidates for the usual loss, from 1 in 10,000 on. */
const USUAL = Array.from({ length: 60 }, (_, i) => 1e-4 * 1.17 ** i).filter((share) => share < 1);
/**
 * The rate is too high for the system if it lacks buffer space for more than this fraction of
 * datagrams.
 */
const MAX_UNBUFFERED = 0.002;
/**
 * Period over which the speed is averaged, milliseconds. Caps allow bursts, so the speed varies
 * within shorter periods.
 */
const SPEED_MS = 1000;
/** Minimum difference of two losses at which they count as different, in standard deviations. */
const DIFFERENT = 2.5;

/** A rate, with the outcomes of canary probes sent at that rate. */
export class RateLevel {
  probes = 0;
  lost = 0;
  /** Highest measured speed, averaged over a second, datagrams per second. */
  peak = 0;
  /** When another rate replaced this one, milliseconds of the clock. */
  until = Infinity;
  #sent = 0;
  /** Number of sent datagrams. */
  #all = 0;
  /** Number of datagrams for which the system had no buffer space. */
  #full = 0;
  #begun: number;

  /** Starts a level at a time. */
  constructor(readonly rate: number, readonly since: number) {
    this.#begun = since;
  }

  /** The lost proportion, 0 to 1. */
  get share(): number {
    return this.probes === 0 ? 0 : this.lost / this.probes;
  }

  /** Counts the outcome of a canary probe. */
  outcome(lost: boolean): void {
    this.probes++;
    if (lost) this.lost++;
  }

  /** Whether a canary probe was sent at this rate. */
  covers(sentAt: number): boolean {
    return sentAt >= this.since && sentAt < this.until;
  }

  /** Counts sent datagrams, and those without buffer space in the system. */
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

  /** Whether the system lacks buffer space at this rate, and not only for a burst. */
  lacksBuffers(now: number): boolean {
    return now - this.since >= MIN_MS && this.#full > MAX_UNBUFFERED * this.#all;
  }

  /** Whether the level lasted its minimum duration and has a number of outcomes. */
  hasOutcomes(outcomes: number, now: number): boolean {
    return now - this.since >= MIN_MS && this.probes >= outcomes;
  }

  /**
   * The verdict, as soon as it is certain enough: Wald's sequential test of the usual loss against
   * a higher one. The usual loss is itself an estimate. Both likelihoods are therefore averaged
   * over the possible values of the usual loss.
   */
  verdict(now: number, usual: Outcomes, doubled: boolean): RateVerdict | undefined {
    if (!this.hasOutcomes(LEAST, now)) return undefined;
    const evidence = this.#evidence(usual, doubled ? DOUBLED_EXCESS : EXCESS);
    if (evidence <= -NO_LOSS_THRESHOLD) return "clear";
    const least = this.probes < MOST ? LOSS_THRESHOLD : 0;
    if (evidence >= least && this.isWorseThan(usual)) return "lost";
    return this.probes < MOST ? undefined : "clear";
  }

  /** The logarithm of the likelihood ratio: higher loss against usual loss. */
  #evidence(usual: Outcomes, excess: number): number {
    const { probes, lost } = this;
    const logs = (share: number, of: Outcomes) =>
      of.lost * Math.log(share) + (of.probes - of.lost) * Math.log1p(-share);
    const before = { probes: usual.probes + PRIOR.probes, lost: usual.lost + PRIOR.lost };
    // The candidates are evenly spaced on a logarithmic scale.
    const weights = USUAL.map((share) => logs(share, before));
    const sum = (of: (share: number) => number) => {
      const terms = USUAL.map((share, i) => weights[i] + logs(of(share), { probes, lost }));
      const most = Math.max(...terms);
      return most + Math.log(terms.reduce((all, term) => all + Math.exp(term - most), 0));
    };
    return sum((share) => share + (1 - share) * excess) - sum((share) => share);
  }

  /** Whether the loss is significantly higher than that of other outcomes. */
  isWorseThan({ probes, lost }: Outcomes): boolean {
    const both = (lost + this.lost) / (probes + this.probes);
    const deviation = Math.sqrt(both * (1 - both) * (1 / probes + 1 / this.probes));
    return this.share - lost / probes > DIFFERENT * deviation;
  }
}
