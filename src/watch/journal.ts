/**
 * Writes the results of a watch's polls to a database: in batches, without delaying polls.
 *
 * @module
 */
import type { Address } from "../core/address.ts";
import type { Clock } from "../net/clock.ts";
import type { RecordWithAttachments } from "../core/record.ts";
import type { Polls, WatchSpan, WrittenPolls } from "../store/mod.ts";
import { PendingEvents } from "./pending_events.ts";
import { PollQueue } from "./poll_queue.ts";
import { PollStates } from "./poll_states.ts";
import type { ServerEvent, WatcherEvent, WatchEvent } from "../store/events/watch_event.ts";
import type { WatchedServer } from "./watched_server.ts";
import { WatchSpans } from "./watch_spans.ts";

/** Delay before queued results are written, also after a failure, milliseconds. */
const WRITE_DELAY_MS = 1000;
/** Default of {@linkcode JournalOptions.maxQueued}. */
const MAX_QUEUED = 200_000;
/** Maximum interval at which the span of the watch is extended, milliseconds. */
const SPAN_INTERVAL_MS = 60_000;
/** Interval of heartbeats, milliseconds. */
const HEARTBEAT_MS = 10_000;

/** Options of a {@linkcode Journal}. */
export interface JournalOptions {
  /** The name of the database in messages. */
  readonly name: string;
  /** The watch's identity, UUIDv7. */
  readonly scanId: string;
  /**
   * Writes to the database, and returns what results. When it rejects, it is called again with equal
   * results.
   */
  readonly write: (polls: Polls) => Promise<WrittenPolls>;
  /**
   * Receives an event to report, and whether the database has it. The events are those that the
   * transactions return, or, after 10 seconds in which the database could not be written, those
   * that the watch has seen. Default: another database decides what is reported, or none does.
   */
  readonly onEvent?: (event: WatchEvent, isStored: boolean) => void;
  /** Writes the spans of the watch. Default: not written. */
  readonly writeSpans?: (spans: readonly WatchSpan[]) => Promise<void>;
  /** Writes the heartbeat of the watch, every 10 seconds. Default: not written. */
  readonly writeHeartbeat?: () => Promise<void>;
  /** The clock of delays and deadlines. */
  readonly clock: Clock;
  /** Receives a message when writing begins to fail, and when it succeeds again. */
  readonly report: (line: string) => void;
  /** Maximum number of queued observations. The oldest ones beyond are lost. Default: 200,000. */
  readonly maxQueued?: number;
}

/** Queues the results of polls and writes them to a database in the background. */
export class Journal {
  /** Number of written observations. */
  written = 0;
  /** Number of lost observations. */
  lost = 0;
  readonly #queue = new PollQueue();
  readonly #pending: PendingEvents | undefined;
  readonly #states: PollStates;
  /** Cancels the timer of the next write. */
  #cancel: (() => void) | undefined;
  #writing: Promise<void> | undefined;
  /** Writes the start of the watch, until that succeeds: observations refer to its row. */
  #begin: (() => Promise<void>) | undefined;
  readonly #spans = new WatchSpans();
  /** Whether the span of the watch is to be extended. */
  #isSpanDue = false;
  /** Cancels the timer that extends the span. */
  #cancelSpan: (() => void) | undefined;
  #isHeartbeatDue = false;
  /** Cancels the timer of the next heartbeat. */
  #cancelHeartbeat: (() => void) | undefined;
  /** Number of observations in the transaction that is in progress. */
  #inFlight = 0;
  /** Whether the last write failed. */
  failing = false;
  /** Since when no write has failed, Unix milliseconds. */
  #writableSince: number;
  #closed = false;

  /** Starts with empty queues. */
  constructor(private readonly options: JournalOptions) {
    const { clock, onEvent, scanId } = options;
    this.#writableSince = clock.wall();
    if (onEvent !== undefined) this.#pending = new PendingEvents(clock, onEvent);
    this.#states = new PollStates(this.#queue, this.#pending, scanId);
  }

