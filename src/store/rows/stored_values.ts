/**
 * The rules by which both engines store text, JSON, counts, times and ids of scans unchanged.
 *
 * @module
 */

/**
 * Text that both engines store unchanged. PostgreSQL refuses U+0000, and SQLite functions may end a
 * text there: it becomes U+2400 (␀). A lone surrogate has no UTF-8 form: it becomes U+FFFD.
 */
export function storable(text: string): string {
  const whole = text.includes("\0") ? text.replaceAll("\0", "␀") : text;
  return whole.isWellFormed() ? whole : whole.toWellFormed();
}

/** The JSON escapes of U+0000 and of surrogates. Of surrogates, JSON.stringify escapes lone ones only. */
const UNSTORABLE = /\\u(?:0000|d[89a-f][0-9a-f]{2})/;

/** JSON text of a value; its texts and keys are {@linkcode storable}. */
export function storableJson(value: unknown): string {
  const text = JSON.stringify(value);
  return text.includes("\\u") && UNSTORABLE.test(text)
    ? JSON.stringify(storableTexts(value))
    : text;
}

/** A copy of a JSON value in which texts and keys are {@linkcode storable}. */
function storableTexts(value: unknown): unknown {
  if (typeof value === "string") return storable(value);
  if (Array.isArray(value)) return value.map(storableTexts);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [storable(key), storableTexts(one)]),
  );
}

/**
 * A JSON value whose objects have their keys in order. PostgreSQL's jsonb does not keep the order in
 * which keys were written.
 */
export function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, inKeyOrder(one)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => a < b ? -1 : 1));
}

/** The number, if it is a safe integer, which fits into a bigint column; else null. */
export function safeIntegerOrNull(value: number | null): number | null {
  return Number.isSafeInteger(value) ? value : null;
}

/** The largest count: PostgreSQL's `integer` has 32 bits. */
const MAX_COUNT = 2 ** 31 - 1;

/**
 * The count that is nearest to a number, among those that fit into a column of 32 bits; null for a
 * number that is not whole.
 */
export function storableCount(value: number | null): number | null {
  const whole = safeIntegerOrNull(value);
  return whole === null ? null : Math.min(Math.max(whole, -MAX_COUNT - 1), MAX_COUNT);
}

/** Whether a number can be the `id` of a server in both engines: it has as many bits as a count. */
export function isServerNumber(id: number): boolean {
  return Number.isSafeInteger(id) && id >= 0 && id <= MAX_COUNT;
}

/** The end of the year 9999, Unix milliseconds. */
const MAX_TIME = 253_402_300_800_000;

/** A time that both engines can store: whole milliseconds from 1970 to 9999; null for any other. */
export function storableTime(value: number | null): number | null {
  return value !== null && Number.isSafeInteger(value) && value >= 0 && value < MAX_TIME
    ? value
    : null;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The identity of a scan in lower case; null for text that is not a UUID. */
export function storableUuid(text: string | null): string | null {
  const lower = text?.toLowerCase() ?? "";
  return UUID.test(lower) ? lower : null;
}

/** Maximum length of a key for searches or sorting, UTF-16 code units. */
const MAX_KEY = 64;

/** The key of a text for sorting and searching: its start in lower case. */
export function foldedKey(text: string): string {
  return storable(text.slice(0, MAX_KEY).toLowerCase());
}

/** The key by which names are sorted: without leading space and differences of width and case. */
export function nameKey(name: string | null): string {
  return name === null ? "" : foldedKey(name.slice(0, 2 * MAX_KEY).normalize("NFKC").trimStart());
}

/**
 * The key by which versions are sorted, so that 1.9 comes before 1.21: before each run of digits stands
 * a letter for its length.
 */
export function versionKey(version: string | null): string {
  if (version === null) return "";
  const text = version.slice(0, MAX_KEY).toLowerCase();
  let sortable = "";
  for (let i = 0; i < text.length;) {
    const start = i;
    while (isDigit(text, i)) i++;
    if (i === start) {
      sortable += text[i++];
      continue;
    }
    let first = start;
    while (first < i - 1 && text[first] === "0") first++;
    sortable += LENGTHS[Math.min(i - first, LENGTHS.length - 1)] + text.slice(first, i);
  }
  return storable(sortable);
}

/** The letters for the lengths of numbers: "a" for one digit. */
const LENGTHS = "`abcdefghijklmnopqrstuvwxyz";

function isDigit(text: string, position: number): boolean {
  const unit = text.charCodeAt(position);
  return unit >= 0x30 && unit <= 0x39;
}
