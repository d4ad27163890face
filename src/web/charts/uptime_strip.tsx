/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * A strip with a cell for each of the last days: the higher a cell, the longer the server was online.
 *
 * @module
 */
import { DAY_MS } from "../../core/quantities.ts";
import { type DayUptime, periodStart } from "../../store/mod.ts";
import { UPTIME_DAYS } from "../queries/dashboard_data.ts";
import { durationText, percentText, timeText } from "../components/quantities.ts";

/** The classes of days by the least share of their watched time in which the server was online. */
const LEVELS: readonly (readonly [least: number, name: string])[] = [
  [1, "full"],
  [0.95, "most"],
  [Number.MIN_VALUE, "part"],
  [0, "none"],
];

/** The days until today, the oldest first. */
export function UptimeStrip({ days, now }: { days: readonly DayUptime[]; now: number }) {
  const known = new Map(days.map((day) => [day.at, day]));
  const today = periodStart(now, DAY_MS);
  const starts = Array.from(
    { length: UPTIME_DAYS },
    (_, i) => today - (UPTIME_DAYS - 1 - i) * DAY_MS,
  );
  return (
    <>
      <ol class="strip" aria-label={`Uptime of the last ${UPTIME_DAYS} days`}>
        {starts.map((at) => <Day at={at} day={known.get(at)} />)}
      </ol>
      <ul class="legend strip-legend">
        <li class="strip-ends">{`${UPTIME_DAYS} days ago to today, days in UTC`}</li>
        {[["full", "100 %"], ["most", "from 95 %"], ["part", "less"], ["none", "offline"], [
          ...["unwatched", "not watched"] as const,
        ]].map(([level, title]) => (
          <li>
            <i class={`key day ${level}`}></i>
            {title}
          </li>
        ))}
      </ul>
    </>
  );
}

function Day({ at, day }: { at: number; day: DayUptime | undefined }) {
  const date = timeText(at).slice(0, 10);
  const text = day === undefined || day.watchedS === 0
    ? `${date}: not watched`
    : `${date}: ${percentText(day.onlineS / day.watchedS)} of ${
      durationText(1000 * day.watchedS)
    } watched`;
  return (
    <li class={`day ${levelOf(day)}`} title={text}>
      <span class="spoken">{text}</span>
    </li>
  );
}

function levelOf(day: DayUptime | undefined): string {
  if (day === undefined || day.watchedS === 0) return "unwatched";
  const share = day.onlineS / day.watchedS;
  return LEVELS.find(([least]) => share >= least)![1];
}
