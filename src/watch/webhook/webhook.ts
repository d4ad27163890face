/**
 * Sends events to a URL over HTTP: in order, in batches, at least once, without delaying the watch. A
 * database or an outbox keeps events until the receiver accepts them.
 *
 * @module
 */
import { type Clock, sleep, waitAtMost } from "../../net/clock.ts";
import type { WatchEvent } from "../../store/events/watch_event.ts";
import type { EventFeedQueue } from "./event_feed_queue.ts";
import type { EventOutbox } from "./event_outbox.ts";
import type { Receiver } from "./receivers.ts";
import { signatureHeaders } from "./signature.ts";

/**
 * Pause after a failed or rejected request, milliseconds. It doubles with each failure and with each
 * lost event, until the receiver accepts a request.
 */
const PAUSE_MS = 1000;
/** Maximum of the doubled pause, milliseconds. */
const MAX_PAUSE_MS = 60_000;
/** Maximum pause that a receiver can request with `Retry-After`, milliseconds. */
const MAX_RETRY_AFTER_MS = 600_000;
/** Timeout of a request, milliseconds. */
const TIMEOUT_MS = 10_000;
/** How long {@linkcode Webhook.close} waits for the current requests, milliseconds. */
const GRACE_MS = 3000;

/** HTTP statuses that reject the content of a request, so that a repetition is useless. */
const REFUSALS = new Set([400, 413, 422]);

/** Options of a {@linkcode Webhook}. */
export interface WebhookOptions {
  /** The kinds of events to send. Default: all. */
  readonly events?: readonly string[];
  /** Additional headers of requests. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The key of signatures. Default: requests are not signed. */
  readonly secret?: string;
  /** Sends a request, as the global `fetch`. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** The clock of pauses and timeouts. */
  readonly clock: Clock;
  /** The events that no database has. The webhook closes it. */
  readonly outbox: EventOutbox;
  /** The queue of events that a database has. The webhook closes it. Default: there is no database. */
  readonly feed?: EventFeedQueue;
  /** Receives a message when delivery fails, when events are lost, and when delivery works again. */
  readonly report: (line: string) => void;
}

/** The events of a request. */
interface Batch {
  readonly events: readonly WatchEvent[];
  /** Those of the outbox. */
  readonly own: readonly WatchEvent[];
  /** Those of the database. */
  readonly stored: readonly WatchEvent[];
}

/** The outcome of a request. */
type Delivery =
  | { readonly kind: "accepted" }
  /** `pauseMs`: the pause that the receiver requests. */
  | { readonly kind: "refused" | "failed"; readonly reason: string; readonly pauseMs: number };

/** Sends events to a receiver, with POST requests. */
export class Webhook implements AsyncDisposable {
  /** Number of events that the receiver accepted. */
  delivered = 0;
  /** Number of lost events. */
  lost = 0;
  #sending: Promise<void> | undefined;
  /** The last request; it may have ended. */
  #request: Promise<Delivery> | undefined;
  /** The removal of events of forgotten servers from the outbox. */
  #removing: Promise<void> | undefined;
  /** Whether the last request failed. */
  #failing = false;
  /** Whether the loss of events was reported, since the last delivery. */
  #losing = false;
  /** Number of events that were lost at the end because the outbox could not keep them. */
  #unsaved = 0;
  #closing: Promise<void> | undefined;
  /** Aborted when the webhook begins to close: events are gathered no longer. */
  readonly #closes = new AbortController();
  readonly #ended = new AbortController();

  /**
   * Starts to send the events that an earlier watch has left in the outbox, and those of the database.
   *
   * @param receiver The receiver. Its URL may contain a password, so no message contains any part of it.
   */
  constructor(private readonly receiver: Receiver, private readonly options: WebhookOptions) {
    const { outbox: { damaged, size }, feed } = options;
    feed?.start({
      onEvents: () => this.#wake(),
      onForgotten: () => this.#removing ??= this.#removeForgotten(),
      onLost: (count, reason) => this.#lose(count, reason),
    });
    if (damaged > 0) this.#lose(damaged, "their rows in the outbox are damaged");
    if (size > 0) this.#wake();
  }

  /** Number of events that wait. */
  get waiting(): number {
    return this.waitingInOutbox + (this.options.feed?.waiting ?? 0);
  }

  /** Number of waiting events that no database has. */
  get waitingInOutbox(): number {
    return this.options.outbox.size - this.#unsaved;
  }

