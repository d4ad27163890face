/**
 * When known servers are probed again. A server changes between up and down at a rate `c`, in changes
 * per day. If it is probed every `T` days, what is known of it is wrong for a share `c·T/2` of the
 * time. One more probe a day then saves `c·T²/2` server-days of error. A probe for discovery brings
 * `y·L` server-days: `y` servers, each of which stays for `L` days. Both are worth the same at
 *
 * ```text
 * T = sqrt(2·y·L / c)
 * ```
 *
 * So `T = θ / sqrt(c)`, with one scale `θ` for all servers. If the sum of `1/T` exceeds the budget of
 * probes per day, `θ = Σ sqrt(c) / budget`: nothing is left for discovery.
 *
 * The rates of change were fitted to scans that were half a day apart. A half-day is the unit of
 * ages here, and no age is below one.
 *
 * @module
 */
import { mix } from "../core/bits.ts";
import { DAY_MS } from "../core/quantities.ts";

/** The unit of ages, milliseconds. */
const HALF_DAY_MS = DAY_MS / 2;
/** Minimum and maximum time between two probes of a server, milliseconds. */
export const MIN_REPROBE_MS = 600_000;
const MAX_REPROBE_MS = 30 * DAY_MS;
/** Part by which the time between two probes of a server is longer or shorter than computed. */
const JITTER = 0.1;
/** How long a found server stays, days: `L`. */
const STAY_DAYS = 7;
/** Yield of discovery as long as nothing is known of it, servers per probe. */
const PRIOR_YIELD = 1e-5;
/** Number of probes as which {@linkcode PRIOR_YIELD} counts. */
const PRIOR_PROBES = 1000;
/** The yield of discovery is that of this number of last probes. */
const YIELD_PROBES = 1e6;
/** From this number of probes on, the yield counts as known. */
const SURE_PROBES = 1e4;

/** What is known of a server since its last probe. Times are Unix milliseconds. */
export interface LastProbe {
  /** Whether the server was up. */
  readonly online: boolean;
  /** Since when it was up, or its last reply if it was down. */
  readonly since: number;
  /** When it was last probed. */
  readonly probedAt: number;
}

/**
 * The rate at which a server changes, at the age that its state had when it was last probed: the
 * chance of a change within the next half-day is `0.2·a^-0.85 + 0.012` if the server has been up for
 * `a` half-days, and `0.36·d^-1.4` if it has been down for `d`.
 *
 * @returns Changes per day.
 */
export function changeRate({ online, since, probedAt }: LastProbe): number {
  const age = halfDays(probedAt - since);
  return 2 * (online ? 0.2 * Math.pow(age, -0.85) + 0.012 : 0.36 * Math.pow(age, -1.4));
}

/** An age in half-days, at least one. */
function halfDays(ms: number): number {
  return Math.max(1, ms / HALF_DAY_MS);
}

/**
 * The chance that a server has not changed since its last probe: `exp(-∫c)`, with the integral of
 * the rate from the age at the last probe to the age now.
 *
 * @param now Unix milliseconds.
 */
export function unchangedChance({ online, since, probedAt }: LastProbe, now: number): number {
  const [from, to] = [halfDays(probedAt - since), halfDays(now - since)];
  const integral = online
    ? (age: number) => 0.2 / 0.15 * Math.pow(age, 0.15) + 0.012 * age
    : (age: number) => -0.36 / 0.4 * Math.pow(age, -0.4);
  // Below one half-day the rate is constant, and the integral does not contain that time.
  const elapsed = Math.max(0, now - Math.max(probedAt, since)) / HALF_DAY_MS;
  const young = Math.min(elapsed, Math.max(0, 1 - Math.max(0, probedAt - since) / HALF_DAY_MS));
  const atOne = online ? 0.212 : 0.36;
  return Math.exp(integral(from) - integral(to) - atOne * young);
}

/** The yield of discovery: servers found per probe, over its last million probes. */
export class RecentYield {
  #batches: { readonly probes: number; readonly found: number }[] = [];
  #probes = 0;
  #found = 0;

  /** Starts with batches that {@linkcode batches} returned. */
  constructor(batches: readonly { readonly probes: number; readonly found: number }[] = []) {
    for (const { probes, found } of batches) this.add(probes, found);
  }

  /** The probes that count, in order, and what they found. */
  get batches(): readonly { readonly probes: number; readonly found: number }[] {
    return this.#batches;
  }

  /** Adds probes, and the number of servers that they found. */
  add(probes: number, found: number): void {
    this.#batches.push({ probes, found });
    this.#probes += probes;
    this.#found += found;
    while (this.#probes - this.#batches[0].probes >= YIELD_PROBES) {
      const oldest = this.#batches.shift()!;
      this.#probes -= oldest.probes;
      this.#found -= oldest.found;
    }
  }

  /** Whether enough probes count for an estimate. */
  get isSure(): boolean {
    return this.#probes >= SURE_PROBES;
  }

  /** Servers per probe. */
  get perProbe(): number {
    return (this.#found + PRIOR_YIELD * PRIOR_PROBES) / (this.#probes + PRIOR_PROBES);
  }
}

/**
 * The scale `θ` of the time between two probes of a server: the time is `θ / sqrt(c)` days.
 *
 * @param rootSum Sum of `sqrt(c)` over all known servers.
 * @param perDay Budget, probes per day; `Infinity`: no limit.
 * @param yieldPerProbe Servers that discovery finds per probe.
 */
export function reprobeScale(rootSum: number, perDay: number, yieldPerProbe: number): number {
  return Math.max(Math.sqrt(2 * yieldPerProbe * STAY_DAYS), rootSum / perDay);
}

/** The scale while discovery has its prior yield, and no budget limits the probes. */
export const PRIOR_SCALE: number = reprobeScale(0, Infinity, PRIOR_YIELD);

/**
 * The time between two probes of a server: at least 10 minutes and at most 30 days.
 *
 * @param root `sqrt(c)` of the server.
 * @param scale The scale `θ`.
 * @param jitter Number of the server, from {@linkcode jitterOf}.
 * @returns Milliseconds.
 */
export function reprobeMs(root: number, scale: number, jitter: number): number {
  const ms = Math.min(MAX_REPROBE_MS, Math.max(MIN_REPROBE_MS, scale / root * DAY_MS));
  return ms * jitter;
}

/** A factor from 0.9 to 1.1 for a server, which spreads servers that were found together. */
export function jitterOf(key: string): number {
  let hash = 0;
  for (let i = 0; i < key.length; i++) hash = mix(hash ^ key.charCodeAt(i)) | 0;
  return 1 + JITTER * (2 * (mix(hash) >>> 0) / 0xffffffff - 1);
}

/**
 * How overdue a server is: the time since its last probe, as a multiple of the time between two
 * probes. The most overdue server is probed first.
 */
export function overdue(
  state: LastProbe,
  { now, scale, jitter }: {
    /** Unix milliseconds. */
    readonly now: number;
    readonly scale: number;
    readonly jitter: number;
  },
): number {
  return (now - state.probedAt) / reprobeMs(Math.sqrt(changeRate(state)), scale, jitter);
}
