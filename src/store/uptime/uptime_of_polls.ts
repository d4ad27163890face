/**
 * Computes uptime from what watches saw of a server: the time watched, online, and players' time.
 *
 * @module
 */
import { periodStart, VALID_MS } from "./rollup_hours.ts";

/** The result of one poll of a server. */
export interface SeenState {
  /** When the server was polled, Unix milliseconds. */
  readonly at: number;
  /** `scans.id` of the watch. */
  readonly scan: number;
  /** Whether the server was online. */
  readonly online: boolean;
  /** Number of players online; `null`: unknown. */
  readonly players: number | null;
  /** `observations.polls`; `null`: unknown. */
  readonly polls: number | null;
}

/** A time in which a watch ran without interruption. */
export interface StoredSpan {
  /** `scans.id` of the watch. */
  readonly scan: number;
  /** Start, Unix milliseconds. */
  readonly startedAt: number;
  /** End, Unix milliseconds. */
  readonly endedAt: number;
}

/** The uptime and players of a server in a period, as watches observed them. */
export interface Uptime {
  /** Seconds in which at least one watch watched the server. */
  readonly watchedS: number;
  /** Seconds in which at least one watch found the server online. */
  readonly onlineS: number;
  /** Player seconds: the sum of the times of all players. At most 1,000,000 players count. */
  readonly playerS: number;
  /** Minimum of players online; `null`: the server was not online, or did not publish it. */
  readonly playersMin: number | null;
  /** Maximum of players online; `null` for the same reasons as `playersMin`. */
  readonly playersMax: number | null;
  /**
   * Number of polls of all watches. Polls without a change count when the watch writes its next observation of
   * the server, at most an hour later. `null`: unknown.
   */
  readonly polls: number | null;
}

/** The uptime of a server that was not watched. */
export const UNWATCHED: Uptime = {
  watchedS: 0,
  onlineS: 0,
  playerS: 0,
  playersMin: null,
  playersMax: null,
  polls: 0,
};

/** Adds the uptime of two periods that do not overlap. */
export function addUptime(a: Uptime, b: Uptime): Uptime {
  return {
    watchedS: a.watchedS + b.watchedS,
    onlineS: a.onlineS + b.onlineS,
    playerS: a.playerS + b.playerS,
    playersMin: minOf(a.playersMin, b.playersMin),
    playersMax: maxOf(a.playersMax, b.playersMax),
    polls: sumOf(a.polls, b.polls),
  };
}

/** The sum of two numbers. If one is unknown, so is the sum. */
function sumOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}

function minOf(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.min(a, b);
}

function maxOf(a: number | null, b: number | null): number | null {
  return a === null ? b : b === null ? a : Math.max(a, b);
}

/**
 * Maximum number of players of a server that count in player seconds, because servers publish any
 * number.
 */
const MAX_PLAYERS = 1_000_000;

/** A time in which one observation is the newest valid one. */
export interface HeldState<Seen extends SeenState = SeenState> {
  /** Start, Unix milliseconds. */
  readonly from: number;
  /** End, Unix milliseconds. */
  readonly to: number;
  readonly seen: Seen;
  /** The observations of all watches that became valid in this time, for a second or longer. */
  readonly begun: readonly Seen[];
}

/**
 * Computes the uptime of a server in a period from the observations that {@linkcode heldStates}
 * finds valid. Times are rounded to seconds before they are subtracted, so hours add up.
 *
 * @param observed Observations of the server, of all watches, in the order of `at`.
 * @param spans Spans of these watches.
 * @param from Start of the period, Unix milliseconds, in whole seconds.
 * @param to End of the period, Unix milliseconds, in whole seconds.
 * @param optedOutAt When the server's address opted out, Unix milliseconds. Default: never.
 */
export function uptimeOfPolls(
  observed: readonly SeenState[],
  spans: readonly StoredSpan[],
  from: number,
  to: number,
  optedOutAt = Infinity,
): Uptime {
  return uptimeOfStates(heldStates(observed, spans, from, to, optedOutAt), from, to);
}

/** Computes the uptime of a server in a period from states that do not overlap. */
export function uptimeOfStates(
  states: readonly HeldState[],
  from: number,
  to: number,
): Uptime {
  let [watchedS, onlineS, playerS] = [0, 0, 0];
  let [playersMin, playersMax, polls]: (number | null)[] = [null, null, 0];
  for (const state of states) {
    const { seen } = state;
    for (const { at, polls: count } of state.begun) {
      if (roundToSecond(at) >= from && roundToSecond(at) < to) polls = sumOf(polls, count);
    }
    const [start, end] = [Math.max(state.from, from), Math.min(state.to, to)]
      .map((at) => Math.round(at / 1000));
    if (start >= end) continue;
    watchedS += end - start;
    if (!seen.online) continue;
    onlineS += end - start;
    if (seen.players === null) continue;
    playerS += (end - start) * Math.min(Math.max(seen.players, 0), MAX_PLAYERS);
    playersMin = minOf(playersMin, seen.players);
    playersMax = maxOf(playersMax, seen.players);
  }
  return { watchedS, onlineS, playerS, playersMin, playersMax, polls };
}

