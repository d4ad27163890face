/**
 * The truth about a fleet: what stands where, and what a correct scanner reports of it. One JSON
 * object per line.
 *
 * @module
 */
import type { Facts, ServerRecord } from "../core/record.ts";

/** What a protocol's answer lets conclude about the software behind it. */
export interface Label {
  /** Its name, and its version where it tells one. */
  readonly software: string;
  /** How sure that is. */
  readonly confidence: "A" | "B" | "C";
  /** The proxy that it is. */
  readonly proxy?: string;
  /** What else the answer shows. */
  readonly flags?: readonly string[];
}

/** What one protocol of a server should tell. */
export interface Truth {
  /** Columns; those that are missing are null. */
  readonly columns: Partial<ServerRecord>;
  /** Flags. */
  readonly flags: readonly string[];
  /** What stands under `extras.<protocol>`. */
  readonly facts: Facts;
  /** What is to be concluded; missing where nothing is. */
  readonly label?: Label;
}

/** One host of a fleet. */
export interface ManifestEntry {
  /** Its address. */
  readonly host: string;
  /** Its port. */
  readonly port: number;
  /** The `host:port` where the same server stands a second time: one of two rows is an alias. */
  readonly twin?: string;
  /** Its software, or its trick. */
  readonly software: string;
  /** Whether a scanner has to report it: not when it is hostile, and not when it opted out. */
  readonly listed: boolean;
  /** What each of its protocols should tell, by protocol. */
  readonly truth: Readonly<Record<string, Truth>>;
  /** What RakNet tells besides when it is verified; missing when there is nothing to verify. */
  readonly verified?: Truth;
}

/** The entry as a scan that verifies has to report it. */
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

/** The manifest as text. */
export function formatManifest(entries: readonly ManifestEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

/**
 * Reads a manifest that {@linkcode formatManifest} wrote.
 *
 * @throws SyntaxError that names the line which does not hold a host.
 */
export function parseManifest(text: string): ManifestEntry[] {
  return text.split("\n").flatMap((line, i) => {
    if (line === "") return [];
    const entry = entryOf(line);
    if (entry === undefined) throw new SyntaxError(`line ${i + 1} is not a host of a fleet`);
    return [entry];
  });
}

/** The host that a line holds, if it holds one. */
function entryOf(line: string): ManifestEntry | undefined {
  let entry: Partial<ManifestEntry> | null;
  try {
    entry = JSON.parse(line);
  } catch {
    return undefined; // no JSON
  }
  const isHost = typeof entry?.host === "string" && typeof entry.port === "number" &&
    typeof entry.listed === "boolean" && typeof entry.truth === "object" && entry.truth !== null;
  return isHost ? entry as ManifestEntry : undefined;
}
