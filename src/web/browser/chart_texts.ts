/** Formats the times, in UTC, and numbers of charts. */

const DAY_MS = 86_400_000;

/** A number in few characters, for an axis. */
export const shortNumber = new Intl.NumberFormat("en", {
  notation: "compact",
  maximumFractionDigits: 2,
});
const longNumber = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
/** The day of a time. */
export const dayFormat = new Intl.DateTimeFormat("en-GB", {
  ...{ day: "numeric", month: "short", timeZone: "UTC" },
});
const monthFormat = new Intl.DateTimeFormat("en-GB", {
  ...{ month: "short", year: "numeric", timeZone: "UTC" },
});

/** The time of a day in UTC, with its seconds if the marked times differ by seconds. */
export function clockText(at: number, stepMs = 60_000): string {
  return new Date(at).toISOString().slice(11, stepMs < 60_000 ? 19 : 16);
}

/** The text of a marked time. */
export function timeLabel(at: number, stepMs: number): string {
  if (stepMs >= 364 * DAY_MS) return String(new Date(at).getUTCFullYear());
  if (stepMs >= 27 * DAY_MS) return monthFormat.format(at);
  return at % DAY_MS === 0 ? dayFormat.format(at) : clockText(at, stepMs);
}

/** A value beside the name of its series: a mean of counts has decimals only if it is small. */
export function valueText(value: number, areCounts: boolean): string {
  return longNumber.format(areCounts && value >= 10 ? Math.round(value) : value);
}
