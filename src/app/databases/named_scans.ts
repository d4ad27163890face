/**
 * The scans that a user names: by the start of an identity, a word or a time.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import type { EndedScan } from "../../store/mod.ts";

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: HOUR_MS, d: DAY_MS };

const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
/** The start of an identity: enough of a UUIDv7 for a minute. */
const ID_START = /^[\da-f]{8}[\da-f-]{0,28}$/;

/** What a word names: a time by which a scan had ended, a place in the list, or an identity. */
type ScanName =
  | { readonly by: number }
  | { readonly place: "last" | "first" }
  | { readonly id: string };

/** What a word may be, for messages. */
export const SCAN_NAMES =
  "last, first, yesterday, 24h, a day such as 2026-01-31, a time such as 2026-01-31T08:00Z, or at least 8 " +
  "characters of an ID as scans prints it";

/** Whether a word has the form of a scan's name. */
export function isScanName(word: string): boolean {
  return readName(word, 0) !== undefined;
}

function readName(word: string, now: number): ScanName | undefined {
  if (word === "last" || word === "first") return { place: word };
  if (word === "yesterday") return { by: Math.floor(now / DAY_MS) * DAY_MS - 1 };
  const [, ago, unit] = /^(\d{1,6})([mhd])$/.exec(word) ?? [];
  if (ago !== undefined) return { by: now - Number(ago) * UNITS[unit] };
  const at = DATE.test(word)
    ? Date.parse(word) + DAY_MS - 1
    : TIME.test(word)
    ? Date.parse(word)
    : NaN;
  if (!Number.isNaN(at)) return { by: at };
  const lower = word.toLowerCase();
  return ID_START.test(lower) ? { id: lower } : undefined;
}

/**
 * Finds the scan that a word names. A time, `24h`, `yesterday` or a day (UTC) names the last scan that had
 * ended by then, or by the end of that day.
 *
 * @param scans The scans that can be compared, the newest first.
 * @throws InputError when there is none, or more than one.
 */
export function namedScan(word: string, scans: readonly EndedScan[], now: number): EndedScan {
  const name = readName(word, now);
  if (name === undefined) {
    throw new InputError(`Cannot find the scan "${word}": expected ${SCAN_NAMES}`);
  }
  const none = (why: string) => new InputError(`Cannot find the scan "${word}": ${why}`);
  if (scans.length === 0) throw none("no scan of the database has ended");
  if ("place" in name) return name.place === "last" ? scans[0] : scans.at(-1)!;
  if ("by" in name) {
    const ended = scans.filter(({ endedAt }) => endedAt <= name.by);
    const latest = ended.toSorted((a, b) => b.endedAt - a.endedAt)[0];
    if (latest !== undefined) return latest;
    const first = new Date(Math.min(...scans.map(({ endedAt }) => endedAt))).toISOString();
    throw none(`no scan had ended by then; the first one ended at ${first}`);
  }
  const matching = scans.filter(({ id }) => id.startsWith(name.id));
  if (matching.length === 1) return matching[0];
  throw none(
    matching.length === 0
      ? "no finished scan has this ID; scans that were interrupted, watches and imports cannot be compared"
      : `${matching.length} scans have IDs that begin so; write more characters`,
  );
}
