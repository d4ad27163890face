/**
 * A time as text for people.
 *
 * @module
 */

/**
 * Date and time to the second in UTC, for example `2026-01-31 23:59:59`.
 *
 * @param at Unix milliseconds. `null` and times that no date can have (after the year 275760, which
 *     only another program writes into a database) give an empty text.
 */
export function dateText(at: number | null): string {
  const date = new Date(at ?? NaN);
  if (Number.isNaN(date.getTime())) return "";
  return date.toISOString().slice(0, 19).replace("T", " ");
}
