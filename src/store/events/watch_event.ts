/**
 * The events of a watch. Each reports one change of a server, or of the watch's own network.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";

/** The server of an event, and the watch that detected it. */
export interface EventSubject {
  /** The server's address in canonical form. */
  readonly host: string;
  /** The server's UDP or TCP port. */
  readonly port: number;
  /** The host name that the user gave for the server; `null` when the user gave an address. */
  readonly requested_as: string | null;
  /** The watch's identity, UUIDv7. */
  readonly scan_id: string;
  /** The server's name in its last record; `null`: it has none, or never replied. */
  readonly name: string | null;
}

/** The members that all events have. */
export interface WatchEventBase extends EventSubject {
  /** When the change was detected, Unix milliseconds. */
  readonly at: number;
  /** The event's identity, UUIDv7. Ids of one watch sort in the order of its events. */
  readonly id: string;
}

/** A column's old value and new value. */
export type ColumnChange = readonly [before: unknown, now: unknown];

/**
 * What happened to a server, with a type in the member `event`. `limit_reached`: there are so many
 * events of the server with one of these columns, or of this kind, that no more of them are reported
 * within an hour.
 */
export type EventBody =
  /**
   * The server replied: for the first time (`offline_ms` is null), or after it was offline for
   * `offline_ms` milliseconds.
   */
  | {
    readonly event: "online";
    readonly server: ServerRecord;
    readonly offline_ms: number | null;
  }
  /** A scan has found a server that the database did not know, or that had never replied. */
  | { readonly event: "new"; readonly server: ServerRecord }
  /**
   * The server replied to a scan again, `missing_ms` milliseconds after its last reply. Scans or polls
   * have missed it since.
   */
  | { readonly event: "back"; readonly server: ServerRecord; readonly missing_ms: number }
  /**
   * A scan asked the server, which had replied before, and got no reply. `packet_loss`: the share of
   * probes that the scan lost by its own estimate, 0 to 1; `null`: unknown.
   */
  | {
    readonly event: "lost";
    readonly replied_at: number;
    readonly packet_loss: number | null;
  }
  /**
   * The server failed `misses` polls in a row. `replied_at`: last reply; `unresponsive_since`: the first
   * failed poll in a row, `null` if it is unknown; Unix milliseconds.
   */
  | {
    readonly event: "offline";
    readonly misses: number;
    readonly replied_at: number | null;
    readonly unresponsive_since: number | null;
  }
  /**
   * Watched columns have other values than at the poll before. `shortened`: the columns whose values
   * are too long for an event; their texts end with an ellipsis, and lists have their first elements.
   */
  | {
    readonly event: "changed";
    readonly changes: Readonly<Record<string, ColumnChange>>;
    readonly shortened?: readonly string[];
    readonly limit_reached?: true;
  }
  /** The players changed. `joined` and `left` are present when the server lists names. */
  | {
    readonly event: "players";
    readonly players_online: ColumnChange;
    readonly joined?: readonly string[];
    readonly left?: readonly string[];
  }
  /** The RakNet GUID changed, which happens at a restart of the server. */
  | { readonly event: "restarted"; readonly guid: ColumnChange; readonly limit_reached?: true }
  /** The server's address opted out. The watch polls the address no more. */
  | { readonly event: "opted_out" };

/** An event of a server. */
export type ServerEvent = WatchEventBase & EventBody;

/**
 * Why a watch does not reach its servers: the system refuses to send (the link is down, or there is no
 * route), or no server replies.
 */
export type OfflineReason = "no_route" | "no_reply";

/** What happened to the watch itself, or a scan as a whole, with a type in the member `event`. */
export type WatcherEventBody =
  /** The watch reaches no server. `since`: its last reply, or its start, Unix milliseconds. */
  | { readonly event: "watcher_offline"; readonly since: number; readonly reason: OfflineReason }
  /** The watch reaches servers again. `offline_ms`: the time since `since` of `watcher_offline`. */
  | { readonly event: "watcher_online"; readonly offline_ms: number }
  /**
   * A scan has ended, and not all of its servers that are new, back or lost have events of their own:
   * it was the first scan of the database, or there are too many of them. Also an import: `scan_id` is
   * `null`.
   */
  | {
    readonly event: "scan_summary";
    readonly new: number;
    readonly back: number;
    readonly lost: number;
    /** Number of events `new`, `back` and `lost` of this scan; 0 of an import. */
    readonly reported: number;
    /** How the scan ended: an interrupted one has probed a part of its targets. Missing of an import. */
    readonly state?: "finished" | "interrupted" | "failed";
  };

/** An event of the watch itself, or of a scan as a whole. It is about no server. */
export type WatcherEvent =
  & Readonly<Record<"host" | "port" | "requested_as" | "name", null>>
  & Pick<WatchEventBase, "at" | "id">
  & { readonly scan_id: string | null }
  & WatcherEventBody;

/** An event of a watch. */
export type WatchEvent = ServerEvent | WatcherEvent;

/** An event to report. */
export interface ReportedEvent {
  /** The event. */
  readonly event: WatchEvent;
  /** Whether the table `events` of the database has the event. */
  readonly isStored: boolean;
}

/** An event of a server with the members that all events have, and what happened. */
export function newEvent(base: WatchEventBase, body: EventBody): ServerEvent {
  return Object.assign({ event: body.event }, base, body);
}

/** An event of the watch itself. */
export function newWatcherEvent(
  { at, scan_id, id }: Pick<WatchEventBase, "at" | "id" | "scan_id">,
  body: WatcherEventBody,
): WatcherEvent {
  const subject = { host: null, port: null, requested_as: null, scan_id, name: null };
  return Object.assign({ event: body.event }, { at, id, ...subject }, body);
}

/** Whether an event is about the watch itself or a whole scan, and no server. */
export function isWatcherEvent(event: WatchEvent): event is WatcherEvent {
  return event.host === null;
}

/**
 * The kinds of events, in the order of metrics. The compiler refuses this list if a kind is
 * missing.
 */
export const EVENT_KINDS: readonly string[] = Object.keys(
  {
    online: true,
    offline: true,
    new: true,
    back: true,
    lost: true,
    changed: true,
    players: true,
    restarted: true,
    opted_out: true,
    scan_summary: true,
    watcher_offline: true,
    watcher_online: true,
  } satisfies Record<WatchEvent["event"], true>,
);
