/**
 * Writes a watch's results to a database: the state of servers, their events, and observations.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import { replacedProtocols, scanOnlyColumns } from "../../protocols/declared_facts.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import { type NumberedRecord, writeAttached } from "./attachments.ts";
import type { Database, Value } from "../database/database.ts";
import { offlineEvent } from "../events/detect.ts";
import { type PollEvents, pollEvents, type UnconfirmedEvents } from "./poll_events.ts";
import type { EventBody, ReportedEvent } from "../events/watch_event.ts";
import { PART_COLUMNS, withKeptColumns } from "../merging/kept_columns.ts";
import { withoutForgotten } from "../forget/tombstones.ts";
import { writeOptOuts } from "./opt_outs.ts";
import { type KnownServer, readKnownServers } from "../rows/known_servers.ts";
import { observationValues, writeObservations } from "./observation_rows.ts";
import type { MissedPolls, PolledServer, PollObservation, Polls } from "./polls.ts";
import { scanNumbers } from "../rows/scan_numbers.ts";
import { onlineInOtherWatches } from "../uptime/other_watches.ts";
import { writeUnanswered } from "../rows/server_state.ts";
import { serverValues } from "../rows/server_values.ts";
import { isReplaced, markChanged, type ServerWrite, writeServers } from "./write_servers.ts";

export interface PollRules {
  /** Creates the identity of an event, UUIDv7, from its time, Unix milliseconds. */
  readonly newEventId: (at: number) => string;
  /** The events of transactions whose outcome is unknown. */
  readonly unconfirmed: UnconfirmedEvents;
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
  /** Tags that the servers get that reply. Default: none. */
  readonly tags?: readonly string[];
}

/** What a transaction with results of polls has decided. */
export interface WrittenPolls {
  /**
   * The events that this transaction wrote, or an earlier one of the watch whose outcome was unknown:
   * changes that no other program has reported. Also the candidates of servers without a row.
   */
  readonly events: readonly ReportedEvent[];
  /**
   * Whether each polled server is online in the database, by key. A server without a row is offline if
   * the watch considers it so.
   */
  readonly online: ReadonlyMap<string, boolean>;
}

/** Writes results of polls in one transaction. Writing the same results again changes nothing. */
export async function writePolls(
  database: Database,
  all: Polls,
  options: PollRules,
): Promise<WrittenPolls> {
  const { newEventId, unconfirmed, allProtocols, tags } = options;
  const columns = [...scanOnlyColumns(allProtocols), ...PART_COLUMNS];
  let online = new Map<string, boolean>();
  const events = await unconfirmed.write(database, async (attempt) => {
    const polls = await remembered(database, all);
    const { servers, observations, dropped } = polls;
    const keys = [...servers, ...observations, ...dropped].map(({ identity }) => identity.key);
    const known = await readKnownServers(database, [...new Set(keys)], { columns, attempt });
    const scans = await scanNumbers(database, [
      polls.scanId,
      ...servers.map(({ record }) => record?.scan_id ?? null),
      ...observations.map(({ scanId }) => scanId),
    ]);
    const ids = new Map([...known].map(([key, { id }]) => [key, id]));
    online = statesBefore(servers, known);
    const lost = await lostServers(database, polls, known, scans.get(polls.scanId));
    const replied = servers.flatMap((polled) =>
      repliedWrite(polled, { database, known, scans, lost, allProtocols })
    );
    const writes = await completed(database, servers, replied, known, options);
    const reports = { reportsNew: true, reportsPlayers: true };
    const rules = { replacesSameTime: true, ...reports, allProtocols, tags };
    const found = new Map<string, readonly EventBody[]>();
    for (const written of await writeServers(database, writes, known, rules)) {
      const { identity: { key }, online: isOnline } = written.write;
      ids.set(key, written.id);
      found.set(key, written.events);
      online.set(key, written.wins ? isOnline : written.before!.state!.online);
    }
    for (const [key, event] of await writeFailed(database, servers, known, lost)) {
      found.set(key, [event]);
      online.set(key, false);
    }
    const complete = new Map(writes.map(({ identity, record }) => [identity.key, record]));
    await writePollObservations(database, observations, { ids, scans, complete });
    const optedOut = await writeOptOuts(database, polls.optOuts);
    const changes: PollEvents = { polls, ids, found, optedOut, scans, newEventId };
    return await pollEvents(database, changes);
  });
  return { events, online };
}

