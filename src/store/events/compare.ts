/**
 * Finds what changed between two records of a server.
 *
 * @module
 */
import { CUT_SHORT } from "../../core/flags.ts";
import type { ServerRecord } from "../../core/record.ts";
import { isShorteningFlag } from "../../protocols/declared_facts.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { CONTENT } from "../rows/content_hash.ts";
import { storable } from "../rows/stored_values.ts";
import { shortenChanges } from "./event_limits.ts";
import type { ColumnChange, EventBody } from "./watch_event.ts";

/** Columns of the content hash whose changes are not events `changed`. */
const UNWATCHED: readonly (keyof ServerRecord)[] = ["guid", "joinable"];

/** Columns whose changes `changed` reports. Players and GUID have other events; times have none. */
export const WATCHED_COLUMNS: readonly (keyof ServerRecord)[] = CONTENT.filter((name) =>
  !UNWATCHED.includes(name)
);

/**
 * The watched columns in which two records differ, with both values. What differs only because a reply
 * lacks a part is no change.
 */
function changesOf(
  before: Partial<ServerRecord>,
  now: Partial<ServerRecord>,
  allProtocols: readonly Protocol[],
): Record<string, ColumnChange> {
  const changes: Record<string, ColumnChange> = {};
  if (lacksProtocols(before, now) || lacksProtocols(now, before)) return changes;
  const lostBefore = lossOf(before, now, allProtocols);
  const lostNow = lossOf(now, before, allProtocols);
  for (const column of WATCHED_COLUMNS) {
    const [a, b] = [before[column], now[column]];
    const isLost = hasLost(lostBefore, a, b) || hasLost(lostNow, b, a);
    if (!isEqual(a, b) && (column === "protocols" || !isLost)) changes[column] = [a, b];
  }
  if (followsPlayers(before, now)) delete changes.players_max;
  const [protocol] = before.protocols ?? [];
  const [protocolNow] = now.protocols ?? [];
  if (protocol === protocolNow || protocolNow === undefined) return changes;
  return { protocol: [protocol ?? null, protocolNow], ...changes };
}

/**
 * Whether the number of slots has only followed the number of players: plugins such as ServerListPlus
 * always report one slot more than players.
 */
function followsPlayers(
  { players_online: online, players_max: slots }: Partial<ServerRecord>,
  now: Partial<ServerRecord>,
): boolean {
  if (online == null || slots == null || now.players_online == null || now.players_max == null) {
    return false;
  }
  return slots - online === now.players_max - now.players_online;
}

/**
 * Whether the interview of a record was cut short before a protocol was sent in which the other record
 * has a reply. Then any column may differ, although the server has not changed.
 */
function lacksProtocols(cut: Partial<ServerRecord>, whole: Partial<ServerRecord>): boolean {
  return (cut.flags ?? []).includes(CUT_SHORT) &&
    (whole.protocols ?? []).some((name) => !cut.protocols?.includes(name));
}

/** What a record lacks: `values`: some values; `ends`: the ends of some values too. */
type Loss = "nothing" | "values" | "ends";

/**
 * What flags report that a record lacks. If the other record has the same flags, no value that both have
 * counts as incomplete: some software ends each message too early.
 */
function lossOf(
  { flags }: Partial<ServerRecord>,
  other: Partial<ServerRecord>,
  allProtocols: readonly Protocol[],
): Loss {
  // A cell that another program broke is read as null.
  const lossy = (flags ?? []).filter((flag) => isShorteningFlag(flag, allProtocols));
  if (lossy.length === 0) return "nothing";
  return lossy.every((flag) => other.flags?.includes(flag)) ? "values" : "ends";
}

/** Whether a value can be what a loss left of another value. */
function hasLost(loss: Loss, value: unknown, whole: unknown): boolean {
  if (loss === "nothing") return false;
  if (value === null || loss === "values") return value === null;
  if (Array.isArray(value) && Array.isArray(whole)) {
    const intact = value.slice(0, -1);
    return isEqual(intact, whole.slice(0, intact.length));
  }
  return typeof value === "string" && typeof whole === "string" && whole.startsWith(value);
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
  const changes = changesOf(before, now, allProtocols);
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
