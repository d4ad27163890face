/**
 * The events of a watch's transaction: what it stores, and what it reports.
 *
 * @module
 */
import { type Database, isInList, listValue } from "../database/database.ts";
import type { OptedOutServer } from "./opt_outs.ts";
import type { PolledServer, Polls } from "./polls.ts";
import { eventData } from "./server_events.ts";
import {
  type EventBody,
  type EventSubject,
  newEvent,
  type ReportedEvent,
  type ServerEvent,
  type WatcherEvent,
} from "../events/watch_event.ts";
import { type EventRow, writeEvents } from "../events/write_events.ts";

/** What a transaction of a watch has changed. */
export interface PollEvents {
  readonly polls: Polls;
  /** `servers.id` of the servers that have a row, by key. */
  readonly ids: ReadonlyMap<string, number>;
  /** The changes of servers that were polled, by key. */
  readonly found: ReadonlyMap<string, readonly EventBody[]>;
  /** The servers whose addresses have just opted out. */
  readonly optedOut: readonly OptedOutServer[];
  /** `scans.id` by the identity of a scan. */
  readonly scans: ReadonlyMap<string | null, number>;
  /** Creates the identity of an event, UUIDv7, from its time, Unix milliseconds. */
  readonly newEventId: (at: number) => string;
}

/** An event, and the server that it is about. */
interface NumberedEvent {
  readonly server: number;
  readonly event: ServerEvent;
  readonly body: EventBody;
}

/**
 * Stores the events of changes. An event gets the identity and the time of the candidate of its
 * kind, if there is one: the event as the watch saw it.
 *
 * @returns The events to report: the stored ones, the events of players, and the candidates of servers
 * that have no row.
 */
export async function pollEvents(
  database: Database,
  changes: PollEvents,
): Promise<readonly ReportedEvent[]> {
  const { polls: { scanId, servers, dropped, watcherEvents }, ids, scans } = changes;
  const events = [
    ...servers.flatMap((polled) => eventsOfPolled(polled, changes)),
    ...changes.optedOut.map((server) => optOutEvent(server, changes)),
  ];
  const scan = scans.get(scanId) ?? null;
  const isStored = ({ event }: { readonly event: ServerEvent }) => event.event !== "players";
  const rows = events.filter(isStored).map((one) => eventRow(one, scan, database));
  const own = watcherEvents.map((event) => watcherRow(event, scan, database));
  await writeEvents(database, [...rows, ...own]);
  const unknown = [
    ...servers.filter(({ identity }) => !ids.has(identity.key)).flatMap((one) => one.candidates),
    ...dropped.filter(({ identity }) => !ids.has(identity.key)).map(({ event }) => event),
  ];
  return [
    ...events.map((one) => ({ event: one.event, isStored: isStored(one) })),
    ...unknown.map((event) => ({ event, isStored: false })),
    ...watcherEvents.map((event) => ({ event, isStored: true })),
  ];
}

function eventsOfPolled(
  { identity, subject, record, at, candidates }: PolledServer,
  { ids, found, newEventId }: PollEvents,
): NumberedEvent[] {
  const server = ids.get(identity.key);
  if (server === undefined) return [];
  const current = { ...subject, name: record?.name ?? subject.name };
  return (found.get(identity.key) ?? []).map((body) => {
    const candidate = candidates.findLast(({ event }) => event === body.event);
    const event = eventOf(body, current, candidate?.at ?? at, candidate?.id, newEventId);
    return { server, event, body };
  });
}

function optOutEvent(
  { id: server, key, host, port, hostname, name, at }: OptedOutServer,
  { polls: { scanId, dropped }, newEventId }: PollEvents,
): NumberedEvent {
  const candidate = dropped.find(({ identity }) => identity.key === key)?.event;
  const subject = { host, port, requested_as: hostname, scan_id: scanId, name };
  const body = { event: "opted_out" } as const;
  return { server, event: candidate ?? eventOf(body, subject, at, undefined, newEventId), body };
}

function eventOf(
  body: EventBody,
  subject: EventSubject,
  at: number,
  id: string | undefined,
  newEventId: (at: number) => string,
): ServerEvent {
  return newEvent({ at, ...subject, id: id ?? newEventId(at) }, body);
}

function watcherRow(
  { event: kind, at, id, scan_id: _, host: _1, port: _2, requested_as: _3, name: _4, ...data }:
    WatcherEvent,
  scan: number | null,
  { clockOffsetMs }: Database,
): EventRow {
  return { id, at: at + clockOffsetMs, server: null, scan, kind, data };
}

function eventRow(
  { server, event: { event: kind, at, id }, body }: NumberedEvent,
  scan: number | null,
  { clockOffsetMs }: Database,
): EventRow {
  return { id, at: at + clockOffsetMs, server, scan, kind, data: eventData(body) };
}

/**
 * The events of a transaction whose outcome is unknown: the connection was lost during its commit.
 * If it was committed, the transaction changes nothing when it runs again, and its events are in
 * the table `events`.
 */
export class UnconfirmedEvents {
  #events: readonly ReportedEvent[] = [];

  /**
   * Runs a transaction that results in events.
   *
   * @param work Writes events, and returns them.
   * @returns The events of this transaction, after those of an earlier one that turns out to be
   * committed.
   */
  async write(
    database: Database,
    work: (attempt: number) => Promise<readonly ReportedEvent[]>,
  ): Promise<readonly ReportedEvent[]> {
    const earlier = this.#events;
    const events = await database.transaction(async (attempt) => {
      const confirmed = await isCommitted(database, earlier) ? earlier : [];
      const all = [...confirmed, ...await work(attempt)];
      this.#events = [...new Map(all.map((one) => [one.event.id, one])).values()];
      return this.#events;
    });
    this.#events = [];
    return events;
  }
}

/** Whether the table `events` has any of the events: a transaction stores all or none. */
async function isCommitted(
  database: Database,
  events: readonly ReportedEvent[],
): Promise<boolean> {
  if (events.length === 0) return false;
  const ids = listValue(database, events.map(({ event }) => event.id));
  const isOne = isInList(database, "id", "uuid");
  return (await database.rows(`select 1 as one from events where ${isOne} limit 1`, [ids])).length >
    0;
}