/** Whether polled servers are online before the transaction changes them, by key. */
function statesBefore(
  servers: readonly PolledServer[],
  known: ReadonlyMap<string, KnownServer>,
): Map<string, boolean> {
  return new Map(servers.flatMap(({ identity: { key }, outage }): [string, boolean][] => {
    const online = known.get(key)?.state?.online ?? (outage && false);
    return online === undefined ? [] : [[key, online]];
  }));
}

/** The results without those of forgotten servers. */
async function remembered(database: Database, polls: Polls): Promise<Polls> {
  const { servers: polled, observations: seen, dropped: left } = polls;
  const [servers, observations, dropped] = await withoutForgotten(database, [polled, seen, left]);
  return { ...polls, servers, observations, dropped };
}

/** What the writes of servers that replied are made from. */
interface RepliedContext extends Pick<PollRules, "allProtocols"> {
  readonly database: Database;
  readonly known: ReadonlyMap<string, KnownServer>;
  readonly scans: ReadonlyMap<string | null, number>;
  /** The keys of the servers that the watch's failed polls make offline. */
  readonly lost: ReadonlySet<string>;
}

/**
 * The write of a server that replied. Columns that only scans fill keep their values, unless the server
 * has changed its transport.
 */
function repliedWrite(
  polled: PolledServer,
  { database, known, scans, lost, allProtocols }: RepliedContext,
): ServerWrite[] {
  const { clockOffsetMs } = database;
  const { identity, record: latest, partial, outage, at } = polled;
  if (latest === undefined) return [];
  const before = known.get(identity.key);
  const reply = before === undefined ? latest : partial ?? latest;
  const record: Record<string, unknown> = { ...reply };
  const { columns = {} } = before ?? {};
  const replaced = replacedProtocols(columns.protocols ?? [], reply.protocols, allProtocols);
  const kept = scanOnlyColumns(replaced.length > 0 ? [] : allProtocols);
  for (const name of before === undefined ? [] : kept) record[name] ??= columns[name];
  const repliedAt = reply.seen_at + clockOffsetMs;
  return [{
    identity,
    record: record as unknown as ServerRecord,
    scan: scans.get(reply.scan_id) ?? null,
    online: !lost.has(identity.key),
    missedScans: 0,
    outage,
    firstSeen: before?.firstSeen ?? repliedAt,
    // The poll may have ended later than the reply: meanwhile another program may have received a newer one.
    probedAt: outage === undefined ? repliedAt : at + clockOffsetMs,
    repliedAt,
  }];
}

/** Completes writes with the stored columns that were not polled, or that the replies lack. */
async function completed(
  database: Database,
  servers: readonly PolledServer[],
  writes: readonly ServerWrite[],
  known: ReadonlyMap<string, KnownServer>,
  { allProtocols }: PollRules,
): Promise<readonly ServerWrite[]> {
  const polled = new Map(servers.map((server) => [server.identity.key, server]));
  const byRecord = new Map(
    writes.map(({ record, identity }) => [record, polled.get(identity.key)]),
  );
  return await withKeptColumns(database, writes, known, {
    protocols: allProtocols.map(({ name }) => name),
    allProtocols,
    follow: true,
    verify: true, // the write has the columns that only scans fill
    protocolsFor: (record) => byRecord.get(record)?.queried,
    dropped: (record) => byRecord.get(record)?.dropped,
  });
}

/**
 * The keys of the servers that the watch's failed polls make offline. No other program got a reply
 * since the first of them, and no other running watch found the server online.
 *
 * @param scan `scans.id` of the watch; `undefined`: its identity is not a UUID.
 */
