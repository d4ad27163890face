/**
 * Decides which results of polls are written to a database, and when: changes at once, the states of
 * servers without a change at an interval.
 *
 * @module
 */
import { ATTACHMENTS, type RecordWithAttachments, type ServerRecord } from "../core/record.ts";
import type { ServerEvent } from "../store/events/watch_event.ts";
import type { PolledServer } from "../store/mod.ts";
import type { PendingEvents } from "./pending_events.ts";
import type { PollQueue } from "./poll_queue.ts";
import type { WatchedServer } from "./watched_server.ts";

/** Interval of observations of a server without a change, milliseconds. */
const UNCHANGED_MS = 3_600_000;
/** Interval at which the state of a server without a change is written, milliseconds. */
const STATE_INTERVAL_MS = 60_000;
/** The writes of unchanged servers are spread over this number of seconds. */
const SPREAD_SECONDS = 60;

interface PollResult {
  readonly events: readonly ServerEvent[];
  /** When the poll ended, Unix milliseconds. */
  readonly at: number;
  /** The reply with its attachments; `undefined`: no reply. */
  readonly reply: RecordWithAttachments | undefined;
}

/** A server, and the times of what was last queued for it. */
interface PollProgress {
  readonly server: WatchedServer;
  /** When an observation was last queued, Unix milliseconds. */
  observedAt: number;
  /** When the server's state was last queued, Unix milliseconds. */
  queuedAt: number;
  /** Number of failed polls in a row after the last poll. */
  misses: number;
  /** Number of polls since an observation was last queued. */
  polls: number;
  /** When the last of them ended, Unix milliseconds. */
  polledAt: number;
}

export class PollStates {
  /** States of servers without a change, by key: written at their interval, or at the end. */
  readonly #unchanged = new Map<string, PolledServer>();
  /** By key. */
  readonly #progress = new Map<string, PollProgress>();

  /**
   * Starts without any server.
   *
   * @param queue Receives the states and observations.
   * @param pending Keeps the events until a transaction has decided them. Default: the last event of
   * each kind is kept.
   * @param scanId The watch's identity, UUIDv7.
   */
  constructor(
    private readonly queue: PollQueue,
    private readonly pending: PendingEvents | undefined,
    private readonly scanId: string,
  ) {}

  /**
   * Queues the state of a server, and an observation if one is due. A crawl does not queue the failed
   * polls of a server that is still online.
   *
   * @param server The server, with its state after the poll.
   * @param observeSince An observation is due if the last one is older, Unix milliseconds.
   */
  add(server: WatchedServer, result: PollResult, observeSince: number): void {
    const { events, at } = result;
    const { misses, online, rules: { isCrawl } } = server;
    const progress = this.#progress.get(server.identity.key) ?? this.#startProgress(server, at);
    progress.polls++;
    progress.polledAt = at;
    if (isCrawl && online && misses > 0) return; // after a restart the server is as overdue as before
    const state = this.#stateAfter(server, result);
    const { key } = state.identity;
    const isChanged = events.length > 0 || misses !== progress.misses;
    progress.misses = misses;
    if (
      isChanged || this.queue.servers.has(key) || isOver(progress.queuedAt, STATE_INTERVAL_MS, at)
    ) {
      progress.queuedAt = at;
      this.#queueState(state);
    } else this.#unchanged.set(key, state);
    const isDue = events.length > 0 || isOver(progress.observedAt, UNCHANGED_MS, at) ||
      progress.observedAt < observeSince;
    if (isDue && isObservable(server)) {
      this.#queueState(state); // the row of a server precedes its observations
      this.#queueObservation(progress, result);
    }
  }

