/**
 * Computes uptime from what watches saw of a server: the time watched, online, and players' time.
 *
 * @module
 */
import { VALID_MS } from "./rollup_hours.ts";

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
}

/** The uptime of a server that was not watched. */
export const UNWATCHED: Uptime = {
  watchedS: 0,
  onlineS: 0,
  playerS: 0,
  playersMin: null,
  playersMax: null,
};

/** Adds the uptime of two periods that do not overlap. */
export function addUptime(a: Uptime, b: Uptime): Uptime {
  return {
    watchedS: a.watchedS + b.watchedS,
    onlineS: a.onlineS + b.onlineS,
    playerS: a.playerS + b.playerS,
    playersMin: minOf(a.playersMin, b.playersMin),
    playersMax: maxOf(a.playersMax, b.playersMax),
  };
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

/** A period in which one observation of one watch is valid. */
interface Segment {
  /** Start and end, in seconds. */
  readonly from: number;
  readonly to: number;
  readonly seen: SeenState;
}

/**
 * Computes the uptime of a server in a period.
 *
 * An observation is valid until the next one of the same watch in the same span, until the end of
 * the span, or for {@linkcode VALID_MS}. Before its first observation in a span, the server counts
 * as not watched. If several watches overlap, the server counts as online if one of them found it
 * online; the number of players is that of the newest of these observations. Times are rounded to
 * seconds before they are subtracted, so hours add up.
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
  const segments = spans.flatMap((span) => segmentsOf(observed, span, from, to, optedOutAt));
  segments.sort((a, b) => a.from - b.from);
  const borders = [...new Set(segments.flatMap(({ from, to }) => [from, to]))]
    .sort((a, b) => a - b);
  let [next, watchedS, onlineS, playerS] = [0, 0, 0, 0];
  let [playersMin, playersMax]: (number | null)[] = [null, null];
  let active: Segment[] = [];
  for (let i = 0; i + 1 < borders.length; i++) {
    const [start, end] = [borders[i], borders[i + 1]];
    active = active.filter((segment) => segment.to > start);
    while (next < segments.length && segments[next].from <= start) active.push(segments[next++]);
    if (active.length === 0) continue;
    watchedS += end - start;
    const seen = newestOnline(active);
    if (seen === undefined) continue;
    onlineS += end - start;
    if (seen.players === null) continue;
    playerS += (end - start) * Math.min(Math.max(seen.players, 0), MAX_PLAYERS);
    playersMin = minOf(playersMin, seen.players);
    playersMax = maxOf(playersMax, seen.players);
  }
  return { watchedS, onlineS, playerS, playersMin, playersMax };
}

/** The segments of the observations in a span. */
function segmentsOf(
  observed: readonly SeenState[],
  { scan, startedAt, endedAt }: StoredSpan,
  from: number,
  to: number,
  optedOutAt: number,
): Segment[] {
  const inSpan = observed.filter((seen) =>
    seen.scan === scan && seen.at >= startedAt && seen.at <= endedAt
  );
  const last = Math.min(endedAt, optedOutAt, to);
  return inSpan.flatMap((seen, i) => {
    const until = Math.min(inSpan[i + 1]?.at ?? Infinity, seen.at + VALID_MS, last);
    const [start, end] = [Math.max(seen.at, from), until].map((at) => Math.round(at / 1000));
    return start < end ? [{ from: start, to: end, seen }] : [];
  });
}

/** The newest observation in which the server is online. */
function newestOnline(active: readonly Segment[]): SeenState | undefined {
  let newest: SeenState | undefined;
  for (const { seen } of active) {
    if (!seen.online) continue;
    const isNewer = newest === undefined || seen.at > newest.at ||
      seen.at === newest.at && seen.scan > newest.scan;
    if (isNewer) newest = seen;
  }
  return newest;
}