async function lostServers(
  database: Database,
  { servers, writableSince: since }: Polls,
  known: ReadonlyMap<string, KnownServer>,
  scan = 0,
): Promise<ReadonlySet<string>> {
  const failed = servers.filter(({ identity, outage }) =>
    outage !== undefined && !hasReplySince(known.get(identity.key), outage, database)
  );
  const online = failed.flatMap(({ identity }) => {
    const { id, state } = known.get(identity.key) ?? {};
    return id !== undefined && state?.online ? [id] : [];
  });
  const at = Math.max(0, ...failed.map((polled) => polled.at)) + database.clockOffsetMs;
  const writableSince = since + database.clockOffsetMs;
  const elsewhere = await onlineInOtherWatches(database, { scan, at, writableSince }, online);
  const keys = failed.map(({ identity: { key } }) => key);
  return new Set(keys.filter((key) => !elsewhere.has(known.get(key)?.id ?? 0)));
}

/** Whether another program got a reply since the first of the failed polls that show an outage. */
function hasReplySince(
  known: KnownServer | undefined,
  { decisiveSince }: MissedPolls,
  { clockOffsetMs }: Database,
): boolean {
  const repliedAt = known?.state?.repliedAt ?? null;
  return repliedAt !== null && repliedAt >= decisiveSince + clockOffsetMs;
}

/**
 * Writes the states of known servers that did not reply. Lost servers that count as online become
 * offline.
 *
 * @returns The events of servers that became offline, by key.
 */
async function writeFailed(
  database: Database,
  servers: readonly PolledServer[],
  known: ReadonlyMap<string, KnownServer>,
  lost: ReadonlySet<string>,
): Promise<(readonly [key: string, event: EventBody])[]> {
  const failed = servers.flatMap(({ identity, record, outage, at: polledAt }) => {
    const before = known.get(identity.key);
    if (record !== undefined || before?.state === undefined) return [];
    const { state: { online: wasOnline, missedScans, repliedAt, probedAt, version } } = before;
    const goesOffline = wasOnline && lost.has(before.key);
    const now = database.now();
    const failedAt = polledAt + database.clockOffsetMs;
    const isNew = isReplaced(before, { probedAt: failedAt }, { replacesSameTime: true }, now);
    // Of two watches without a reply, the one with the older poll may be the last that writes.
    if (!isNew && !goesOffline) return [];
    const at = isNew ? failedAt : probedAt;
    const online = wasOnline && !goesOffline;
    const event = goesOffline ? offlineEvent(repliedAt, { outage }) : undefined;
    return [{ id: before.id, key: before.key, online, missedScans, at, version, event }];
  });
  await writeUnanswered(database, failed);
  const changed = failed.filter(({ event }) => event !== undefined).toSorted((a, b) => a.id - b.id);
  await markChanged(database, changed.map(({ id }) => id));
  return changed.map(({ key, event }) => [key, event!] as const);
}

/** Writes observations, and the attachments of their records. */
async function writePollObservations(
  database: Database,
  observations: readonly PollObservation[],
  { ids, scans, complete }: {
    readonly ids: ReadonlyMap<string, number>;
    readonly scans: ReadonlyMap<string | null, number>;
    /** The records that were written, by key. */
    readonly complete: ReadonlyMap<string, ServerRecord>;
  },
): Promise<void> {
  const rows: Value[][] = [];
  const attached: NumberedRecord[] = [];
  for (const { scanId, identity, at: polledAt, polls, record } of observations) {
    const [id, scan] = [ids.get(identity.key), scans.get(scanId)];
    if (id === undefined || scan === undefined) continue; // no row: the server never replied
    const key = { server: id, at: polledAt + database.clockOffsetMs, scan };
    if (record === undefined) rows.push(observationValues(key, polls));
    else {
      const written = complete.get(identity.key);
      const whole = written?.seen_at === record.seen_at ? written : record;
      const values = serverValues(whole, identity);
      rows.push(observationValues(key, polls, { values, latencyMs: record.latency_ms }));
      attached.push({ id, record });
    }
  }
  await writeObservations(database, rows);
  await writeAttached(database, attached);
}
