/**
 * Reads the history of one server for a chart.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../../core/quantities.ts";
import {
  type Database,
  type Row,
  timeParameter,
  type Value,
} from "../../../store/database/database.ts";
import {
  addUptime,
  type HeldState,
  heldStates,
  hourPoints,
  isServerNumber,
  optOutsOf,
  type Period,
  periodStart,
  readState,
  type StoredSpan,
  UNWATCHED,
  type Uptime,
  uptimeOfSteps,
  type UptimePoint,
  uptimePoints,
  VALID_MS,
} from "../../../store/mod.ts";
import type { History, HistoryPoint } from "../../queries/dashboard_data.ts";
import { changePoints, type Observed, type ObservedStep, stepPoints } from "./points.ts";
import { overlappedDays, spansOf, unwatchedIn } from "./watched_periods.ts";

/** A period with at most this number of changes has a point for each. */
const MAX_RAW = 500;
/** Of a period with at most this number of observations, steps are computed from them. */
const MAX_OBSERVED = 20_000;
/** A longer period has steps: its observations may be pruned, and rollups stay. */
const LONGEST_RAW_MS = 31 * DAY_MS;
/** Maximum number of steps. */
const MAX_STEPS = 400;
const MINUTE_MS = 60_000;
/** Lengths of steps. */
const STEPS = [
  ...[1, 5, 15, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 3, 6, 12].map((hours) => hours * HOUR_MS),
  ...[1, 7, 30, 365].map((days) => days * DAY_MS),
];

/**
 * Reads the history of a server in a period. A short period with few changes has a point for each of
 * them. A longer one has steps: the mean of the players, and the most players at one time.
 *
 * @param id `servers.id`.
 * @param least Minimum length of a step, milliseconds; 0: a period with few changes has no steps.
 */
export async function readHistory(
  database: Database,
  id: number,
  from: number,
  to: number,
  least = 0,
): Promise<History> {
  const period = { from, to };
  const spans = await spansOf(database, id, overlappedDays(period));
  const optedOutAt = (await optOutsOf(database, [id])).get(id);
  const unwatched = await unwatchedIn(database, id, period, spans, optedOutAt);
  const { sealedUntil } = await readState(database);
  const step = stepOf(period, from < sealedUntil ? Math.max(least, DAY_MS) : least);
  const isRaw = least === 0;
  if (to - from <= LONGEST_RAW_MS && (step < HOUR_MS || isRaw)) {
    const recent = { from: Math.min(Math.max(from, sealedUntil), to), to };
    const observed = await observationsOf(database, id, recent);
    if (observed !== undefined) {
      const states = heldStates(observed, spans, recent.from, to, optedOutAt);
      const changes = changePoints(states, aloneIn(observed, spans, recent.from));
      if (isRaw && changes.length <= MAX_RAW) {
        const pruned = { period: { from, to: recent.from }, step: DAY_MS, unwatched };
        const old = recent.from > from ? await stepsIn(database, id, pruned) : [];
        const points = [...old, ...changes];
        const peak = old.length > 0 ? await peakIn(database, id, period, points) : peakOf(points);
        return { from, to, step: 0, points, unwatched, peak };
      }
      if (step < HOUR_MS) return await withSteps(database, id, { period, step, unwatched, states });
    }
  }
  const long = Math.max(step, stepOf(period, HOUR_MS));
  return await withSteps(database, id, { period, step: long, unwatched });
}

/** The time of the first observation of some servers at a time or later; null: there is none. */
export async function observedSince(
  database: Database,
  ids: readonly number[],
  since: number,
): Promise<number | null> {
  const times: number[] = [];
  for (const id of ids.filter(isServerNumber)) {
    const [row] = await database.rows(
      `select o.at from observations o where o.server = ? and o.at >= ${
        timeParameter(database)
      } order by o.at limit 1`,
      [id, since],
    );
    if (row !== undefined) times.push(Number(row.at));
  }
  return times.length === 0 ? null : Math.min(...times);
}

/** The observations since a time that no span contains: those of scans. */
function aloneIn(
  observed: readonly Observed[],
  spans: readonly StoredSpan[],
  from: number,
): Observed[] {
  return observed.filter(({ at, scan }) =>
    at >= from &&
    !spans.some((span) => span.scan === scan && at >= span.startedAt && at <= span.endedAt)
  );
}

/** What the points of steps are computed from. */
interface StepSource {
  readonly period: Period;
  readonly step: number;
  readonly unwatched: readonly Period[];
  /** Default: the rollups. */
  readonly states?: readonly HeldState<Observed>[];
}

async function withSteps(database: Database, id: number, source: StepSource): Promise<History> {
  const { period, step, unwatched } = source;
  const points = await stepsIn(database, id, source);
  return { ...period, step, points, unwatched, peak: await peakIn(database, id, period, points) };
}

async function stepsIn(
  database: Database,
  id: number,
  { period, step, unwatched, states }: StepSource,
): Promise<HistoryPoint[]> {
  const uptime = states === undefined
    ? await rolledUp(database, id, period, step)
    : uptimeOfSteps(states, step);
  const observed = await observedSteps(database, id, period, step);
  return stepPoints({ length: step, uptime, observed }, period, unwatched);
}