  /** Path of the outbox; `undefined`: it is in memory only. */
  get path(): string | undefined {
    return this.options.outbox.path;
  }

  /** Number of events of an earlier watch. They count in `delivered`, `waiting` and `lost` too. */
  get recovered(): number {
    const { recovered, damaged } = this.options.outbox;
    return recovered + damaged;
  }

  /**
   * Queues an event, if its kind is to be sent.
   *
   * @param isStored Whether the database has the event, so that it is sent from there.
   */
  add(event: WatchEvent, isStored = false): void {
    if (this.options.events?.includes(event.event) === false) return;
    const { outbox, feed } = this.options;
    if (feed !== undefined && isStored) return;
    const dropped = outbox.add(event);
    if (dropped > 0) this.#lose(dropped, "the outbox is full");
    this.#wake();
  }

  /** Resolves when the queue is empty. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  /**
   * Stops sending. Waits up to three seconds for deliveries; if requests fail, only for the one under
   * way. Remaining events stay in the outbox; without a file they are lost.
   */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  /** Delivers the queued events and stops, as {@linkcode close} does. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { clock, outbox, feed } = this.options;
    this.#closes.abort();
    await waitAtMost(clock, GRACE_MS, this.#failing ? this.#request : this.#sendRest());
    this.#ended.abort();
    await waitAtMost(clock, GRACE_MS, this.#sending); // it may wait for the database
    await feed?.close();
    await this.#removing;
    await this.#sending;
    // What the database has sent, or does not have, needs no ids.
    const keepsIds = feed !== undefined && (feed.failing || feed.waiting > 0);
    this.#unsaved = await outbox.close(keepsIds);
    const why = outbox.path === undefined ? "has no file" : "cannot be written";
    this.#lose(this.#unsaved, `the outbox ${why}`);
  }

  /** Starts to send, unless that is in progress. */
  #wake(): void {
    if (!this.#ended.signal.aborted) this.#sending ??= this.#send();
  }