  /** Number of results that are not in the database yet: states, observations, opt-outs, events. */
  get waiting(): number {
    return this.#queue.size + this.#inFlight;
  }

  /**
   * Writes the start of the watch. When that fails, it is repeated before the next write.
   *
   * @param writeStart Writes the start to the database.
   */
  async begin(writeStart: () => Promise<void>): Promise<void> {
    this.#begin = writeStart;
    this.online(this.options.clock.wall());
    if (this.options.writeHeartbeat !== undefined) this.#cancelHeartbeat = this.#beatLater();
    await this.#start();
  }

  /**
   * Records that the watch reaches its servers from now on. Their states are unknown until their
   * next poll.
   *
   * @param at Unix milliseconds.
   */
  online(at: number): void {
    this.#spans.begin(at);
    this.#isSpanDue = true;
  }

  /**
   * Records that the watch does not reach its servers, because its own network is down. Until
   * {@linkcode online} is called, servers count as not watched.
   *
   * @param since The last time at which it reached servers, Unix milliseconds.
   */
  offline(since: number): void {
    this.#spans.end(since);
    this.#isSpanDue = true;
    this.#schedule();
  }

  /**
   * Queues the result of a poll.
   *
   * @param server The server, with its state after the poll.
   * @param events The events of the poll.
   * @param at When the poll ended, Unix milliseconds.
   * @param reply The reply with its attachments; `undefined`: no reply.
   */
  addPoll(
    server: WatchedServer,
    events: readonly ServerEvent[],
    at: number,
    reply?: RecordWithAttachments,
  ): void {
    this.#spans.alive(this.options.clock.wall());
    this.#cancelSpan ??= this.#extendLater();
    this.#states.add(server, { events, at, reply }, this.#spans.observeSince);
    this.#dropOldest();
    this.#schedule();
  }

  /** Queues the event of a server that is polled no more because its address opted out. */
  drop(server: WatchedServer, event: ServerEvent): void {
    const { identity } = server;
    this.#states.delete(identity.key); // its state would make the server online again
    this.#pending?.add(server, [], [event]);
    this.#queue.dropped.push({ identity, event });
    this.#schedule();
  }

  /** Queues an event of the watch itself. It starts or ends an outage. */
  addWatcherEvent(event: WatcherEvent): void {
    if (event.event === "watcher_offline") this.offline(event.since);
    else this.online(event.at);
    this.#pending?.wait(event);
    this.#queue.watcherEvents.push(event);
    this.#schedule();
  }

  /** Queues the opt-out of an address. */
  optOut(address: Address, at: number): void {
    this.#queue.optOuts.push({ address, at });
    this.#schedule();
  }

  /** Cancels all timers. Results that are queued stay unwritten, except by {@linkcode close}. */
  stop(): void {
    this.#closed = true;
    this.#cancel?.();
    this.#cancelSpan?.();
    this.#cancelHeartbeat?.();
  }

