/**
 * Finds the events of servers whose rows a transaction changes. The rows before the change are locked.
 *
 * @module
 */
import { HOUR_MS } from "../../core/quantities.ts";
import type { ServerRecord } from "../../core/record.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { type Database, isInList, listValue, type Row } from "../database/database.ts";
import type { KnownServer } from "../rows/known_servers.ts";
import { readJson, readTexts } from "../rows/json_cells.ts";
import { SERVER_COLUMNS, type ServerValues } from "../rows/server_values.ts";
import { fieldExpression, fieldOf } from "../rows/stored_record.ts";
import { differencesOf, WATCHED_COLUMNS } from "./compare.ts";
import { type FoundEvents, limitEvents } from "./event_limits.ts";
import type { EventBody } from "./watch_event.ts";

/** A server before and after a reply. */
export interface Transition {
  /** `servers.id`. */
  readonly id: number;
  /** The stored data of the server before the reply; `undefined`: the server is new. */
  readonly before: KnownServer | undefined;
  /** The reply. */
  readonly record: ServerRecord;
  /** The columns of the reply. */
  readonly values: ServerValues;
  /** Whether the server counts as online after the reply. */
  readonly online: boolean;
  /** When the server was probed, Unix milliseconds of the database's clock. */
  readonly at: number;
  /** The failed polls after the reply, because of which the server is offline again. Default: unknown. */
  readonly outage?: { readonly misses: number; readonly since: number | null };
}

/** Which changes are events. */
export interface DetectionRules {
  /** Whether a change of only the players is an event. */
  readonly reportsPlayers: boolean;
  /**
   * For scans: a server that replies for the first time is `new`, and one that replies again after at
   * least this time is `back`, milliseconds. Default: both are `online`, as in a watch.
   */
  readonly backAfterMs?: number;
  /** Every protocol of the program. */
  readonly allProtocols: readonly Protocol[];
}

/** Columns of `servers` that are read if the content differs. */
const READ_COLUMNS = [...WATCHED_COLUMNS, "guid" as const].filter((name) => name !== "players_max");
/** The position in {@linkcode SERVER_COLUMNS} of each column that is read. */
const POSITIONS = READ_COLUMNS.map((name) =>
  SERVER_COLUMNS.findIndex(([column]) => column === name)
);

/**
 * The events of servers, in the order of the transitions, without those beyond the limit of an hour.
 * Reads columns of `servers` if the content differs: it has to run after the rows of `server_state` were
 * written, and before those of `servers` are updated.
 */
export async function detectChanges(
  database: Database,
  transitions: readonly Transition[],
  rules: DetectionRules,
): Promise<readonly FoundEvents[]> {
  const different = transitions.filter(({ before, values }) =>
    before !== undefined && before.content !== values.content
  );
  const rows = await readColumns(database, different.map(({ id }) => id));
  const offlineEvents = await readOfflineEvents(database, transitions.filter(comesBack));
  const found = transitions.map((one) => {
    const { id, at } = one;
    return { id, at, events: eventsOf(one, rows.get(id), offlineEvents.get(id), rules) };
  });
  return await limitEvents(database, found);
}

