/**
 * Compares the rows of a scan with the manifest of the scanned fleet.
 *
 * @module
 */
import { parse } from "@std/csv";
import { type Facts, serverId, type ServerRecord } from "../../core/record.ts";
import { countOf, withCommas } from "../../core/quantities.ts";
import { harmlessText } from "../../core/text.ts";
import { jsonFromCells, recordFromJson } from "../../sinks/read_rows.ts";
import { isIncompleteFlag } from "../../protocols/declared_facts.ts";
import { PROTOCOLS } from "../../protocols/list.ts";
import { expectRow, findable, type ScannedSelection } from "./expected_rows.ts";
import { type ManifestEntry, withVerified } from "../manifest.ts";

/** The result of a comparison. */
export interface RowsVerdict {
  /** Number of hosts that the scan had to find. */
  readonly expected: number;
  /** Number of found hosts. */
  readonly found: number;
  /** Number of found hosts with every field correct. */
  readonly right: number;
  /** Number of found hosts that lack protocols or columns and are correct otherwise. */
  readonly partial: number;
  /** One line per error: missing, invented, duplicate and wrong rows. */
  readonly faults: readonly string[];
}

/** Whether every server was found with every field correct. */
export function isFlawless({ expected, right, faults }: RowsVerdict): boolean {
  return faults.length === 0 && right === expected;
}

/** Formats a comparison: a summary line, and a line for each of the first `shown` errors. */
export function verdictLines(name: string, verdict: RowsVerdict, shown = 10): string[] {
  const { expected, found, right, partial, faults } = verdict;
  const counts = { "in part": partial, wrong: found - right - partial };
  const others = Object.entries(counts).filter(([, count]) => count > 0)
    .map(([name, count]) => `${withCommas(count)} ${name}, `).join("");
  const summary = `${name}: ${withCommas(found)} of ${countOf(expected, "server")} found, ` +
    `${countOf(right, "row")} right in every field, ${others}${countOf(faults.length, "fault")}`;
  return [summary, ...faults.slice(0, shown).map((fault) => `  ${harmlessText(fault)}`)];
}

/** Parses the records of NDJSON text. */
export function readNdjson(text: string): ServerRecord[] {
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}

/** Parses the records of CSV text. Skips rows that are not complete records. */
export function readCsv(text: string): ServerRecord[] {
  const [head, ...rows] = parse(text);
  return rows.flatMap((cells) => recordFromJson(jsonFromCells(head, cells) ?? {}) ?? []);
}

/** A value after a round trip through CSV, where control characters become pictures. */
function asCsvHolds(value: unknown): unknown {
  if (typeof value !== "string") return value;
  return value.replace(/\p{Cc}/gu, (char) => String.fromCharCode(0x2400 + char.charCodeAt(0)));
}

/**
 * Compares records with a manifest, field by field.
 *
 * @param format The format of the file that the records were read from.
 * @param unknown The faults that the reader of the file found in rows, by the identifiers of the rows.
 */
export function verifyAgainstManifest(
  entries: readonly ManifestEntry[],
  rows: readonly ServerRecord[],
  selection: ScannedSelection,
  format: "csv" | "ndjson",
  unknown: ReadonlyMap<string, readonly string[]> = new Map(),
): RowsVerdict {
  const faults = [...unknown.values()].flat();
  const faulty = new Set(unknown.keys());
  const byId = new Map<string, ServerRecord>();
  const all = new Map(rows.map((row) => [serverId(row), row]));
  for (const row of rows) {
    if (byId.has(serverId(row))) {
      faults.push(`${serverId(row)}: two rows`);
      faulty.add(serverId(row));
    }
    byId.set(serverId(row), row);
  }
  const verdict = { expected: 0, found: 0, right: 0, partial: 0 };
  const wanted = entries.flatMap((entry) => entry.everyPort ? byPort(entry, rows) : [entry]);
  for (const entry of selection.verify ? wanted.map(withVerified) : wanted) {
    const protocols = findable(entry, selection);
    const row = byId.get(serverId(entry));
    byId.delete(serverId(entry));
    if (protocols.length > 0) verdict.expected++;
    if (row === undefined) {
      if (protocols.length > 0) faults.push(`${serverId(entry)}: missing (${entry.software})`);
    } else if (protocols.length === 0) {
      faults.push(`${serverId(entry)}: a row of a host that must not have one (${entry.software})`);
    } else {
      verdict.found++;
      const before = faults.length;
      const state = judge(entry, row, protocols, format, faults);
      faults.push(...aliasFaults(entry, row, all));
      if (faults.length === before && !faulty.has(serverId(entry))) verdict[state]++;
    }
  }
  for (const id of byId.keys()) faults.push(`${id}: invented`);
  return { ...verdict, faults };
}

/**
 * The entries of a host that replies on every port: one for each row, because a scan need not probe
 * all ports of such a host.
 */
function byPort(entry: ManifestEntry, rows: readonly ServerRecord[]): readonly ManifestEntry[] {
  const own = rows.filter(({ host }) => host === entry.host);
  const first = own.find(({ alias_of: alias }) => alias === null);
  if (first === undefined) return [entry];
  const twin = serverId(first);
  return own.map((row) => ({ ...entry, port: row.port, ...(row !== first && { twin }) }));
}

/**
 * Whether a flag excuses missing columns, because replies were lost or not requested. A flag for a
 * status that cannot be decoded is not an excuse, because every status of the fleet can be decoded.
 * The fleet speaks the protocols of PROTOCOLS.
 */
function isLossy(flag: string): boolean {
  return flag !== "statusMalformed" && isIncompleteFlag(flag, PROTOCOLS);
}

/**
 * Checks aliases. For a server on two endpoints, exactly one row must be an alias. No other row may
 * be one.
 */
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

/** Classifies a record as complete or incomplete, and appends its errors to `faults`. */
function judge(
  entry: ManifestEntry,
  row: ServerRecord,
  protocols: readonly string[],
  format: "csv" | "ndjson",
  faults: string[],
): "right" | "partial" {
  const replied = protocols.filter((name) => row.protocols.includes(name));
  const always = Object.values(entry.truth).flatMap(({ flags }) => flags);
  const lossy = lacksChunks(entry, row) ||
    row.flags.some((flag) => isLossy(flag) && !always.includes(flag));
  if (lossy) return "partial";
  const expected = expectRow(entry, replied.length === 0 ? protocols : replied);
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
  return replied.length === protocols.length ? "right" : "partial";
}

/**
 * Whether SQP chunks after the first are missing, because their replies were lost. No flag reports
 * that, because a server without these chunks sends no reply either.
 */
function lacksChunks({ truth }: ManifestEntry, { extras }: ServerRecord): boolean {
  const chunksOf = (facts?: Facts) => (facts?.chunks ?? []) as readonly string[];
  const [all, some] = [chunksOf(truth.sqp?.facts), chunksOf(extras?.sqp)];
  return some.length > 0 && some.length < all.length && some.every((name, i) => name === all[i]);
}

/** Checks the columns that vary between scans. A manifest does not contain them. */
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

/** JSON with sorted keys and sorted flags: equal values give equal text. */
function canonical(value: unknown): string {
  return JSON.stringify(
    value ?? null,
    (_, inner) =>
      inner !== null && typeof inner === "object" && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => a < b ? -1 : 1))
        : inner,
  );
}
