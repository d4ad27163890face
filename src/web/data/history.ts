/**
 * Reads the history of one server for a chart.
 *
 * @module
 */
import {
  type Database,
  type Row,
  timeParameter,
  type Value,
} from "../../store/database/database.ts";
import { DAY_MS, HOUR_MS, readState, startOf, VALID_MS } from "../../store/uptime/rollup_hours.ts";
import { hourPoints, uptimePoints } from "../../store/uptime/uptime_queries.ts";
import type { History, HistoryPoint } from "./dashboard_data.ts";

/** A period with at most this number of observations has a point for each. */
const MAX_RAW = 500;
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

/** A period of time, Unix milliseconds. */
interface Period {
  readonly from: number;
  readonly to: number;
}

/**
 * Reads the history of a server in a period. A short period with few observations has a point for
 * each of them. A longer one has steps: the mean of the players, and the most players at one time.
 *
 * @param id `servers.id`.
 * @param least Minimum length of a step, milliseconds; 0: a period with few observations has no steps.
 */
export async function readHistory(
  database: Database,
  id: number,
  from: number,
  to: number,
  least = 0,
): Promise<History> {
  const period = { from, to };
  const unwatched = await unwatchedIn(database, id, period);
  if (least === 0 && to - from <= LONGEST_RAW_MS) {
    const raw = await observationsOf(database, id, period, MAX_RAW + 1);
    const points = raw.map(pointOf);
    if (raw.length <= MAX_RAW) {
      return { from, to, step: 0, points, unwatched, peak: peakOf(points) };
    }
  }
  const step = await stepOf(database, period, least);
  const points = await stepsOf(database, id, period, step);
  return { from, to, step, points, unwatched, peak: await peakIn(database, id, period, points) };
}

/** The length of steps. Of hours that a prune removed, only the days are left. */
async function stepOf(
  database: Database,
  { from, to }: Period,
  wanted: number,
): Promise<number> {
  const { sealedUntil } = await readState(database);
  const least = from < sealedUntil ? Math.max(wanted, DAY_MS) : wanted;
  const isEnough = (length: number) => length >= least && (to - from) / length <= MAX_STEPS;
  return STEPS.find(isEnough) ?? STEPS.at(-1)!;
}

const COLUMNS = "o.at, o.online, o.players_online, o.players_max, o.latency_ms";

async function observationsOf(
  database: Database,
  id: number,
  { from, to }: Period,
  limit: number,
): Promise<readonly Row[]> {
  const time = timeParameter(database);
  return await database.rows(
    `select ${COLUMNS} from observations o where o.server = ? and o.at >= ${time} ` +
      `and o.at <= ${time} order by o.at, o.scan limit ?`,
    [id, from, to, limit],
  );
}

function numberOrNull(value: Value): number | null {
  return value === null ? null : Number(value);
}

