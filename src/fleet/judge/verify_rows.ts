/**
 * Holding the output of a scan against the truth about the fleet that was scanned.
 *
 * @module
 */
import { parse } from "@std/csv";
import { type Facts, serverId, type ServerRecord } from "../../core/record.ts";
import { withCommas } from "../../core/quantities.ts";
import { harmlessText } from "../../core/text.ts";
import { jsonFromCells, recordFromJson } from "../../sinks/read_rows.ts";
import { expectRow, findable, type ScannedSelection } from "./expected_rows.ts";
import { type ManifestEntry, withVerified } from "../manifest.ts";

/** What a comparison found. */
export interface RowsVerdict {
  /** Hosts that the scan had to find. */
  readonly expected: number;
  /** Hosts that it found. */
  readonly found: number;
  /** Found hosts of which every field is right. */
  readonly right: number;
  /** Found hosts of which a part of the protocols is missing, the rest right. */
  readonly partial: number;
  /** What is wrong, a line each: missing, invented, doubled and wrong rows. */
  readonly faults: readonly string[];
}

/** Whether every server was found, with every field right. */
export function isFlawless({ expected, right, faults }: RowsVerdict): boolean {
  return faults.length === 0 && right === expected;
}

/** What a comparison found, as text: a line, and one for each of the first faults. */
export function verdictLines(name: string, verdict: RowsVerdict, shown = 10): string[] {
  const { expected, found, right, partial, faults } = verdict;
  const parts = partial === 0 ? "" : `${withCommas(partial)} in part, `;
  const summary = `${name}: ${withCommas(found)} of ${withCommas(expected)} servers found, ` +
    `${withCommas(right)} rows right in every field, ${parts}${withCommas(faults.length)} faults`;
  return [summary, ...faults.slice(0, shown).map((fault) => `  ${harmlessText(fault)}`)];
}

/** Reads rows from NDJSON. */
export function readNdjson(text: string): ServerRecord[] {
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Reads rows from CSV; those that it does not hold whole are none. */
export function readCsv(text: string): ServerRecord[] {
  const [head, ...rows] = parse(text);
  return rows.flatMap((cells) => recordFromJson(jsonFromCells(head, cells) ?? {}) ?? []);
}

/** In CSV, control characters are written as pictures. */
function asCsvHolds(value: unknown): unknown {
  if (typeof value !== "string") return value;
  return value.replace(/\p{Cc}/gu, (char) => String.fromCharCode(0x2400 + char.charCodeAt(0)));
}

/**
 * Compares rows with the truth, field by field.
 *
 * @param format What the rows were read from.
 */
export function verifyAgainstManifest(
  entries: readonly ManifestEntry[],
  rows: readonly ServerRecord[],
  selection: ScannedSelection,
  format: "csv" | "ndjson",
): RowsVerdict {
  const faults: string[] = [];
  const byId = new Map<string, ServerRecord>();
  const all = new Map(rows.map((row) => [serverId(row), row]));
  for (const row of rows) {
    if (byId.has(serverId(row))) faults.push(`${serverId(row)}: two rows`);
    byId.set(serverId(row), row);
  }
  const verdict = { expected: 0, found: 0, right: 0, partial: 0 };
  for (const entry of selection.verify ? entries.map(withVerified) : entries) {
    const protocols = findable(entry, selection);
    const row = byId.get(serverId(entry));
    byId.delete(serverId(entry));
    if (protocols.length > 0) verdict.expected++;
    if (row === undefined) {
      if (protocols.length > 0) faults.push(`${serverId(entry)}: missing (${entry.software})`);
    } else if (protocols.length === 0) {
      faults.push(`${serverId(entry)}: a row of a host without one (${entry.software})`);
    } else {
      verdict.found++;
      verdict[judge(entry, row, protocols, format, faults)]++;
      faults.push(...aliasFaults(entry, row, all));
    }
  }
  for (const id of byId.keys()) faults.push(`${id}: invented`);
  return { ...verdict, faults };
}

/** Flags of rows in which losses left gaps. */
const LOSSY: ReadonlySet<string> = new Set([
  "fullLost",
  "statLost",
  "statusLost",
  "truncated",
]);

/** Of a server that stands twice, one row is an alias of the other; no other row is one. */
function aliasFaults(
  entry: ManifestEntry,
  { alias_of: alias }: ServerRecord,
  rows: ReadonlyMap<string, ServerRecord>,
): string[] {
  const other = entry.twin === undefined ? undefined : rows.get(entry.twin);
  const wanted = other !== undefined && other.alias_of === null ? entry.twin : null;
  if (alias === wanted) return [];
  return [`${serverId(entry)} (${entry.software}): alias_of is ${alias}, expected ${wanted}`];
}

/** Whether a row is right as a whole or in part; what is wrong with it goes to the faults. */
function judge(
  entry: ManifestEntry,
  row: ServerRecord,
  protocols: readonly string[],
  format: "csv" | "ndjson",
  faults: string[],
): "right" | "partial" {
  const answered = protocols.filter((name) => row.protocols.includes(name));
  const lossy = lacksChunks(entry, row) || row.flags.some((flag) => LOSSY.has(flag)) &&
      !Object.values(entry.truth).some(({ flags }) =>
        flags.some((flag) => row.flags.includes(flag))
      );
  if (lossy) return "partial";
  const expected = expectRow(entry, answered.length === 0 ? protocols : answered);
  for (const [name, value] of Object.entries(expected)) {
    const actual = row[name as keyof ServerRecord];
    const wanted = format === "csv" ? asCsvHolds(value) : value;
    if (canonical(actual) !== canonical(wanted)) {
      faults.push(
        `${serverId(entry)} (${entry.software}): ${name} is ${canonical(actual)}, ` +
          `expected ${canonical(wanted)}`,
      );
    }
  }
  faults.push(...implausible(row).map((what) => `${serverId(entry)} (${entry.software}): ${what}`));
  return answered.length === protocols.length ? "right" : "partial";
}

/** Whether SQP chunks behind the first are missing: a server that has none is silent too. */
function lacksChunks({ truth }: ManifestEntry, { extras }: ServerRecord): boolean {
  const chunksOf = (facts?: Facts) => (facts?.chunks ?? []) as readonly string[];
  const [all, some] = [chunksOf(truth.sqp?.facts), chunksOf(extras?.sqp)];
  return some.length > 0 && some.length < all.length && some.every((name, i) => name === all[i]);
}

/** What no manifest can say, but no row may lack. */
function implausible(row: ServerRecord): string[] {
  const { latency_ms: latency, seen_at: seen, scan_id: scan } = row;
  const wrong: string[] = [];
  if (typeof latency !== "number" || latency < 0 || latency > 60_000) {
    wrong.push(`latency_ms is ${latency}`);
  }
  if (!Number.isSafeInteger(seen) || seen < 1.7e12) wrong.push(`seen_at is ${seen}`);
  if (!/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(scan ?? "")) {
    wrong.push(`scan_id is ${scan}`);
  }
  return wrong;
}

/** JSON with sorted keys, flags sorted too: equal for equal values. */
function canonical(value: unknown): string {
  return JSON.stringify(
    value ?? null,
    (_, inner) =>
      inner !== null && typeof inner === "object" && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1))
        : inner,
  );
}
