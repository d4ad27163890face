/**
 * Results of a watch's polls that are written to a database.
 *
 * @module
 */
import type { Address } from "../../core/address.ts";
import type { ServerRecord } from "../../core/record.ts";
import type { EventSubject, ServerEvent, WatcherEvent } from "../events/watch_event.ts";
import type { ServerIdentity } from "../rows/identity.ts";

export interface OptOut {
  /** The address whose servers are not queried any more. */
  readonly address: Address;
  /** When a reply first carried the opt-out, Unix milliseconds. */
  readonly at: number;
}

/** Failed polls in a row by which a watch considers a server offline. Times are Unix milliseconds. */
export interface MissedPolls {
  /** Number of failed polls in a row. */
  readonly misses: number;
  /** When the first of them ended. */
  readonly since: number;
  /**
   * When the first of the last `downAfter` failed polls ended (`misses` may be larger). A reply to
   * another program after this time keeps the server online.
   */
  readonly decisiveSince: number;
}

export interface PolledServer {
  readonly identity: ServerIdentity;
  /** The members that all events of the server have. */
  readonly subject: EventSubject;
  /** The newest reply since the server was last written; `undefined`: no reply. */
  readonly record: ServerRecord | undefined;
  /**
   * That reply as the server sent it, if it lacks parts of the server's status. `record` has the parts
   * of earlier replies in their place.
   */
  readonly partial?: ServerRecord;
  /**
   * Names of parts that so many replies of the watch's own polls lacked that they lose their values.
   * Other parts that the reply lacks keep theirs. Default: all parts that the reply lacks.
   */
  readonly dropped?: readonly string[];
  /**
   * The failed polls because of which the watch considers the server offline; `undefined`: the watch does
   * not consider it so.
   */
  readonly outage: MissedPolls | undefined;
  /**
   * Names of the protocols in which the server was polled. Columns of other protocols, which another
   * program may have written, are kept. `undefined`: all protocols.
   */
  readonly queried?: readonly string[];
  /** When the server was polled, Unix milliseconds. */
  readonly at: number;
  /** The changes since the server was last written, as the watch has seen them, in order. */
  readonly candidates: readonly ServerEvent[];
}

export interface PollObservation {
  /** The watch's identity, UUIDv7. */
  readonly scanId: string;
  readonly identity: ServerIdentity;
  /** When the server was polled, Unix milliseconds. */
  readonly at: number;
  /** Number of polls since the watch's observation of the server before, this one included. */
  readonly polls: number;
  /** The server's reply; `undefined`: the server is offline. */
  readonly record: ServerRecord | undefined;
}

/** A server that a watch polls no more because its address opted out. */
export interface DroppedServer {
  readonly identity: ServerIdentity;
  /** The event of the opt-out, as the watch has seen it. */
  readonly event: ServerEvent;
}

/** Results of polls that one transaction writes. */
export interface Polls {
  /** The watch's identity, UUIDv7. */
  readonly scanId: string;
  /** Since when the watch has written to the database without a failure, Unix milliseconds. */
  readonly writableSince: number;
  /** At most one entry per server. */
  readonly servers: readonly PolledServer[];
  /** Observations of changes, and hourly ones. */
  readonly observations: readonly PollObservation[];
  /** Addresses that opted out. */
  readonly optOuts: readonly OptOut[];
  /** Servers that are polled no more. */
  readonly dropped: readonly DroppedServer[];
  /** Events of the watch itself. */
  readonly watcherEvents: readonly WatcherEvent[];
}
