/**
 * What row a correct scan reports of a host of the fleet: the rules of merging and of labels,
 * written down a second time and apart from the scanner's own, so that one checks the other.
 *
 * @module
 */
import { FIELDS, type ServerRecord } from "../../core/record.ts";
import type { Label, ManifestEntry, Truth } from "../manifest.ts";

/** How a fleet was scanned. */
export interface ScannedSelection {
  /** The protocols that were asked for. */
  readonly protocols: readonly string[];
  /** On which ports each was looked for. */
  readonly ports: (protocol: string) => readonly number[];
  /** Whether the first answer was followed by the other protocols. */
  readonly follow: boolean;
  /** Whether servers were verified. Default: no. */
  readonly verify?: boolean;
}

/** A row but for what only the scan can know: latency, time, scan, which of two came first. */
export type ExpectedRow = Omit<ServerRecord, "latency_ms" | "seen_at" | "scan_id" | "alias_of">;

const ONLY_THE_SCAN_KNOWS = new Set(["latency_ms", "seen_at", "scan_id", "alias_of"]);

/** Which protocol comes first, in rows and where nothing else is said. */
const ORDER = ["raknet", "slp", "query", "sqp", "nethernet", "lan"];
/** Columns in which Query comes first. */
const QUERY_FIRST = ["players_online", "players_max", "players", "plugins", "map", "software"];
/** Which protocol's label comes first where two are equally sure. */
const LABELLERS = ["query", "slp", "raknet", "sqp"];
/** Columns in which two protocols should agree, and the flag when they do not. */
const AGREE: readonly (readonly [flag: string, columns: readonly (keyof ServerRecord)[]])[] = [
  ["editionDiffers", ["edition"]],
  ["motdDiffers", ["motd_plain"]],
  ["versionDiffers", ["version"]],
  ["playersDiffer", ["players_online", "players_max"]],
];

/** The protocols with which a scan finds a host: none when it must not, or cannot, be found. */
export function findable({ listed, port, truth }: ManifestEntry, scan: ScannedSelection): string[] {
  const speaks = ORDER.filter((name) => name in truth && scan.protocols.includes(name));
  const found = speaks.filter((name) => scan.ports(name).includes(port));
  if (!listed || found.length === 0) return [];
  return scan.follow ? speaks : found.slice(0, 1);
}

/** The row of a host when these protocols of it answered. */
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

/** The labels, the surest first; among equals, that of the protocol that tells versions. */
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
  const differs = (column: keyof ServerRecord) =>
    new Set(
      truths.map(({ columns }) => columns[column]).filter((value) => value != null)
        .map((value) => column === "version" ? String(value).replace(/^v/, "") : value),
    ).size > 1;
  return AGREE.filter(([, columns]) => columns.some(differs)).map(([flag]) => flag);
}