/** A time in whole seconds, Unix milliseconds. */
function roundToSecond(at: number): number {
  return Math.round(at / 1000) * 1000;
}

/**
 * The uptime of the steps of a length (hours, for example) in which states hold, by the starts of the
 * steps. Steps without a state cost nothing, so a period may be of any length.
 *
 * @param states In the order of times. They do not overlap.
 * @param length Length of a step, milliseconds, in whole seconds.
 */
export function uptimeOfSteps(states: readonly HeldState[], length: number): Map<number, Uptime> {
  const steps = new Map<number, Uptime>();
  for (const state of states) {
    const end = roundToSecond(state.to);
    for (let at = periodStart(state.from, length); at <= end; at += length) {
      const uptime = uptimeOfStates([state], at, at + length);
      if (uptime.watchedS > 0 || uptime.polls !== 0) {
        steps.set(at, addUptime(steps.get(at) ?? UNWATCHED, uptime));
      }
    }
  }
  return steps;
}

/**
 * The observation that is valid at each time of a period, without the times that have none.
 *
 * An observation is valid until the next one of the same watch in the same span, until the end of
 * the span, or for {@linkcode VALID_MS}. Before its first observation in a span, the server counts
 * as not watched. If several watches overlap, the server counts as online if one of them found it
 * online; the number of players is that of the newest of these observations.
 *
 * @param observed Observations of the server, of all watches, in the order of `at`.
 * @param spans Spans of these watches.
 * @param from Start of the period, Unix milliseconds.
 * @param to End of the period, Unix milliseconds.
 * @param optedOutAt When the server's address opted out, Unix milliseconds. Default: never.
 */
export function heldStates<Seen extends SeenState>(
  observed: readonly Seen[],
  spans: readonly StoredSpan[],
  from: number,
  to: number,
  optedOutAt = Infinity,
): HeldState<Seen>[] {
  const segments = spans.flatMap((span) => segmentsOf(observed, span, from, to, optedOutAt));
  segments.sort((a, b) => a.from - b.from);
  const borders = [...new Set(segments.flatMap(({ from, to }) => [from, to]))]
    .sort((a, b) => a - b);
  const states: (HeldState<Seen> & { begun: Seen[] })[] = [];
  let next = 0;
  let active: HeldState<Seen>[] = [];
  for (let i = 0; i + 1 < borders.length; i++) {
    const [start, end] = [borders[i], borders[i + 1]];
    active = active.filter((segment) => segment.to > start);
    const begun: Seen[] = [];
    while (next < segments.length && segments[next].from <= start) {
      begun.push(...segments[next].begun);
      active.push(segments[next++]);
    }
    const seen = newestOf(active);
    if (seen === undefined) continue;
    const last = states.at(-1);
    if (last?.to === start && last.seen === seen) {
      last.begun.push(...begun);
      states[states.length - 1] = { ...last, to: end };
    } else states.push({ from: start, to: end, seen, begun });
  }
  return states;
}

/** The times in which the observations in a span are valid. */
function segmentsOf<Seen extends SeenState>(
  observed: readonly Seen[],
  { scan, startedAt, endedAt }: StoredSpan,
  from: number,
  to: number,
  optedOutAt: number,
): HeldState<Seen>[] {
  const inSpan = observed.filter((seen) =>
    seen.scan === scan && seen.at >= startedAt && seen.at <= endedAt
  );
  const last = Math.min(endedAt, optedOutAt, to);
  return inSpan.flatMap((seen, i) => {
    const until = Math.min(inSpan[i + 1]?.at ?? Infinity, seen.at + VALID_MS, last);
    const start = Math.max(seen.at, from);
    if (start >= until) return [];
    const second = roundToSecond(seen.at);
    const isBegun = second >= from && second < roundToSecond(until);
    return [{ from: start, to: until, seen, begun: isBegun ? [seen] : [] }];
  });
}

/** The newest observation in which the server is online, or else the newest one. */
function newestOf<Seen extends SeenState>(active: readonly HeldState<Seen>[]): Seen | undefined {
  let newest: Seen | undefined;
  for (const { seen } of active) {
    const isNewer = newest === undefined ||
      (seen.online === newest.online
        ? seen.at > newest.at || seen.at === newest.at && seen.scan > newest.scan
        : seen.online);
    if (isNewer) newest = seen;
  }
  return newest;
}
