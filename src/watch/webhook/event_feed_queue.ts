/**
 * The events of a database that a webhook has not sent yet. The database keeps them, and the position of
 * the webhook, so that they survive the end of the program at any point. They are read again for each
 * request: an event whose server was forgotten, or that prune has removed, is not sent.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import { countOf } from "../../core/quantities.ts";
import { type Clock, waitAtMost } from "../../net/clock.ts";
import type { Database } from "../../store/database/database.ts";
import type { WatchEvent } from "../../store/events/watch_event.ts";
import {
  BEFORE_EVENTS,
  type EventPosition,
  forgottenEvents,
  forgottenState,
  laterPosition,
  LEASE_MS,
  MAX_COUNT,
  type SendableEvent,
  sendableEvents,
  type WebhookPosition,
} from "../../store/mod.ts";

/** Pause between two readings of the database, milliseconds. */
const PAUSE_MS = 1000;
/** A lease with less time left than this is renewed, milliseconds: a request takes up to 10 seconds. */
const RENEWAL_MS = 13_000;
/** Pause before another attempt to take the lease that another watch has, milliseconds. */
const TAKE_PAUSE_MS = 5000;
/** Maximum number of rows per page. */
const PAGE = 100;
/** Rows, unless a request may have more events, after which it gets no further event, if it has one. */
const MAX_ROWS = 1000;
/** Size of events after which a request gets no further event, bytes. */
const MAX_BYTES = 4 * 1024 * 1024;
/** Maximum number of waiting events that is counted while the watch runs. */
const MAX_BACKLOG = 10_000;
/** Pause after a failure before the database is read while other events wait, milliseconds. */
const RETRY_MS = 60_000;
/** Interval at which the waiting events are counted, milliseconds. */
const COUNT_MS = 15_000;
/** Interval at which the queue looks for forgotten servers, milliseconds. */
const FORGOTTEN_MS = 10_000;
/** Number of events that are compared with the forgotten servers at once. */
const COMPARED = 1000;
/** How long {@linkcode EventFeedQueue.close} waits for the database, milliseconds. */
const CLOSE_MS = 5000;

/** Options of an {@linkcode EventFeedQueue}. */
export interface EventFeedOptions {
  /** The database, over a connection of its own. The queue closes it. */
  readonly database: Database;
  /** The position of the webhook. It must be prepared. */
  readonly position: WebhookPosition;
  /** Told of each event that the database has, returns whether it was sent before. */
  readonly wasSent: (id: string) => boolean;
  /** Returns a server's record as it may be sent. */
  readonly shown: (record: ServerRecord) => ServerRecord;
  /** The clock of pauses and leases. */
  readonly clock: Clock;
  /** Receives a message when the database cannot be read, and when it can be read again. */
  readonly report: (line: string) => void;
}

/** Functions that a queue calls. */
export interface FeedListener {
  /** Called when there may be events. */
  readonly onEvents: () => void;
  /** Called when servers may have been forgotten. */
  readonly onForgotten: () => void;
  /** Called with the number of events that cannot be sent, and the reason. */
  readonly onLost: (count: number, reason: string) => void;
}

/** An event in memory, and its position in the table. */
interface PlacedEvent {
  readonly event: WatchEvent;
  readonly position: EventPosition;
}

/** A queue of events that a database keeps. */
export class EventFeedQueue {
  /** Number of events that wait, when they were last counted. Another watch may send them. */
  waiting = 0;
  /** The events of the last reading, without those that were removed since. */
  #queue: PlacedEvent[] = [];
  /** Size of all events of the last reading, bytes. */
  #bytes = 0;
  /** The position of the last row of that reading. */
  #read: EventPosition | undefined;
  /** No event up to this position is to be sent. */
  #start: EventPosition | undefined;
  /** The position in the database. */
  #saved: EventPosition | undefined;
  /** The position of the last event that was removed from the queue, if it is not yet stored. */
  #unsaved: EventPosition | undefined;
  /** The lease is valid until this time of the clock. */
  #heldUntil = -Infinity;
  /** When to try to take the lease again. */
  #takeAt = -Infinity;
  #countedAt = -Infinity;
  /** When forgotten servers were last looked for, and their state then. */
  #forgottenAt = -Infinity;
  #forgotten: string | undefined;
  /** The position of the last damaged event that was reported. */
  #damaged: EventPosition = BEFORE_EVENTS;
  #failing = false;
  /** When the last work on the database failed. */
  #failedAt = -Infinity;
  #cancel: (() => void) | undefined;
  #closed = false;
  /** The last work on the database. */
  #last: Promise<unknown> = Promise.resolve();
  #listener: FeedListener | undefined;

