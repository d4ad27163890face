/**
 * Chooses the marked values of a chart's axes.
 *
 * @module
 */

/** The values of an axis that starts at 0, in ascending order. The last one is the end of the axis. */
export type Ticks = readonly number[];

/**
 * Ticks from 0 to a nice number that is at least `most`. Their distance is 1, 2 or 5 times a power of 10.
 *
 * @param intervals Wanted number of intervals; there are at most one more.
 * @param least The least distance of ticks: 1 for counts.
 *
 * @example
 * ```ts
 * import { niceTicks } from "./ticks.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(niceTicks(87, 4), [0, 50, 100]);
 * assertEquals(niceTicks(2, 4, 1), [0, 1, 2]);
 * assertEquals(niceTicks(0, 4, 1), [0, 1]);
 * ```
 */
export function niceTicks(most: number, intervals: number, least = 0): Ticks {
  const end = most > 0 ? most : 1;
  const step = Math.max(least, niceStep(end / intervals));
  const count = Math.ceil(end / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

/** The least of 1, 2, 5 times a power of 10 that is at least a number. */
function niceStep(wanted: number): number {
  const power = 10 ** Math.floor(Math.log10(wanted));
  const factor = [1, 2, 5, 10].find((one) => one * power >= wanted * (1 - 1e-9)) ?? 10;
  return factor * power;
}

/** A marked time of an axis. */
export interface TimeTick {
  readonly at: number;
  readonly label: string;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Distances of marked times that are shorter than a month. */
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14].map((days) => days * DAY),
];
/** Distances of marked times in months. */
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120, 240, 600];
const NAMES = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** The day of a time: `23 Nov`. */
export function dayText(at: number): string {
  const date = new Date(at);
  return `${date.getUTCDate()} ${NAMES[date.getUTCMonth()]}`;
}

/**
 * Marked times between two times, at most `most`: full minutes, hours, days, Mondays or months in UTC.
 *
 * @example
 * ```ts
 * import { timeTicks } from "./ticks.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const start = Date.UTC(2026, 0, 31, 17);
 * const labels = timeTicks(start, start + 24 * 3_600_000, 4).map(({ label }) => label);
 * assertEquals(labels, ["18:00", "1 Feb", "06:00", "12:00"]);
 * ```
 */
export function timeTicks(from: number, to: number, most: number): TimeTick[] {
  const step = STEPS.find((one) => (to - from) / one <= most);
  if (step === undefined) return monthTicks(from, to, most);
  const monday = step >= 7 * DAY ? 4 * DAY : 0; // 1970-01-05 was a Monday
  const ticks: TimeTick[] = [];
  const first = Math.ceil((from - monday) / step) * step + monday;
  for (let at = first; at < to; at += step) {
    const isDay = at % DAY === 0;
    ticks.push({ at, label: isDay ? dayText(at) : new Date(at).toISOString().slice(11, 16) });
  }
  return ticks;
}

function monthTicks(from: number, to: number, most: number): TimeTick[] {
  const months = (to - from) / (30.4 * DAY);
  const step = MONTHS.find((one) => months / one <= most) ?? MONTHS[MONTHS.length - 1];
  const start = new Date(from);
  const firstMonth = start.getUTCFullYear() * 12 + start.getUTCMonth();
  const ticks: TimeTick[] = [];
  for (let month = Math.floor(firstMonth / step) * step;; month += step) {
    const at = Date.UTC(Math.floor(month / 12), month % 12);
    if (!(at < to)) return ticks;
    const year = Math.floor(month / 12);
    if (at >= from) {
      ticks.push({ at, label: step < 12 ? `${NAMES[month % 12]} ${year}` : String(year) });
    }
  }
}

/** The least span of a time axis: a single point would have none. */
const MIN_SPAN = HOUR;

/** A span of times, enlarged around its middle to the least span of an axis. */
export function timeSpan(from: number, to: number): { from: number; to: number } {
  const missing = Math.max(0, MIN_SPAN - (to - from)) / 2;
  return { from: from - missing, to: to + missing };
}

/**
 * The start of an axis whose first value comes late in a period: shortly before that value, so that the
 * values take most of the width.
 */
export function startOfValues(from: number, to: number, first: number | undefined): number {
  if (first === undefined || first - from < (to - from) / 2) return from;
  return Math.max(from, Math.min(first - (to - first) / 20, to - MIN_SPAN));
}
