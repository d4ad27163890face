/**
 * The Clopper–Pearson confidence interval of a proportion.
 *
 * @module
 */

/** An interval of proportions, 0 to 1. */
export interface Interval {
  /** Lower end of the interval, 0 to 1. */
  readonly low: number;
  /** Upper end of the interval, 0 to 1. */
  readonly high: number;
}

/** Number of steps of a bisection: enough for the precision of doubles. */
const STEPS = 60;

/**
 * The confidence interval of Clopper and Pearson (1934). It is exact: it contains the true proportion
 * with at least the given confidence, for all proportions and numbers. Wilson's interval is shorter,
 * but contains some small proportions in only 84 of 100 cases.
 *
 * The ends are quantiles of beta distributions, so the numbers may have fractions, for example if the
 * effective size of a sample is reduced.
 *
 * @param hits Number of events, 0 to `all`.
 * @param all Size of the sample, above 0.
 * @param confidence The confidence level, for example 0.95.
 */
export function clopperPearson(hits: number, all: number, confidence = 0.95): Interval {
  const tail = (1 - confidence) / 2;
  const misses = all - hits;
  return {
    low: hits <= 0 ? 0 : quantile(tail, hits, misses + 1),
    high: misses <= 0 ? 1 : quantile(1 - tail, hits + 1, misses),
  };
}

/** A quantile of the beta distribution. */
function quantile(probability: number, a: number, b: number): number {
  let [low, high] = [0, 1];
  for (let step = 0; step < STEPS; step++) {
    const middle = (low + high) / 2;
    if (betaIntegral(middle, a, b) < probability) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/**
 * The regularised incomplete beta function I_x(a, b), by a continued fraction. The side with the
 * smaller value is computed.
 */
function betaIntegral(x: number, a: number, b: number): number {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const front = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x),
  );
  return x < (a + 1) / (a + b + 2)
    ? front * betaFraction(x, a, b) / a
    : 1 - front * betaFraction(1 - x, b, a) / b;
}

const FRACTION_STEPS = 1000;
const TINY = 1e-300;

/** The continued fraction of I_x(a, b), by the method of Lentz (Abramowitz and Stegun 26.5.8). */
function betaFraction(x: number, a: number, b: number): number {
  const guard = (value: number) => Math.abs(value) < TINY ? TINY : value;
  let c = 1;
  let d = 1 / guard(1 - (a + b) * x / (a + 1));
  let sum = d;
  for (let m = 1; m <= FRACTION_STEPS; m++) {
    const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    let factor = 1;
    for (const term of [even, odd]) {
      d = 1 / guard(1 + term * d);
      c = guard(1 + term / c);
      factor = c * d;
      sum *= factor;
    }
    if (Math.abs(factor - 1) < 1e-14) break;
  }
  return sum;
}

/** The logarithm of the gamma function for arguments above 0, by Stirling's series from 10 on. */
function logGamma(value: number): number {
  let shift = 0;
  let z = value;
  for (; z < 10; z++) shift += Math.log(z);
  const series = 1 / (12 * z) - 1 / (360 * z ** 3) + 1 / (1260 * z ** 5) - 1 / (1680 * z ** 7);
  return (z - 0.5) * Math.log(z) - z + Math.log(2 * Math.PI) / 2 + series - shift;
}