  /**
   * Writes the queues. Events that no transaction has decided by then are reported as the watch has
   * seen them.
   *
   * @param maxWaitMs Maximum duration, milliseconds. Results that are not written by then are lost.
   */
  async close(maxWaitMs: number): Promise<void> {
    const { clock } = this.options;
    const deadline = clock.now() + maxWaitMs;
    this.stop();
    this.offline(clock.wall());
    this.#states.queueUnchanged();
    const { promise: timeout, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(maxWaitMs, resolve);
    while (this.#hasQueued && clock.now() < deadline) {
      await Promise.race([this.#start(), timeout]);
      if (!this.failing) continue;
      const delayMs = Math.min(WRITE_DELAY_MS, deadline - clock.now());
      if (delayMs > 0) await new Promise<void>((resolve) => clock.after(delayMs, resolve));
    }
    if (this.#isSpanDue && !this.failing) await Promise.race([this.#start(), timeout]);
    cancel();
    const unwritten = this.#queue.observations.length + this.#inFlight;
    if (unwritten > 0 || this.#hasQueued) this.failing = true;
    this.lost += unwritten;
    this.#queue.observations = [];
    this.#pending?.close();
  }

  #dropOldest(): void {
    const { maxQueued = MAX_QUEUED } = this.options;
    const excess = this.#queue.observations.length - maxQueued;
    if (excess <= 0) return;
    const [{ at: from }] = this.#queue.observations.splice(0, excess);
    this.#spans.leaveOut(from, this.#queue.observations[0]?.at ?? from);
    this.lost += excess;
  }

  #schedule(): void {
    if (this.#closed || this.#cancel !== undefined || this.#writing !== undefined) return;
    if (!this.#hasQueued && !this.#isSpanDue && !this.#isHeartbeatDue) return;
    this.#cancel = this.options.clock.after(WRITE_DELAY_MS, () => {
      this.#cancel = undefined;
      void this.#start();
    });
  }

  /** Whether there is something to write. */
  get #hasQueued(): boolean {
    return this.#begin !== undefined || this.#queue.size > 0;
  }

  /** Starts a write, or joins the one that is in progress. */
  #start(): Promise<void> {
    return this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined;
      this.#schedule();
    });
  }

  /** Writes the queues batch by batch. After a failure, the batch returns to its queue. */
  async #write(): Promise<void> {
    const { clock, write, name, report, scanId } = this.options;
    try {
      await this.#begin?.();
      this.#begin = undefined;
      while (this.#hasQueued) {
        const taken = this.#queue.take({ scanId, writableSince: this.#writableSince });
        const polls = this.#pending?.withUnended(taken) ?? taken;
        this.#inFlight = polls.observations.length;
        try {
          const { events, online } = await write(polls);
          this.#pending?.decided(polls, events);
          this.#states.decided(online);
        } catch (error) {
          this.#queue.putBack(polls);
          this.#dropOldest();
          throw error;
        } finally {
          this.#inFlight = 0;
        }
        this.written += polls.observations.length;
        await this.#extendSpan();
        await this.#beat();
        await clock.yieldToEvents(); // polls continue between transactions
      }
      if (this.#isSpanDue) await this.#extendSpan();
      await this.#beat();
      if (this.failing) {
        report(`${name} can be written again`);
        this.#writableSince = clock.wall();
      }
      this.failing = false;
    } catch (error) {
      if (!this.failing) {
        report(`${(error as Error).message}; the watch continues, and will try to write again`);
      }
      this.failing = true;
      this.#writableSince = Infinity;
    }
  }

  /** Extends the span of the watch at an interval, also while no result is written. */
  #extendLater(): () => void {
    const { clock } = this.options;
    return clock.after(SPAN_INTERVAL_MS, () => {
      this.#spans.alive(clock.wall());
      this.#isSpanDue = true;
      this.#cancelSpan = this.#extendLater();
      this.#schedule();
    });
  }

  #beatLater(): () => void {
    return this.options.clock.after(HEARTBEAT_MS, () => {
      this.#isHeartbeatDue = true;
      this.#cancelHeartbeat = this.#beatLater();
      this.#schedule();
    });
  }

  /** Writes a heartbeat that is due. */
  async #beat(): Promise<void> {
    if (!this.#isHeartbeatDue) return;
    await this.options.writeHeartbeat?.();
    this.#isHeartbeatDue = false;
  }

  /** Writes the spans of the watch, up to the oldest observation that is not yet written. */
  async #extendSpan(): Promise<void> {
    const { clock, writeSpans } = this.options;
    const isWhole = this.#queue.observations.length === 0;
    const spans = this.#spans.pending(isWhole ? clock.wall() : this.#queue.observations[0].at);
    if (spans.length > 0) await writeSpans?.(spans);
    this.#spans.written(spans);
    if (isWhole) this.#isSpanDue = false;
  }
}