/** The length of steps, milliseconds. */
function stepOf({ from, to }: Period, least: number): number {
  const isEnough = (length: number) => length >= least && (to - from) / length <= MAX_STEPS;
  return STEPS.find(isEnough) ?? STEPS.at(-1)!;
}

/**
 * The observations that hold in a period: those in it, and those shortly before it. `undefined`: there
 * are too many.
 */
async function observationsOf(
  database: Database,
  id: number,
  { from, to }: Period,
): Promise<Observed[] | undefined> {
  const time = timeParameter(database);
  const rows = await database.rows(
    "select o.at, o.scan, o.online, o.players_online, o.players_max, o.latency_ms, o.polls " +
      `from observations o where o.server = ? and o.at >= ${time} and o.at <= ${time} ` +
      "order by o.at, o.scan limit ?",
    [id, from - VALID_MS, to, MAX_OBSERVED + 1],
  );
  return rows.length > MAX_OBSERVED ? undefined : rows.map(observedOf);
}

function observedOf(row: Row): Observed {
  return {
    at: Number(row.at),
    scan: Number(row.scan),
    online: row.online === 1,
    players: numberOrNull(row.players_online),
    slots: numberOrNull(row.players_max),
    latencyMs: numberOrNull(row.latency_ms),
    polls: numberOrNull(row.polls),
  };
}

function numberOrNull(value: Value): number | null {
  return value === null ? null : Number(value);
}

/** The first point with the most players. */
function peakOf(points: readonly HistoryPoint[]): History["peak"] {
  let peak: History["peak"] = null;
  for (const { at, playersMost: players } of points) {
    if (players !== null && players > (peak?.players ?? -1)) peak = { players, at };
  }
  return peak;
}

/** The observation with the most players; without one, the step that has the most players. */
async function peakIn(
  database: Database,
  id: number,
  { from, to }: Period,
  points: readonly HistoryPoint[],
): Promise<History["peak"]> {
  const time = timeParameter(database);
  const [row] = await database.rows(
    "select o.at, o.players_online from observations o where o.server = ? " +
      `and o.at >= ${time} and o.at <= ${time} and o.online = true ` +
      "and o.players_online is not null order by o.players_online desc, o.at limit 1",
    [id, from, to],
  );
  const ofSteps = peakOf(points);
  if (row === undefined) return ofSteps;
  const observed = { players: Number(row.players_online), at: Number(row.at) };
  return ofSteps !== null && ofSteps.players > observed.players ? ofSteps : observed;
}

/** The steps by observations: the mean of those in a step. */
async function observedSteps(
  database: Database,
  id: number,
  { from, to }: Period,
  step: number,
): Promise<Map<number, ObservedStep>> {
  const time = timeParameter(database);
  const at = database.engine === "postgres"
    ? `(floor(extract(epoch from o.at) * 1000 / ${step}) * ${step})::bigint`
    : `o.at / ${step} * ${step}`;
  const whenOnline = (column: string) => `case when o.online = true then o.${column} end`;
  const rows = await database.rows(
    `select ${at} as step_at, max(case when o.online = true then 1 else 0 end) as online, ` +
      `avg(1.0 * ${whenOnline("players_online")}) as players, ` +
      `max(${whenOnline("players_online")}) as most, ` +
      `max(${whenOnline("players_max")}) as slots, avg(${whenOnline("latency_ms")}) as latency, ` +
      `min(${whenOnline("latency_ms")}) as least, max(${whenOnline("latency_ms")}) as greatest ` +
      `from observations o where o.server = ? and o.at >= ${time} and o.at < ${time} group by 1`,
    [id, from, to],
  );
  return new Map(rows.map((row) => [Number(row.step_at), {
    online: Number(row.online) === 1,
    players: numberOrNull(row.players),
    playersMost: numberOrNull(row.most),
    slots: numberOrNull(row.slots),
    latencyMs: numberOrNull(row.latency),
    latencyLeast: numberOrNull(row.least),
    latencyMost: numberOrNull(row.greatest),
  }]));
}

/**
 * The uptime of steps by rollups, which take account of how long each observation was valid, and
 * which stay when observations are pruned.
 */
async function rolledUp(
  database: Database,
  id: number,
  { from, to }: Period,
  step: number,
): Promise<Map<number, Uptime>> {
  if (step < DAY_MS) return stepsOf(await hourPoints(database, id, from, to), step);
  const { sealedUntil } = await readState(database);
  // Of a day whose hours a prune removed, the means of the whole day are left; its most players may be
  // outside the period.
  const cut = [...new Set([from, to].map((at) => periodStart(at, DAY_MS)))].filter((day) =>
    day < Math.min(to, sealedUntil) && (day < from || day + DAY_MS > to)
  );
  const points = (await uptimePoints(database, id, from, to))
    .filter(({ at }) => !cut.includes(periodStart(at, DAY_MS)));
  for (const day of cut) {
    const whole = await uptimePoints(database, id, day, day + DAY_MS);
    points.push(...whole.map((point) => ({ ...point, playersMax: null })));
  }
  return stepsOf(points, step);
}

function stepsOf(points: readonly UptimePoint[], step: number): Map<number, Uptime> {
  const steps = new Map<number, Uptime>();
  for (const point of points) {
    const start = periodStart(point.at, step);
    steps.set(start, addUptime(steps.get(start) ?? UNWATCHED, point));
  }
  return steps;
}
