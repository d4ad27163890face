/**
 * Formats numbers, times and durations for pages. Times are in UTC.
 *
 * @module
 */
import { DAY_MS, DURATION_UNITS, UNKNOWN_TEXT, withCommas } from "../../core/quantities.ts";

export { durationText, percentText, UNKNOWN_TEXT } from "../../core/quantities.ts";

/** A whole number with thousands separators. */
export function countText(value: number | null): string {
  return value === null ? UNKNOWN_TEXT : withCommas(Math.round(value));
}

/** The suffixes of powers of 1,000. */
const SUFFIXES = ["", "k", "M", "G", "T", "P"];

/**
 * A number in at most five characters and a suffix: `950`, `12.3k`, `4M`. With `k` for 1,000.
 *
 * @example
 * ```ts
 * import { shortCount } from "./quantities.ts";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals([0, 0.25, 999, 1000, 12_345, 999_950].map(shortCount), [
 *   "0", "0.25", "999", "1k", "12.3k", "1M",
 * ]);
 * ```
 */
export function shortCount(value: number): string {
  let [scaled, power] = [value, 0];
  while (Math.abs(scaled) >= 999.95 && power < SUFFIXES.length - 1) {
    [scaled, power] = [scaled / 1000, power + 1];
  }
  const digits = power === 0 && Math.abs(scaled) < 1 ? 2 : 1;
  return `${Number(scaled.toFixed(digits))}${SUFFIXES[power]}`;
}

/** The time since or until a moment in its largest unit: `just now`, `5 min ago`, `in 3 h`. */
export function ageText(at: number, now: number): string {
  const ms = Math.abs(now - at);
  if (Math.round(ms / 1000) < 5) return "just now";
  return at > now ? `in ${spanText(ms)}` : `${spanText(ms)} ago`;
}

/** A duration in the largest unit of which it has two: `5 min`, `47 h`, `2 d`. */
export function spanText(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const [unit, size] = DURATION_UNITS.find(([, size]) => seconds >= 2 * size) ?? DURATION_UNITS[3];
  return `${withCommas(Math.floor(seconds / size))} ${unit}`;
}

/** A date and time to the second, `2026-01-31 23:59:59`; empty for times that no date can have. */
export function timeText(at: number): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString().slice(0, 19).replace("T", " ");
}

/** A latency: `0.4 ms`, `12 ms`, `1.2 s`. */
export function latencyText(ms: number | null): string {
  if (ms === null) return UNKNOWN_TEXT;
  if (ms >= 1000) return `${Number((ms / 1000).toFixed(1))} s`;
  return `${Number(ms.toFixed(ms < 10 ? 1 : 0))} ms`;
}

/** A time in UTC: `17:13` of today, `11-28 17:13` of another day. */
export function momentText(at: number, now: number): string {
  const [day, time] = new Date(at).toISOString().slice(5, 16).split("T");
  return Math.floor(at / DAY_MS) === Math.floor(now / DAY_MS) ? time : `${day} ${time}`;
}
