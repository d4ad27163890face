/**
 * What a watch tells: one event per change of a server.
 *
 * @module
 */
import type { ServerRecord } from "../core/record.ts";
import { storable } from "../store/server_columns.ts";

/** What every event says. */
export interface WatchNote {
  /** When it was noticed, Unix milliseconds. */
  readonly at: number;
  /** The server's address. */
  readonly host: string;
  /** Its port. */
  readonly port: number;
  /** The name it is watched by; `null` for an address. */
  readonly requested_as: string | null;
  /** The scan's name of the watch, UUIDv7. */
  readonly scan_id: string;
}

/** A value before, and now. */
export type Change = readonly [before: unknown, now: unknown];

/** An event. */
export type WatchEvent =
  & WatchNote
  & (
    /** It answers, for the first time or again; `offline_ms` says after how long. */
    | {
      readonly event: "online";
      readonly server: ServerRecord;
      readonly offline_ms: number | null;
    }
    /** It has not answered so many polls in a row; `last_seen` is Unix milliseconds. */
    | { readonly event: "offline"; readonly misses: number; readonly last_seen: number | null }
    /** Columns have other values. */
    | { readonly event: "changed"; readonly changes: Readonly<Record<string, Change>> }
    /** Somebody came or left; names where they are kept and published. */
    | {
      readonly event: "players";
      readonly players_online: Change;
      readonly joined?: readonly string[];
      readonly left?: readonly string[];
    }
    /** The same place, another RakNet GUID: it was started anew. */
    | { readonly event: "restarted"; readonly guid: Change }
    /** Its address asks scanners to stay away: it is polled no more. */
    | { readonly event: "opted_out" }
  );

/** The columns in which a change is told; players, GUID and times have events of their own, or none. */
export const WATCHED: readonly (keyof ServerRecord)[] = [
  ...["protocols", "edition", "software", "proxy", "motd", "version", "protocol_version"] as const,
  ...["map", "gamemode", "players_max", "plugins", "port_v4", "port_v6", "favicon_hash"] as const,
];

/** The watched columns in which two rows differ. */
export function changesOf(before: ServerRecord, now: ServerRecord): Record<string, Change> {
  const changes: Record<string, Change> = {};
  for (const column of WATCHED) {
    if (!isSame(before[column], now[column])) changes[column] = [before[column], now[column]];
  }
  return changes;
}

/** Values of columns: scalars, or lists of them or of plugins; texts as lists hold them. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a === "string" && typeof b === "string") return storable(a) === storable(b);
  return typeof a === "object" && JSON.stringify(a) === JSON.stringify(b);
}

/** Who is in the second list and not in the first. */
export function newIn(before: readonly string[] | null, now: readonly string[] | null): string[] {
  const known = new Set(before ?? []);
  return (now ?? []).filter((name) => !known.has(name));
}
