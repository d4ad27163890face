/**
 * Points of a server's history. A value that was observed holds while the server was watched, and no
 * longer.
 *
 * @module
 */
import type { HeldState, Period, SeenState, Uptime } from "../../../store/mod.ts";
import type { HistoryPoint } from "../../queries/dashboard_data.ts";
import { gapsOf } from "./watched_periods.ts";

export interface Observed extends SeenState {
  /** Number of player slots; null: unknown. */
  readonly slots: number | null;
  /** Round-trip time, milliseconds; null: unknown. */
  readonly latencyMs: number | null;
}

/** The values of the observations in a step. */
export type ObservedStep = Omit<HistoryPoint, "at" | "until" | "onlineShare">;

/** A step in which nothing was observed. */
const UNOBSERVED: ObservedStep = {
  ...{ online: false, players: null, playersMost: null, slots: null },
  ...{ latencyMs: null, latencyLeast: null, latencyMost: null },
};

/**
 * A point for each change: it lasts while the values hold.
 *
 * @param states The times in which observations hold.
 * @param alone Observations that do not hold, such as those of scans: their points have no length.
 */
export function changePoints(
  states: readonly HeldState<Observed>[],
  alone: readonly Observed[],
): HistoryPoint[] {
  const points: HistoryPoint[] = [];
  let next = 0;
  for (const { from, to, seen } of states) {
    let start = from;
    for (; next < alone.length && alone[next].at < to; next++) {
      const { at } = alone[next];
      if (at > start) points.push(pointOf(seen, start, at));
      points.push(pointOf(alone[next]));
      start = Math.max(start, at);
    }
    points.push(pointOf(seen, start, to));
  }
  return [...points, ...alone.slice(next).map((seen) => pointOf(seen))];
}

/** The point of an observation. Its latency is that of its own time. */
function pointOf(seen: Observed, from = seen.at, until = from): HistoryPoint {
  const { online } = seen;
  const players = online ? seen.players : null;
  const latencyMs = online && seen.at === from ? seen.latencyMs : null;
  return {
    ...{ at: from, until, online, players, playersMost: players },
    onlineShare: until === from ? null : Number(online),
    slots: online ? seen.slots : null,
    ...{ latencyMs, latencyLeast: latencyMs, latencyMost: latencyMs },
  };
}

/** The uptime and the observations of steps, by their starts. */
export interface Steps {
  readonly length: number;
  readonly uptime: ReadonlyMap<number, Uptime>;
  readonly observed: ReadonlyMap<number, ObservedStep>;
}

/**
 * The points of steps. A step in which the server was watched lasts as long as it was; a step with
 * observations alone has no length. The number of slots holds until another one was observed.
 *
 * @param gaps The times in which nothing is known to hold.
 */
export function stepPoints(
  { length, uptime, observed }: Steps,
  period: Period,
  gaps: readonly Period[],
): HistoryPoint[] {
  const starts = [...new Set([...uptime.keys(), ...observed.keys()])].sort((a, b) => a - b);
  const points: HistoryPoint[] = [];
  let slots: number | null = null;
  for (const start of starts) {
    const seen = observed.get(start) ?? UNOBSERVED;
    slots = seen.slots ?? slots;
    const watched = uptime.get(start);
    const values = watched === undefined
      ? { ...seen, onlineShare: null }
      : withUptime(seen, watched, slots);
    const step = {
      from: Math.max(start, period.from),
      to: Math.min(start + length, period.to),
    };
    const unwatched = watched === undefined ? [] : gapsOf(step, gaps);
    if (unwatched.length === 0) points.push({ ...values, at: step.from, until: step.from });
    else points.push(...unwatched.map(({ from, to }) => ({ ...values, at: from, until: to })));
  }
  return points;
}

/** The values of a step in which the server was watched. */
function withUptime(
  seen: ObservedStep,
  { watchedS, onlineS, playerS, playersMin, playersMax }: Uptime,
  slots: number | null,
): Omit<HistoryPoint, "at" | "until"> {
  const online = onlineS > 0;
  return {
    ...seen,
    online,
    onlineShare: onlineS / watchedS,
    players: online && playersMin !== null ? playerS / onlineS : null,
    playersMost: playersMax,
    slots: online ? slots : null,
  };
}
