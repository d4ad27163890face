/**
 * The events of a watch. Each reports one change of a server.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import { storable } from "../rows/stored_values.ts";

/** The members that all events have. */
export interface WatchEventBase {
  /** When the change was detected, Unix milliseconds. */
  readonly at: number;
  /** The server's address in canonical form. */
  readonly host: string;
  /** The server's UDP or TCP port. */
  readonly port: number;
  /** The host name that the user gave for the server; `null` when the user gave an address. */
  readonly requested_as: string | null;
  /** The watch's identity, UUIDv7. */
  readonly scan_id: string;
  /** The event's identity, UUIDv7. Ids of one watch sort in the order of its events. */
  readonly id: string;
  /** The server's name in its last record; `null`: it has none, or never replied. */
  readonly name: string | null;
}

/** A column's old value and new value. */
export type Change = readonly [before: unknown, now: unknown];

/** An event of a watch, with a type in its member `event`. */
export type WatchEvent =
  & WatchEventBase
  & (
    /** The server replied: for the first time (`offline_ms` is null), or after it was offline so long. */
    | {
      readonly event: "online";
      readonly server: ServerRecord;
      readonly offline_ms: number | null;
    }
    /** The server failed `misses` polls in a row. `last_seen`: last reply, Unix milliseconds. */
    | { readonly event: "offline"; readonly misses: number; readonly last_seen: number | null }
    /** Watched columns have other values than at the poll before. */
    | { readonly event: "changed"; readonly changes: Readonly<Record<string, Change>> }
    /** The number of players changed. `joined` and `left` are present when the server lists names. */
    | {
      readonly event: "players";
      readonly players_online: Change;
      readonly joined?: readonly string[];
      readonly left?: readonly string[];
    }
    /** The RakNet GUID changed, which happens at a restart of the server. */
    | { readonly event: "restarted"; readonly guid: Change }
    /** The server's address opted out. The watch polls the address no more. */
    | { readonly event: "opted_out" }
  );

/** The kinds of events, in the order of metrics. The compiler refuses this list if one is missing. */
export const EVENT_KINDS: readonly string[] = Object.keys(
  {
    online: true,
    offline: true,
    changed: true,
    players: true,
    restarted: true,
    opted_out: true,
  } satisfies Record<WatchEvent["event"], true>,
);

/** Columns whose changes `changed` reports. Players and GUID have other events; times have none. */
export const WATCHED_COLUMNS: readonly (keyof ServerRecord)[] = [
  "protocols",
  "edition",
  "software",
  "proxy",
  "motd",
  "version",
  "protocol_version",
  "map",
  "gamemode",
  "players_max",
  "plugins",
  "port_v4",
  "port_v6",
  "favicon_hash",
];

/** The watched columns in which two records differ, with both values. */
export function changesOf(before: ServerRecord, now: ServerRecord): Record<string, Change> {
  const changes: Record<string, Change> = {};
  for (const column of WATCHED_COLUMNS) {
    if (!isEqual(before[column], now[column])) changes[column] = [before[column], now[column]];
  }
  return changes;
}

/** Compares values of columns. Texts are equal when a database would store equal texts. */
function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a === "string" && typeof b === "string") return storable(a) === storable(b);
  return typeof a === "object" && JSON.stringify(a) === JSON.stringify(b);
}

/** The names that the second list has and the first list does not have. */
export function addedNames(
  before: readonly string[] | null,
  now: readonly string[] | null,
): string[] {
  const earlier = new Set(before ?? []);
  return (now ?? []).filter((name) => !earlier.has(name));
}