async function readColumns(
  database: Database,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Row>> {
  if (ids.length === 0) return new Map();
  const columns = READ_COLUMNS.map((name) => `${fieldExpression(name)} as ${name}`).join(", ");
  const rows = await database.rows(
    `select s.id, ${columns} from servers s where ${isInList(database, "s.id", "integer")}`,
    [listValue(database, ids)],
  );
  return new Map(rows.map((row) => [Number(row.id), row]));
}

/** Whether a server that was offline replied. */
function comesBack({ before, online }: Transition): boolean {
  return online && before?.state !== undefined && before.state.repliedAt !== null &&
    !before.state.online;
}

/** The last event with which a server went offline. */
interface OfflineEvent {
  readonly at: number;
  /** When the first of the failed polls ended; the time of the event if none did. */
  readonly since: number;
}

/** The last events with which servers went offline, by `servers.id`. */
async function readOfflineEvents(
  database: Database,
  transitions: readonly Transition[],
): Promise<ReadonlyMap<number, OfflineEvent>> {
  if (transitions.length === 0) return new Map();
  const isOffline = "kind in ('offline', 'opted_out')";
  const rows = await database.rows(
    "select e.server, e.at, e.data from events e join (select server, max(at) as at from events " +
      `where ${isInList(database, "server", "integer")} and ${isOffline} group by server) last ` +
      `on last.server = e.server and last.at = e.at where ${isOffline}`,
    [listValue(database, transitions.map(({ id }) => id))],
  );
  return new Map(rows.map(({ server, at, data }) => {
    const { unresponsive_since: since } = Object(readJson(String(data), "facts"));
    return [Number(server), {
      at: Number(at),
      since: typeof since === "number" ? since : Number(at),
    }];
  }));
}

/**
 * Since when a server is offline, Unix milliseconds: since the first of the failed polls, unless the server has
 * replied since the event, or the event was removed. In that case, since the database recorded the change.
 */
function offlineTime({ changedAt, state }: KnownServer, event: OfflineEvent | undefined): number {
  return event !== undefined && event.at >= (state?.repliedAt ?? 0) ? event.since : changedAt;
}

/** A server that replies to a scan again is `back` if its last reply was so long ago, milliseconds. */
export const BACK_AFTER_MS = HOUR_MS;

/** For how long a server that replies again was missed, milliseconds; `undefined`: it was not missed. */
export function missingMs(
  { before, at }: Pick<Transition, "before" | "at">,
): number | undefined {
  const state = before?.state;
  if (state === undefined || state.repliedAt === null) return undefined;
  return state.online && state.missedScans === 0 ? undefined : Math.max(0, at - state.repliedAt);
}

function eventsOf(
  transition: Transition,
  row: Row | undefined,
  wentOffline: OfflineEvent | undefined,
  { reportsPlayers, backAfterMs, allProtocols }: DetectionRules,
): EventBody[] {
  const { before, record, online, at } = transition;
  const [state, events] = [before?.state, [] as EventBody[]];
  const hasReplied = state !== undefined && state.repliedAt !== null;
  const missing_ms = missingMs(transition);
  if (backAfterMs !== undefined && !hasReplied) events.push({ event: "new", server: record });
  else if (backAfterMs !== undefined && missing_ms !== undefined && missing_ms >= backAfterMs) {
    events.push({ event: "back", server: record, missing_ms });
  } else if (online && !(hasReplied && state.online)) {
    const offline_ms = hasReplied ? Math.max(0, at - offlineTime(before!, wentOffline)) : null;
    events.push({ event: "online", server: record, offline_ms });
  }
  if (hasReplied && (row !== undefined || reportsPlayers)) {
    events.push(...replyDifferences(transition, row, allProtocols));
  }
  if (!online && state?.online) events.push(offlineEvent(state.repliedAt, transition));
  return events;
}

/** The event of a server that goes offline. `repliedAt`: the last reply, Unix milliseconds. */
export function offlineEvent(
  repliedAt: number | null,
  { outage }: Pick<Transition, "outage">,
): EventBody {
  const { misses, since } = outage ?? { misses: 0, since: null };
  return { event: "offline", misses, replied_at: repliedAt, unresponsive_since: since };
}

function replyDifferences(
  { before, record, values }: Transition,
  row: Row | undefined,
  allProtocols: readonly Protocol[],
): EventBody[] {
  const { state, players, columns } = before!;
  const earlier = {
    guid: null,
    flags: columns.flags ?? [], // another program may have removed them
    players: readTexts(players),
    players_online: state!.playersOnline,
    ...(row && {
      ...Object.fromEntries(READ_COLUMNS.map((name) => [name, fieldOf(name, row[name])])),
      players_max: state!.playersMax,
    }),
  };
  const now = {
    guid: null,
    flags: record.flags,
    players: readTexts(values.players),
    players_online: values.playersOnline,
    ...(row && {
      ...Object.fromEntries(
        READ_COLUMNS.map((name, i) => [name, fieldOf(name, values.columns[POSITIONS[i]])]),
      ),
      players_max: values.playersMax,
    }),
  };
  return differencesOf(earlier, now, allProtocols);
}
