/**
 * Numbers, counts and durations: their units, and their formats for people.
 *
 * @module
 */

/** The length of an hour, milliseconds. */
export const HOUR_MS = 3_600_000;
/** The length of a day, milliseconds. */
export const DAY_MS = 24 * HOUR_MS;

/** What stands in place of an unknown value. */
export const UNKNOWN_TEXT = "–";

/**
 * Formats a number with thousands separators and at most three decimals, like
 * `toLocaleString("en-US")`. That function is not used, because its first call takes 30 ms to load
 * tables.
 */
export function withCommas(value: number | bigint): string {
  const exact = typeof value === "number" && Number.isInteger(value) ? BigInt(value) : value;
  const [whole, part] = typeof exact === "bigint"
    ? [String(exact)]
    : exact.toFixed(3).replace(/\.?0+$/, "").split(".");
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return part === undefined ? grouped : `${grouped}.${part}`;
}

/**
 * Formats a count with a noun: `1 row`, `2 rows`.
 *
 * @param more The plural. Default: the singular and an `s`.
 */
export function countOf(value: number | bigint, one: string, more = `${one}s`): string {
  return `${withCommas(value)} ${value === 1 || value === 1n ? one : more}`;
}

/** Formats a duration as `HH:MM:SS`, rounded up; `?` when it is not finite. */
export function clockTime(seconds: number): string {
  if (!Number.isFinite(seconds)) return "?";
  const whole = Math.ceil(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}

/** Formats a duration in its largest fitting unit: `90 s`, `5 min`, `3 h`. */
export function roughDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** The units of durations, with their seconds. */
export const DURATION_UNITS = [["d", 86_400], ["h", 3600], ["min", 60], ["s", 1]] as const;

/** A duration in its two largest units: `3 d 4 h`, `5 min 20 s`, `0 s`. */
export function durationText(ms: number): string {
  let seconds = Math.max(0, Math.round(ms / 1000));
  const first = DURATION_UNITS.findIndex(([, size]) => seconds >= size);
  if (first < 0) return "0 s";
  const parts: string[] = [];
  for (const [unit, size] of DURATION_UNITS.slice(first, first + 2)) {
    const count = Math.floor(seconds / size);
    if (count > 0) parts.push(`${withCommas(count)} ${unit}`);
    seconds -= count * size;
  }
  return parts.join(" ");
}

/** A share of 0 to 1 in percent: `99.95 %`. 100 % and 0 % are exact. */
export function percentText(share: number | null): string {
  if (share === null || !Number.isFinite(share)) return UNKNOWN_TEXT;
  const rounded = Number((share * 100).toFixed(share > 0.99 ? 2 : 1));
  if (share < 1 && rounded === 100) return "> 99.99 %";
  if (share > 0 && rounded === 0) return "< 0.1 %";
  return `${rounded} %`;
}
