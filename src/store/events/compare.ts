/**
 * Finds what changed between two records of a server.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { CONTENT } from "../rows/content_hash.ts";
import { storable } from "../rows/stored_values.ts";
import { shortenChanges } from "./event_limits.ts";
import type { Change, EventBody } from "./watch_event.ts";

/** Columns of the content hash whose changes are not events `changed`. */
const UNWATCHED: readonly (keyof ServerRecord)[] = ["guid", "joinable"];

/** Columns whose changes `changed` reports. Players and GUID have other events; times have none. */
export const WATCHED_COLUMNS: readonly (keyof ServerRecord)[] = CONTENT.filter((name) =>
  !UNWATCHED.includes(name)
);

/** The watched columns in which two records differ, with both values. */
export function changesOf(
  before: Partial<ServerRecord>,
  now: Partial<ServerRecord>,
): Record<string, Change> {
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

/**
 * The columns of a record that are compared to find changes. A watched column that is missing in
 * both records counts as equal.
 */
export type ComparedRecord =
  & Pick<ServerRecord, "guid" | "players_online" | "players">
  & Partial<ServerRecord>;

/**
 * The events between two replies of an online server: `restarted`, `changed` and `players`, in this
 * order. Equal numbers of other players are a change too, if both records have the names of all
 * players.
 *
 * @param allProtocols Every protocol of the program.
 */
export function differencesOf(
  before: ComparedRecord,
  now: ComparedRecord,
  allProtocols: readonly Protocol[],
): EventBody[] {
  const events: EventBody[] = [];
  const showsRun = (guid: string | null) =>
    guid !== null && allProtocols.some((one) => one.guidChangesOnRestart?.(guid));
  if (before.guid !== now.guid && showsRun(before.guid) && showsRun(now.guid)) {
    events.push({ event: "restarted", guid: [before.guid, now.guid] });
  }
  const changes = changesOf(before, now);
  if (Object.keys(changes).length > 0) {
    events.push({ event: "changed", ...shortenChanges(changes) });
  }
  if (now.players_online === null) return events;
  const joined = addedNames(before.players, now.players);
  const left = addedNames(now.players, before.players);
  const areOthers = joined.length + left.length > 0 && listsAll(before) && listsAll(now);
  if (before.players_online === now.players_online && !areOthers) return events;
  const haveNames = before.players !== null && now.players !== null;
  events.push({
    event: "players",
    players_online: [before.players_online, now.players_online],
    ...(haveNames && { joined, left }),
  });
  return events;
}

/**
 * Whether a record has the names of all players. Some servers publish a random sample, which differs
 * from reply to reply.
 */
function listsAll({ players, players_online: online }: ComparedRecord): boolean {
  return players !== null && players.length === online;
}