  /** Reads nothing until {@linkcode start}. */
  constructor(private readonly options: EventFeedOptions) {}

  /** Starts to look for events, and to renew the lease. */
  start(listener: FeedListener): void {
    this.#listener = listener;
    this.#schedule();
  }

  /** The oldest events, at most `limit`; none if another watch sends them, or the database is not available. */
  async oldest(limit: number): Promise<readonly WatchEvent[]> {
    const events = await this.#attempt(async () => {
      if (!await this.#hold()) return [];
      this.#queue = [];
      await this.#readOldest(limit);
      this.#reportReadable();
      if (this.#queue.length === 0) await this.#saveStart();
      return this.#queue.map(({ event }) => event);
    });
    return events ?? [];
  }

  /**
   * Removes the oldest events, up to and including the one with this id. If the database is not
   * available, the removal is written later.
   *
   * @returns The number of removed events.
   */
  async accept(id: string): Promise<number> {
    const count = this.#queue.findIndex(({ event }) => event.id === id) + 1;
    if (count === 0) return 0;
    const removed = this.#queue.splice(0, count);
    this.#start = this.#queue.length === 0 ? this.#read : removed.at(-1)!.position;
    this.#unsaved = this.#start;
    await this.#attempt(() => this.#save());
    return count;
  }

  /** The ids of events whose servers were forgotten; none while the database is not available. */
  async forgotten(events: readonly WatchEvent[]): Promise<ReadonlySet<string>> {
    const { database, clock } = this.options;
    const ids = new Set<string>();
    for (let from = 0; from < events.length && !this.isAway; from += COMPARED) {
      if (from > 0) await clock.yieldToEvents();
      const some = events.slice(from, from + COMPARED);
      const found = await this.#attempt(() => forgottenEvents(database, some));
      found?.forEach((id) => ids.add(id));
    }
    return ids;
  }

  /** The hash of the webhook. */
  get webhook(): string {
    return this.options.position.key.webhook;
  }

  /** Whether the database could not be read at the last attempt. */
  get failing(): boolean {
    return this.#failing;
  }

  /** Whether the database failed just now, so that events which it does not have should not wait for it. */
  get isAway(): boolean {
    return this.#failing && this.options.clock.now() - this.#failedAt < RETRY_MS;
  }