  /** The state of a server after a poll, with candidates of earlier polls that are not written yet. */
  #stateAfter(server: WatchedServer, { events, at }: PollResult): PolledServer {
    const { row, misses, identity, subject, partial, dropped, outage, queried } = server;
    const { key } = identity;
    const earlier = this.queue.servers.get(key) ?? this.#unchanged.get(key);
    const hasReplied = misses === 0 && row !== undefined;
    const waiting = earlier?.candidates ?? [];
    return {
      identity,
      subject,
      record: hasReplied ? row : earlier?.record,
      partial: hasReplied ? partial : earlier?.partial,
      dropped,
      outage,
      queried,
      at,
      candidates: this.pending?.add(server, waiting, events) ??
        lastOfEachKind([...waiting, ...events]),
    };
  }

  #queueState(state: PolledServer): void {
    const { identity: { key } } = state;
    this.#unchanged.delete(key);
    this.queue.servers.set(key, state);
  }

  #queueObservation(
    progress: PollProgress,
    { events, at, reply }: PollResult,
  ): void {
    const { server: { row, misses, identity, outage }, polls } = progress;
    progress.observedAt = at;
    progress.polls = 0;
    const record = misses === 0 && row !== undefined ? withAttachments(row, reply) : undefined;
    // The server has been offline since the first of the failed polls.
    const isNew = events.some(({ event }) => event === "offline");
    const observedAt = isNew ? outage!.since : at;
    this.queue.observations.push({ scanId: this.scanId, identity, at: observedAt, polls, record });
  }

  /** Removes a server that is polled no more, and its state if that is not queued yet. */
  delete(key: string): void {
    this.#unchanged.delete(key);
    this.#progress.delete(key);
  }

  /**
   * Records which servers are online by the events that were reported.
   *
   * @param online Whether servers are online in the database, by key.
   */
  decided(online: ReadonlyMap<string, boolean>): void {
    const states = [...online].flatMap(([key, isOnline]) => {
      const server = this.#progress.get(key)?.server;
      return server === undefined ? [] : [[server, isOnline] as const];
    });
    this.pending?.settle(states);
  }

  /** Queues all states that wait for their interval, and an observation of each server that was polled since its last one. */
  queueUnchanged(): void {
    for (const [key, state] of this.#unchanged) this.queue.servers.set(key, state);
    this.#unchanged.clear();
    for (const progress of this.#progress.values()) {
      if (progress.polls === 0 || !isObservable(progress.server)) continue;
      this.#queueObservation(progress, { events: [], at: progress.polledAt, reply: undefined });
    }
  }

  /** Records when the state of a new server is first queued. The state intervals of servers begin at different seconds. */
  #startProgress(server: WatchedServer, at: number): PollProgress {
    const second = this.#progress.size % SPREAD_SECONDS;
    const queuedAt = at - STATE_INTERVAL_MS * second / SPREAD_SECONDS;
    const progress = { server, observedAt: -Infinity, queuedAt, misses: 0, polls: 0, polledAt: at };
    this.#progress.set(server.identity.key, progress);
    return progress;
  }
}

/** Whether a server's state is known. After a failed poll of an online server it is not. */
function isObservable({ row, misses, online }: WatchedServer): boolean {
  return row !== undefined && (misses === 0 || !online);
}

/** Whether an interval is over. Also `true` if the clock was set back to before the start. */
function isOver(start: number, intervalMs: number, at: number): boolean {
  return at - start >= intervalMs || at < start;
}

/** A record with the attachments of the reply. A record that keeps an earlier icon gets no other one. */
function withAttachments(
  row: ServerRecord,
  reply: RecordWithAttachments | undefined,
): RecordWithAttachments {
  const attachments = reply?.[ATTACHMENTS];
  if (attachments === undefined) return row;
  const { icon: _, ...others } = attachments;
  const isOwn = reply?.favicon_hash === row.favicon_hash;
  return { ...row, [ATTACHMENTS]: isOwn ? attachments : others };
}

function lastOfEachKind(events: readonly ServerEvent[]): readonly ServerEvent[] {
  return [...new Map(events.map((event) => [event.event, event])).values()];
}
