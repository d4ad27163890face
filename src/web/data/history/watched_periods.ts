/**
 * The periods within a period in which a server was watched.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../../core/quantities.ts";
import { type Database, timeParameter } from "../../../store/database/database.ts";
import {
  type HeldState,
  heldStates,
  type Period,
  periodStart,
  readState,
  type SeenState,
  type StoredSpan,
  timeList,
  uptimeOfSteps,
  uptimePoints,
  VALID_MS,
} from "../../../store/mod.ts";

/** The spans of watches that observed a server, as far as they are still known, in their order. */
export async function spansOf(
  database: Database,
  id: number,
  { from, to }: Period,
): Promise<StoredSpan[]> {
  const time = timeParameter(database);
  const rows = await database.rows(
    `select w.scan, w.started_at, w.ended_at from watch_spans w where w.started_at < ${time} ` +
      `and w.ended_at > ${time} and w.scan in (select o.scan from observations o ` +
      `where o.server = ? and o.at >= ${time} and o.at <= ${time}) order by w.started_at`,
    [to, from, id, from - VALID_MS, to],
  );
  return rows.map(({ scan, started_at: start, ended_at: end }) => ({
    scan: Number(scan),
    startedAt: Number(start),
    endedAt: Number(end),
  }));
}

/**
 * The periods within a period in which no watch watched a server: no observation of the server was valid.
 *
 * @param spans The spans of the days of the period, as {@linkcode spansOf} reads them.
 * @param optedOutAt When the server's address opted out, Unix milliseconds.
 */
export async function unwatchedIn(
  database: Database,
  id: number,
  period: Period,
  spans: readonly StoredSpan[],
  optedOutAt?: number,
): Promise<Period[]> {
  const days = overlappedDays(period);
  const observed = await thinnedObservations(database, id, days, spans);
  const states = heldStates(observed, spans, days.from, days.to, optedOutAt);
  return gapsOf(period, [...states, ...await sealedIn(database, id, days, states)]);
}

/** The days (UTC) that overlap a period. */
export function overlappedDays({ from, to }: Period): Period {
  return { from: periodStart(from, DAY_MS), to: periodStart(to + DAY_MS - 1, DAY_MS) };
}

/**
 * The first and the last observation of each span in each period of {@linkcode VALID_MS}, in the order
 * of times. They are valid in the same time as all observations together: those between them are
 * closer to them than {@linkcode VALID_MS}. Their states are not known.
 */
async function thinnedObservations(
  database: Database,
  id: number,
  { from, to }: Period,
  spans: readonly StoredSpan[],
): Promise<SeenState[]> {
  const time = timeParameter(database);
  const isPostgres = database.engine === "postgres";
  const part = isPostgres
    ? `floor(extract(epoch from o.at) * 1000 / ${VALID_MS})`
    : `o.at / ${VALID_MS}`;
  // The last span that has begun. PostgreSQL finds it in a list faster than in the table.
  const span = isPostgres
    ? "width_bucket(o.at, ?::timestamptz[])"
    : "(select max(w.started_at) from watch_spans w where w.scan = o.scan and w.started_at <= o.at)";
  const starts = spans.map(({ startedAt }) => startedAt).sort((a, b) => a - b);
  const rows = await database.rows(
    `select o.scan, ${span} as span, ${part} as part, min(o.at) as first, max(o.at) as last ` +
      `from observations o where o.server = ? and o.at >= ${time} and o.at <= ${time} ` +
      "group by 1, 2, 3",
    [...isPostgres ? [timeList(database, starts)] : [], id, from - VALID_MS, to],
  );
  return rows.flatMap(({ scan, first, last }) =>
    [first, last].map((at) => ({
      ...{ at: Number(at), scan: Number(scan), online: false, players: null, polls: null },
    }))
  ).sort((a, b) => a.at - b.at);
}

/** The periods within a period that no other period contains. */
export function gapsOf(period: Period, others: readonly Period[]): Period[] {
  const gaps: Period[] = [];
  let end = period.from;
  for (const { from, to } of others.toSorted((a, b) => a.from - b.from)) {
    if (from >= period.to) break;
    if (from > end) gaps.push({ from: end, to: from });
    end = Math.max(end, to);
  }
  if (end < period.to) gaps.push({ from: end, to: period.to });
  return gaps;
}

/**
 * The final hours and days in which rollups call a server watched for longer than its states do: a
 * prune removed spans or observations. Where in a day the server was watched is not known any more.
 *
 * @param days Whole days (UTC).
 */
async function sealedIn(
  database: Database,
  id: number,
  days: Period,
  states: readonly HeldState[],
): Promise<Period[]> {
  const { sealedUntil } = await readState(database);
  const end = Math.min(days.to, sealedUntil);
  if (days.from >= end) return [];
  const known = {
    1: uptimeOfSteps(states, HOUR_MS),
    24: uptimeOfSteps(states, DAY_MS),
  };
  const points = await uptimePoints(database, id, days.from, end);
  return points
    .filter(({ at, hours, watchedS }) => watchedS > (known[hours].get(at)?.watchedS ?? 0))
    .map(({ at, hours }) => ({ from: at, to: at + hours * HOUR_MS }));
}
