/**
 * The manifest of a fleet: its hosts, and the row that a correct scanner reports for each host. A file
 * has one JSON object per line.
 *
 * @module
 */
import { parseJson } from "../core/checked_values.ts";
import type { Facts, ServerRecord } from "../core/record.ts";

/** The classification that follows from a reply of one protocol. */
export interface Label {
  /** Name of the software, with its version when the reply contains one. */
  readonly software: string;
  /** Confidence of the classification; A is the highest. */
  readonly confidence: "A" | "B" | "C";
  /** Name of the proxy, when the software is one. */
  readonly proxy?: string;
  /** Flags of the classification. */
  readonly flags?: readonly string[];
}

/** What a correct scanner reads from one protocol of a host. */
export interface Truth {
  /** Values of columns. Missing columns are null. */
  readonly columns: Partial<ServerRecord>;
  /** Flags of the record. */
  readonly flags: readonly string[];
  /** The expected value of `extras.<protocol>` in the row. */
  readonly facts: Facts;
  /** The classification; `undefined` if the software cannot be classified. */
  readonly label?: Label;
  /**
   * Whether the reply makes a row only together with a reply in another protocol. Default: no.
   */
  readonly weak?: boolean;
}

/** A host of a fleet, and what a scanner reports for it. */
export interface ManifestEntry {
  /** The host's address in canonical form. */
  readonly host: string;
  /** The host's UDP or TCP port. */
  readonly port: number;
  /** A second `host:port` of the server. One of the two rows is an alias of the other. */
  readonly twin?: string;
  /**
   * Whether the host replies on every port with the same status. All its rows except one are aliases
   * of that one. Default: no.
   */
  readonly everyPort?: boolean;
  /** Name of the simulated software, or of the trick of a hostile host. */
  readonly software: string;
  /** Whether a scanner must report the host. Hostile and opted-out hosts must not be reported. */
  readonly listed: boolean;
  /** What a correct scanner reads, by protocol. */
  readonly truth: Readonly<Record<string, Truth>>;
  /**
   * What a verification adds to the expected RakNet values; `undefined`: the server cannot be
   * verified.
   */
  readonly verified?: Truth;
}

/** The entry for a scan that verifies whether players can join. */
export function withVerified(entry: ManifestEntry): ManifestEntry {
  const { truth, verified } = entry;
  if (verified === undefined) return entry;
  const raknet = {
    ...truth.raknet,
    columns: { ...truth.raknet.columns, ...verified.columns },
    flags: [...truth.raknet.flags, ...verified.flags],
    facts: { ...truth.raknet.facts, ...verified.facts },
  };
  return { ...entry, truth: { ...truth, raknet } };
}

/** Formats a manifest as NDJSON text. */
export function formatManifest(entries: readonly ManifestEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

/**
 * Parses a manifest in the form of {@linkcode formatManifest}.
 *
 * @throws SyntaxError with the number of the first line that is not a host.
 */
export function parseManifest(text: string): ManifestEntry[] {
  return text.split("\n").flatMap((line, i) => {
    if (line === "") return [];
    const entry = entryOf(line);
    if (entry === undefined) throw new SyntaxError(`line ${i + 1} is not a host of a fleet`);
    return [entry];
  });
}

/** Parses a line; `undefined` when the line is not a host. */
function entryOf(line: string): ManifestEntry | undefined {
  let entry: Partial<ManifestEntry> | null;
  try {
    entry = parseJson(line) as Partial<ManifestEntry> | null;
  } catch {
    return undefined; // no JSON, or nested too deeply
  }
  const isHost = typeof entry?.host === "string" && typeof entry.port === "number" &&
    typeof entry.listed === "boolean" && typeof entry.truth === "object" && entry.truth !== null;
  return isHost ? entry as ManifestEntry : undefined;
}
