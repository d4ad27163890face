/**
 * The rules by which numbers of players cannot be believed. Each looks at the replies of one server.
 *
 * The rules prefer to miss a lie rather than to accuse an honest server: few accounts that stay for days,
 * and a server that is full, are never flagged.
 *
 * @module
 */
import type { FlagReason, FlagReasons, PlayerFlag } from "../../core/flags.ts";
import { DAY_MS } from "../../core/quantities.ts";

/** A reply with a number of players. */
export interface CountedReply {
  /** Unix milliseconds. */
  readonly at: number;
  readonly players: number;
  /** `null`: unknown. */
  readonly slots: number | null;
}

/** What the rules look at. */
export interface CountedReplies {
  /** The newest replies, at most {@linkcode NEWEST}, the oldest first. */
  readonly newest: readonly CountedReply[];
  /** All replies of the last {@linkcode RECENT_MS}. */
  readonly recent: RecentCounts;
  /** The names that the server publishes; `undefined`: none. */
  readonly sample?: PublishedNames;
}

/** All replies of the last {@linkcode RECENT_MS}, in numbers. */
export interface RecentCounts {
  readonly replies: number;
  /** The first of them, Unix milliseconds. */
  readonly since: number;
  readonly least: number;
  readonly most: number;
  /** The least number of slots; `null`: unknown. */
  readonly leastSlots: number | null;
  /** Number of replies with more players than slots. */
  readonly above: number;
  /** The first of these, Unix milliseconds; `null`: none. */
  readonly aboveSince: number | null;
}

export interface PublishedNames {
  readonly names: readonly string[];
  /** Since when the server publishes the same names, Unix milliseconds. */
  readonly since: number;
}

/** Number of the newest replies that the rules look at. */
export const NEWEST = 500;
/** The age of the oldest reply in {@linkcode RecentCounts}, milliseconds. */
export const RECENT_MS = 7 * DAY_MS;
/** The least number of players for which other rules than `playersAboveSlots` can flag a server. */
export const FEWEST = 5;

/** Of ten players, one comes or goes within hours; fewer can be accounts that stay. */
const LEAST_CONSTANT = 10;
/** A watch has an observation at least every hour: 24 of them are not the echo of one failure. */
const LEAST_REPLIES = 24;
/** Longer than a weekend. */
const LEAST_MS = 3 * DAY_MS;
/** A server is full from this share of its slots on: some slots are kept free. */
const FULL = 0.9;
/** That 24 honest changes are all even has the probability 2^-24. */
const LEAST_CHANGES = 24;
/** A couple that plays together has three counts at most: 0, 1 and 2. */
const LEAST_COUNTS = 4;
/** Maximum number of changes in a period of a saw-tooth. */
const LONGEST_PERIOD = 96;
/** Number of periods that have to repeat. */
const PERIODS = 3;
/** Difference between the least and the greatest count of a saw-tooth. */
const LEAST_HEIGHT = 5;
/** Share of the changes that may break the period: a lost poll makes two changes one. */
const BROKEN = 0.1;
const LEAST_NAMES = 5;
const LEAST_NAMED_COUNTS = 8;
/** A name of an account. Texts in place of names may stay the same. */
const ACCOUNT_NAME = /^\w{3,16}$/;

/** The rules that flag a server. */
export function flaggedBy(replies: CountedReplies): FlagReasons {
  const reasons: Partial<Record<PlayerFlag, FlagReason>> = {
    playersAboveSlots: aboveSlots(replies),
    playersConstant: constant(replies),
    playersSteps: steps(replies.newest),
    playersSameNames: sameNames(replies),
  };
  return Object.fromEntries(
    Object.entries(reasons).filter(([, reason]) => reason !== undefined),
  );
}

function aboveSlots({ recent, newest }: CountedReplies): FlagReason | undefined {
  const { replies, above, aboveSince, most } = recent;
  if (aboveSince === null || 2 * above < replies) return undefined;
  const { slots } = newest.at(-1) ?? { slots: null };
  return { since: aboveSince, above, replies, most, ...slots !== null && { slots } };
}

function constant({ newest, recent }: CountedReplies): FlagReason | undefined {
  const players = newest.at(-1)?.players;
  if (players === undefined || players < LEAST_CONSTANT) return undefined;
  const same = newest.slice(newest.findLastIndex((one) => one.players !== players) + 1);
  const isSame = recent.least === players && recent.most === players;
  const since = isSame ? Math.min(recent.since, same[0].at) : same[0].at;
  const replies = isSame ? Math.max(recent.replies, same.length) : same.length;
  const slots = same.map((one) => one.slots).filter((one) => one !== null);
  if (isSame && recent.leastSlots !== null) slots.push(recent.leastSlots);
  if (players >= FULL * slots.reduce((a, b) => Math.min(a, b), Infinity)) return undefined;
  const isLong = newest.at(-1)!.at - since >= LEAST_MS;
  return isLong && replies >= LEAST_REPLIES ? { since, replies, players } : undefined;
}

function steps(newest: readonly CountedReply[]): FlagReason | undefined {
  const counts = newest.map(({ players }) => players);
  const changes: number[] = [];
  for (let i = 1; i < counts.length; i++) {
    if (counts[i] !== counts[i - 1]) changes.push(counts[i] - counts[i - 1]);
  }
  if (changes.length < LEAST_CHANGES || new Set(counts).size < LEAST_COUNTS) return undefined;
  const reason = { since: newest[0].at, changes: changes.length };
  const step = changes.reduce(greatestDivisor, 0);
  if (step > 1) return { ...reason, step };
  const height = Math.max(...counts) - Math.min(...counts);
  const period = height < LEAST_HEIGHT ? undefined : periodOf(changes);
  return period === undefined ? undefined : { ...reason, period, height };
}

/** The greatest common divisor of two integers. */
function greatestDivisor(a: number, b: number): number {
  for ([a, b] = [Math.abs(a), Math.abs(b)]; b > 0;) [a, b] = [b, a % b];
  return a;
}

/** The number of changes after which they repeat, if they go up and down in each period. */
function periodOf(changes: readonly number[]): number | undefined {
  const turns = changes.filter((one, i) => i > 0 && one > 0 !== changes[i - 1] > 0).length;
  if (turns < 2 * PERIODS) return undefined;
  for (let period = 4; period <= LONGEST_PERIOD && PERIODS * period <= changes.length; period++) {
    if (repeats(changes, period)) return period;
  }
  return undefined;
}

function repeats(changes: readonly number[], period: number): boolean {
  let broken = BROKEN * (changes.length - period);
  for (let i = period; i < changes.length && broken >= 0; i++) {
    if (changes[i] !== changes[i - period]) broken--;
  }
  return broken >= 0;
}

function sameNames({ newest, sample }: CountedReplies): FlagReason | undefined {
  if (sample === undefined) return undefined;
  const { names, since } = sample;
  if (names.length < LEAST_NAMES || !names.every((name) => ACCOUNT_NAME.test(name))) {
    return undefined;
  }
  const counts = new Set(newest.filter(({ at }) => at >= since).map(({ players }) => players));
  const isLong = (newest.at(-1)?.at ?? 0) - since >= LEAST_MS;
  return isLong && counts.size >= LEAST_NAMED_COUNTS
    ? { since, names: names.length, counts: counts.size }
    : undefined;
}