  /** Counts the waiting events, and closes the database, which may not respond. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel?.();
    const { database, clock } = this.options;
    const saved = this.#attempt(() => this.#end());
    await waitAtMost(clock, CLOSE_MS, saved);
    await database[Symbol.asyncDispose](); // work that still waits for it fails
    await saved;
  }

  /** Stores the position, counts the waiting events, and releases the lease. */
  async #end(): Promise<void> {
    const { position } = this.options;
    await this.#save();
    if (this.#saved === undefined) return;
    this.waiting = await position.count(this.#unsaved ?? this.#saved, MAX_COUNT);
    await position.release();
  }

  #schedule(): void {
    this.#cancel = this.options.clock.after(PAUSE_MS, async () => {
      await this.#tick();
      if (!this.#closed) this.#schedule();
    });
  }

  /** Renews the lease while a request is repeated, and counts what waits. */
  async #tick(): Promise<void> {
    this.#listener!.onEvents();
    const now = this.options.clock.now();
    if (now - this.#forgottenAt >= FORGOTTEN_MS && !this.#failing) await this.#lookForForgotten();
    if (this.#heldUntil < now) return;
    await this.#attempt(async () => {
      if (!await this.#hold() || this.#saved === undefined) return;
      if (this.#queue.length === 0) this.waiting = 0;
      else if (now - this.#countedAt >= COUNT_MS) {
        this.#countedAt = now;
        this.waiting = await this.options.position.count(this.#saved, MAX_BACKLOG);
      }
    });
  }

  async #lookForForgotten(): Promise<void> {
    this.#forgottenAt = this.options.clock.now();
    const state = await this.#attempt(() => forgottenState(this.options.database));
    if (state === undefined || state === this.#forgotten) return;
    this.#forgotten = state;
    this.#listener!.onForgotten();
  }

  /** Runs work on the database, one after the other; `undefined`: the database is not available. */
  #attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    const { report } = this.options;
    const attempted = this.#last.then(work).catch((error: Error) => {
      if (!this.#failing) {
        report(
          `events for the webhook cannot be read: ${error.message}; they wait in the database`,
        );
      }
      this.#failing = true;
      this.#failedAt = this.options.clock.now();
      return undefined;
    });
    this.#last = attempted;
    return attempted;
  }

  /** Reports that a failure has ended. A lease that is still valid needs no access, and proves nothing. */
  #reportReadable(): void {
    if (this.#failing) this.options.report("events for the webhook can be read again");
    this.#failing = false;
  }

  /** Takes or renews the lease, if it does not last for another request. */
  async #hold(): Promise<boolean> {
    const { clock, position } = this.options;
    const now = clock.now();
    if (this.#heldUntil - now >= RENEWAL_MS) {
      await this.#save();
      return this.#heldUntil > now;
    }
    if (this.#takeAt > now) return false;
    const held = await position.take();
    if (held === undefined) {
      this.#reportReadable();
      this.#takeAt = now + TAKE_PAUSE_MS;
      this.#drop();
      return false;
    }
    this.#heldUntil = now + LEASE_MS;
    const { tx, seq, pruned } = held;
    if (this.#saved?.tx !== tx || this.#saved.seq !== seq) {
      this.#queue = [];
      this.#start = this.#unsaved === undefined ? held : laterPosition(held, this.#unsaved);
      if (this.#start === held) this.#unsaved = undefined; // another watch has sent these events
      this.#saved = { tx, seq };
    }
    await this.#save();
    if (pruned > 0 && this.#saved !== undefined && await position.advance(this.#saved, pruned)) {
      this.#listener!.onLost(pruned, `${countOf(pruned, "event")} pruned before delivery`);
    }
    return this.#heldUntil > now;
  }

  /** Forgets what was read: another watch sends these events. */
  #drop(): void {
    this.#heldUntil = -Infinity;
    this.#queue = [];
    this.#start = this.#saved = this.#unsaved = undefined;
    this.waiting = 0;
  }

  /** Stores the position of the last event that was removed from the queue. */
  async #save(): Promise<void> {
    const now = this.options.clock.now();
    const unsaved = this.#unsaved;
    if (unsaved === undefined) return;
    if (!await this.options.position.advance(unsaved)) return this.#drop();
    this.#heldUntil = now + LEASE_MS;
    this.#saved = { tx: unsaved.tx, seq: unsaved.seq };
    if (this.#unsaved === unsaved) this.#unsaved = undefined;
  }

  /** Reads the events of the next request. */
  async #readOldest(limit: number): Promise<void> {
    const { database, shown, clock } = this.options;
    this.#read = this.#start!;
    const maxRows = Math.max(MAX_ROWS, limit);
    let rows = 0;
    this.#bytes = 0;
    for (let size = Math.min(limit, PAGE);; size = Math.min(2 * size, PAGE)) {
      const page = await sendableEvents(database, this.#read, size, shown);
      if (!this.#addPage(page, limit)) return;
      rows += page.length;
      if (page.length < size || rows >= maxRows && this.#queue.length > 0) return;
      await clock.yieldToEvents();
    }
  }

  /** Adds the events of a page to the queue. Returns whether the request may get further events. */
  #addPage(page: readonly SendableEvent[], limit: number): boolean {
    const { position: webhook, wasSent } = this.options;
    for (const { position, kind, id, event, size } of page) {
      this.#read = position;
      if (event !== undefined && webhook.isDue(kind, position)) {
        if (event === "damaged") this.#reportDamaged(position);
        else if (!wasSent(id)) {
          this.#queue.push({ event, position });
          this.#bytes += size;
        }
      }
      if (this.#queue.length === 0) this.#start = position;
      if (this.#queue.length === limit || this.#bytes >= MAX_BYTES) return false;
    }
    return true;
  }

  #reportDamaged(position: EventPosition): void {
    if (laterPosition(position, this.#damaged) === this.#damaged) return;
    this.#damaged = position;
    this.#listener!.onLost(1, "the row of an event in the database is damaged");
  }

  /** Moves the position past events that are not for the webhook. */
  async #saveStart(): Promise<void> {
    const [saved, start] = [this.#saved!, this.#start!];
    if (saved.tx === start.tx && saved.seq === start.seq) return;
    this.#unsaved = start;
    await this.#save();
  }
}
