/**
 * The record that a correct scan reports for a host of a fleet. The rules of merging and labelling are
 * implemented here independently of the scanner. Each implementation therefore checks the other.
 *
 * @module
 */
import { FIELDS, type ServerRecord } from "../../core/record.ts";
import type { Label, ManifestEntry, Truth } from "../manifest.ts";

/** The options of the scan of a fleet. */
export interface ScannedSelection {
  /** Names of the selected protocols. */
  readonly protocols: readonly string[];
  /** The swept ports of a protocol. */
  readonly ports: (protocol: string) => readonly number[];
  /** Whether servers were queried in the other protocols after the first reply. */
  readonly follow: boolean;
  /** Whether the scan verified that players can join. Default: no. */
  readonly verify?: boolean;
}

/** A record without the columns that vary between scans. */
export type ExpectedRow = Omit<ServerRecord, "latency_ms" | "seen_at" | "scan_id" | "alias_of">;

const ONLY_THE_SCAN_KNOWS = new Set(["latency_ms", "seen_at", "scan_id", "alias_of"]);

/** Order of protocols in `protocols`, and default order of precedence for columns. */
const ORDER = ["raknet", "nethernet", "slp", "query", "sqp", "lan"];
/** Columns in which Query has precedence. */
const QUERY_FIRST = ["players_online", "players_max", "players", "plugins", "map", "software"];
/** Order of precedence of labels with equal confidence. */
const LABELLERS = ["query", "slp", "raknet", "nethernet", "sqp"];
/** Flags for different values in two protocols, and the compared columns. */
const AGREE: readonly (readonly [flag: string, columns: readonly (keyof ServerRecord)[]])[] = [
  ["editionDiffers", ["edition"]],
  ["motdDiffers", ["motd_plain"]],
  ["versionDiffers", ["version"]],
  ["playersDiffer", ["players_online", "players_max"]],
];

/** The protocols in which a scan finds a host; none if the host must not or cannot be found. */
export function findable({ listed, port, truth }: ManifestEntry, scan: ScannedSelection): string[] {
  const speaks = ORDER.filter((name) => name in truth && scan.protocols.includes(name));
  const found = speaks.filter((name) => scan.ports(name).includes(port));
  if (!listed || found.length === 0) return [];
  const replied = scan.follow ? speaks : found.slice(0, 1);
  return replied.every((name) => truth[name].weak) ? [] : replied;
}

/** The record of a host that replied in the given protocols. */
export function expectRow(entry: ManifestEntry, protocols: readonly string[]): ExpectedRow {
  const truths = protocols.map((name) => entry.truth[name]);
  const columns = Object.fromEntries(
    FIELDS.filter(({ name }) => !ONLY_THE_SCAN_KNOWS.has(name))
      .map(({ name }) => [name, preferred(entry, protocols, name)]),
  ) as unknown as ExpectedRow;
  const labels = labelsOf(entry, protocols);
  const [label] = labels;
  return {
    ...columns,
    software: label?.software ?? columns.software,
    software_confidence: label?.confidence ?? null,
    proxy: labels.find(({ proxy }) => proxy !== undefined)?.proxy ?? null,
    host: entry.host,
    port: entry.port,
    protocol: protocols[0],
    protocols,
    flags: [
      ...new Set([
        ...[...truths, ...labels].flatMap(({ flags }) => flags ?? []),
        ...disagreements(truths),
      ]),
    ].sort(),
    extras: Object.fromEntries(protocols.map((name) => [name, entry.truth[name].facts])),
  };
}

/** A host's labels in descending confidence, then in the order of LABELLERS. */
function labelsOf({ truth }: ManifestEntry, protocols: readonly string[]): Label[] {
  return LABELLERS.filter((name) => protocols.includes(name))
    .flatMap((name) => truth[name].label ?? [])
    .sort((a, b) => a.confidence < b.confidence ? -1 : a.confidence > b.confidence ? 1 : 0);
}

function preferred(
  { truth }: ManifestEntry,
  protocols: readonly string[],
  column: keyof ServerRecord,
): unknown {
  const queryFirst = QUERY_FIRST.includes(column) && protocols.includes("query");
  const order = queryFirst ? ["query", ...protocols] : protocols;
  return order.map((name) => truth[name].columns[column]).find((value) => value != null) ?? null;
}

function disagreements(truths: readonly Truth[]): string[] {
  const differs = (column: keyof ServerRecord) => {
    const values = truths.map(({ columns }) => columns[column]).filter((value) => value != null)
      .map((value) => column === "version" ? String(value).replace(/^v/, "") : value);
    if (column !== "players_online") return new Set(values).size > 1;
    const sorted = (values as number[]).toSorted((a, b) => a - b);
    const [least, most] = [sorted.at(0) ?? 0, sorted.at(-1) ?? 0];
    return most > least + 5 && 5 * least < 4 * most;
  };
  return AGREE.filter(([, columns]) => columns.some(differs)).map(([flag]) => flag);
}
