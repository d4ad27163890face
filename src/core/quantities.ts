/**
 * Quantities as text: numbers, counts of things, times.
 *
 * @module
 */

/**
 * A number with commas, to three decimals: what `toLocaleString("en-US")` says, which loads tables
 * for 30 ms when it is called first.
 */
export function withCommas(value: number | bigint): string {
  const exact = typeof value === "number" && Number.isInteger(value) ? BigInt(value) : value;
  const [whole, part] = typeof exact === "bigint"
    ? [String(exact)]
    : exact.toFixed(3).replace(/\.?0+$/, "").split(".");
  const grouped = whole.replace(/\B(?=(?:\d{3})+$)/g, ",");
  return part === undefined ? grouped : `${grouped}.${part}`;
}

/** A number of things: `1 row`, `2 rows`. */
export function countOf(value: number, thing: string): string {
  return `${withCommas(value)} ${thing}${value === 1 ? "" : "s"}`;
}

/** A time in words of a clock. */
export function clockTime(seconds: number): string {
  if (!Number.isFinite(seconds)) return "?";
  const whole = Math.ceil(seconds);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}