function pointOf(row: Row): HistoryPoint {
  const isOnline = row.online === 1;
  const players = isOnline ? numberOrNull(row.players_online) : null;
  return {
    at: Number(row.at),
    online: isOnline,
    players,
    playersMost: players,
    slots: isOnline ? numberOrNull(row.players_max) : null,
    latencyMs: isOnline ? numberOrNull(row.latency_ms) : null,
  };
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

/** The points of steps. Those in which nothing is known of the server are missing. */
async function stepsOf(
  database: Database,
  id: number,
  period: Period,
  step: number,
): Promise<HistoryPoint[]> {
  const points = await observedSteps(database, id, period, step);
  if (step >= HOUR_MS) await addRollups(database, id, period, step, points);
  return [...points.values()].sort((a, b) => a.at - b.at);
}

/** The steps by observations: the mean of those in a step. */
async function observedSteps(
  database: Database,
  id: number,
  { from, to }: Period,
  step: number,
): Promise<Map<number, HistoryPoint>> {
  const time = timeParameter(database);
  const at = database.engine === "postgres"
    ? `(floor(extract(epoch from o.at) * 1000 / ${step}) * ${step})::bigint`
    : `o.at / ${step} * ${step}`;
  const whenOnline = (column: string) => `case when o.online = true then o.${column} end`;
  const rows = await database.rows(
    `select ${at} as step_at, max(case when o.online = true then 1 else 0 end) as online, ` +
      `avg(1.0 * ${whenOnline("players_online")}) as players, ` +
      `max(${whenOnline("players_online")}) as most, ` +
      `max(${whenOnline("players_max")}) as slots, avg(${whenOnline("latency_ms")}) as latency ` +
      `from observations o where o.server = ? and o.at >= ${time} and o.at <= ${time} group by 1`,
    [id, from, to],
  );
  return new Map(rows.map((row) => [Number(row.step_at), {
    at: Number(row.step_at),
    online: Number(row.online) === 1,
    players: numberOrNull(row.players),
    playersMost: numberOrNull(row.most),
    slots: numberOrNull(row.slots),
    latencyMs: numberOrNull(row.latency),
  }]));
}

/**
 * Replaces state and players of steps by those of rollups, which take account of how long each
 * observation was valid, and which stay when observations are pruned.
 */
async function addRollups(
  database: Database,
  id: number,
  { from, to }: Period,
  step: number,
  points: Map<number, HistoryPoint>,
): Promise<void> {
  const start = startOf(from, DAY_MS);
  const hours = step < DAY_MS
    ? await hourPoints(database, id, startOf(from, HOUR_MS), to)
    : await uptimePoints(database, id, start, to);
  const steps = new Map<number, { onlineS: number; playerS: number; most: number | null }>();
  for (const { at, onlineS, playerS, playersMax } of hours) {
    const key = startOf(at, step);
    const { onlineS: online, playerS: player, most } = steps.get(key) ??
      { onlineS: 0, playerS: 0, most: null };
    steps.set(key, {
      onlineS: online + onlineS,
      playerS: player + playerS,
      most: playersMax === null ? most : Math.max(most ?? playersMax, playersMax),
    });
  }
  for (const [at, { onlineS, playerS, most }] of steps) {
    const observed = points.get(at);
    points.set(at, {
      at,
      online: onlineS > 0,
      players: onlineS > 0 && most !== null ? playerS / onlineS : null,
      playersMost: most,
      slots: observed?.slots ?? null,
      latencyMs: observed?.latencyMs ?? null,
    });
  }
}

/** The parts of a period in which no watch that observed the server ran. */
async function unwatchedIn(
  database: Database,
  id: number,
  period: Period,
): Promise<Period[]> {
  const spans = await spansOf(database, id, period);
  const gaps: Period[] = [];
  let end = period.from;
  for (const { from, to } of await withSealed(database, id, period, spans)) {
    if (from >= period.to) break;
    if (from > end) gaps.push({ from: end, to: from });
    end = Math.max(end, to);
  }
  if (end < period.to) gaps.push({ from: end, to: period.to });
  return gaps;
}

/**
 * The times in which watches that observed the server ran, in their order, as far as they are still
 * known.
 */
async function spansOf(
  database: Database,
  id: number,
  { from, to }: Period,
): Promise<Period[]> {
  const time = timeParameter(database);
  const rows = await database.rows(
    `select w.started_at, w.ended_at from watch_spans w where w.started_at < ${time} ` +
      `and w.ended_at > ${time} and w.scan in (select o.scan from observations o ` +
      `where o.server = ? and o.at >= ${time} and o.at <= ${time}) order by w.started_at`,
    [to, from, id, from - VALID_MS, to],
  );
  return rows.map((row) => ({ from: Number(row.started_at), to: Number(row.ended_at) }));
}

/**
 * Adds the final hours and days that rollups call watched for longer than the spans do: a prune
 * removed their spans or observations. Where in a day the watch ran is not known any more: the
 * whole day is added.
 */
async function withSealed(
  database: Database,
  id: number,
  { from, to }: Period,
  spans: readonly Period[],
): Promise<Period[]> {
  const { sealedUntil } = await readState(database);
  const end = Math.min(startOf(to + DAY_MS - 1, DAY_MS), sealedUntil);
  if (from >= end) return [...spans];
  const points = await uptimePoints(database, id, startOf(from, DAY_MS), end);
  const sealed = points
    .map(({ at, hours, watchedS }) => ({ from: at, to: at + hours * HOUR_MS, watchedS }))
    .filter((one) => one.watchedS > 0 && one.to > from && one.watchedS > knownS(one, spans));
  return [...spans, ...sealed].sort((a, b) => a.from - b.from);
}

/** The seconds of a period that spans contain, rounded up. */
function knownS(period: Period, spans: readonly Period[]): number {
  let [knownMs, end] = [0, period.from];
  for (const { from, to } of spans) {
    const [start, stop] = [Math.max(from, end), Math.min(to, period.to)];
    if (start >= stop) continue;
    knownMs += stop - start;
    end = stop;
  }
  return Math.ceil(knownMs / 1000);
}