  /** Sends all events that wait, also those that the database got while others were sent. */
  async #sendRest(): Promise<void> {
    await this.#sending;
    if (this.options.feed !== undefined) this.#wake();
    await this.#sending;
  }

  /** The oldest events of the database and of the outbox, in the order of their times. */
  async #next(limit: number): Promise<Batch> {
    const { outbox, feed } = this.options;
    const forgotten = await feed?.forgotten(outbox.oldest(limit)) ?? new Set<string>();
    if (forgotten.size > 0) outbox.removeMatching(({ id }) => forgotten.has(id));
    // A database that does not respond delays its events only.
    const isAway = feed === undefined || feed.isAway && outbox.size > 0;
    const stored = isAway ? [] : [...await feed.oldest(limit)];
    const own = [...outbox.oldest(limit)]; // without those that the database was found to have
    const events: WatchEvent[] = [];
    let [i, j] = [0, 0];
    while (events.length < limit && i + j < own.length + stored.length) {
      const isOwn = j === stored.length || i < own.length && own[i].at <= stored[j].at;
      events.push(isOwn ? own[i++] : stored[j++]);
    }
    return { events, own: own.slice(0, i), stored: stored.slice(0, j) };
  }

  /** The events of the next request. For a receiver that people read, events are gathered before. */
  async #nextRequest(limit: number): Promise<Batch> {
    const { gatherMs } = this.receiver;
    const batch = await this.#next(gatherMs === 0 ? limit : 1);
    if (batch.events.length === 0 || gatherMs === 0) return batch;
    await sleep(this.options.clock, gatherMs, this.#closes.signal);
    return await this.#next(limit);
  }

  /** Removes the events of a request. Returns their number. */
  async #remove({ own, stored }: Batch): Promise<number> {
    const { outbox, feed } = this.options;
    const lastOwn = own.findLast(({ id }) => outbox.has(id));
    const lastStored = stored.at(-1);
    const count = lastOwn === undefined ? 0 : outbox.accept(lastOwn.id, feed?.webhook);
    return count + (lastStored === undefined ? 0 : await feed!.accept(lastStored.id));
  }

  /** Removes events of forgotten servers from the outbox and its file, also while requests fail. */
  async #removeForgotten(): Promise<void> {
    const { outbox, feed } = this.options;
    const forgotten = await feed!.forgotten(outbox.oldest(Infinity));
    if (outbox.removeMatching(({ id }) => forgotten.has(id)) > 0) await outbox.eraseLog();
    this.#removing = undefined;
  }

  async #send(): Promise<void> {
    const { clock } = this.options;
    const { maxEvents, body } = this.receiver;
    const { signal } = this.#ended;
    let batchSize = maxEvents;
    let pauseMs = PAUSE_MS;
    await Promise.resolve(); // events of one iteration of the event loop are one request
    while (!signal.aborted) {
      const batch = await this.#nextRequest(batchSize);
      if (batch.events.length === 0 || signal.aborted) break;
      const delivery = await (this.#request = this.#post(body(batch.events)));
      if (delivery.kind === "failed") {
        if (signal.aborted) break;
        if (!this.#failing) {
          this.options.report(`webhook delivery failed (${delivery.reason}): events are queued`);
        }
        this.#failing = true;
      } else {
        if (this.#failing) this.options.report("the webhook responds again");
        this.#failing = false;
      }
      if (delivery.kind === "accepted") {
        pauseMs = PAUSE_MS;
        this.delivered += await this.#remove(batch);
        this.#losing = false;
        batchSize = Math.min(maxEvents, 2 * batchSize);
        continue;
      }
      await sleep(clock, Math.max(pauseMs, delivery.pauseMs), signal);
      this.options.outbox.startWrite(); // its disk may have space again
      if (delivery.kind === "refused" && batch.events.length > 1) {
        batchSize = batch.events.length >> 1; // perhaps a single event is the cause
        continue;
      }
      if (delivery.kind === "refused") {
        this.#lose(await this.#remove(batch), delivery.reason);
      }
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
    }
    this.#sending = undefined;
    if (this.options.outbox.size > 0) this.#wake(); // an event that was added just now
  }

  #lose(count: number, reason: string): void {
    if (count === 0) return;
    this.lost += count;
    if (!this.#losing) this.options.report(`webhook events are lost: ${reason}`);
    this.#losing = true;
  }

  async #post(body: Uint8Array<ArrayBuffer>): Promise<Delivery> {
    const { clock, fetch, headers, secret } = this.options;
    const timeout = new AbortController();
    const cancel = clock.after(TIMEOUT_MS, () => timeout.abort());
    try {
      const response = await fetch(this.receiver.url, {
        method: "POST",
        body,
        headers: {
          ...headers,
          "content-type": "application/json",
          ...(secret !== undefined && signatureHeaders(secret, clock.wall(), body)),
        },
        redirect: "manual",
        signal: AbortSignal.any([this.#ended.signal, timeout.signal]),
      });
      await response.body?.cancel();
      return deliveryOf(response, clock.wall());
    } catch (error) {
      const reason = timeout.signal.aborted ? "no response in 10 s" : failureOf(error as Error);
      return { kind: "failed", reason, pauseMs: 0 };
    } finally {
      cancel();
    }
  }
}

/** Classifies a response. The reason does not quote the response, which may repeat the URL. */
function deliveryOf({ ok, status, headers }: Response, now: number): Delivery {
  if (ok) return { kind: "accepted" };
  const isRedirect = status >= 300 && status < 400;
  const reason = `HTTP status ${status}${isRedirect ? ", a redirect, which is not followed" : ""}`;
  const kind = REFUSALS.has(status) ? "refused" : "failed";
  return { kind, reason, pauseMs: retryAfter(headers.get("retry-after"), now) };
}

/**
 * Parses `Retry-After`, seconds or a date (RFC 9110, 10.2.3), to bounded milliseconds. Discord's
 * seconds have a fraction.
 */
function retryAfter(text: string | null, now: number): number {
  if (text === null) return 0;
  const ms = /^\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? 0 : Math.max(0, Math.min(ms, MAX_RETRY_AFTER_MS));
}

/** Reasons to look for in error messages. The messages contain the URL and are not shown themselves. */
const FAILURES = [
  "connection refused",
  "connection reset",
  "no route to host",
  "network is unreachable",
  "host is unreachable",
  "connection closed",
  "failed to lookup address",
  "certificate",
  "too many open files",
  "requires net access",
];

function failureOf({ message, name }: Error): string {
  if (name === "NotCapable") return "the --allow-net flag does not cover it";
  const text = message.toLowerCase();
  return FAILURES.find((failure) => text.includes(failure)) ?? "the request failed";
}
