/**
 * Handing events to another program over HTTP: in order, in batches, at least once, and never in the
 * way of the watch. What is not accepted waits in a spool.
 *
 * @module
 */
import { type Clock, sleep } from "../net/clock.ts";
import { jsonText } from "../sinks/json.ts";
import type { WatchEvent } from "./events.ts";
import type { EventSpool } from "./event_spool.ts";

/** Events in one request. */
const BATCH = 100;
/** The pause before a request is repeated, which doubles, milliseconds. */
const PAUSE_MS = 1000;
const MOST_PAUSE_MS = 60_000;
/** The longest pause that a receiver may ask for with `Retry-After`, milliseconds. */
const MOST_RETRY_AFTER_MS = 600_000;
/** How long a request may take, milliseconds. */
const TIMEOUT_MS = 10_000;
/** How long the end waits for what is being sent, milliseconds. */
const GRACE_MS = 3000;

/** Statuses that are about the content of a request: it would be refused again. */
const REFUSALS = new Set([400, 413, 422]);

/** What a webhook needs. */
export interface WebhookOptions {
  /** Sends a request; as `fetch`. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** The clock. */
  readonly clock: Clock;
  /** Where events wait; closed with the webhook. */
  readonly spool: EventSpool;
  /** Told when events begin to wait or to be lost, and when they are accepted again. */
  readonly tell: (line: string) => void;
}

/** What became of a request. */
type Fate =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly why: string }
  | { readonly kind: "failed"; readonly why: string; readonly pauseMs: number };

/** Sends events to a URL, as JSON lists. */
export class Webhook implements AsyncDisposable {
  /** Events that were accepted there. */
  delivered = 0;
  /** Events that were lost. */
  lost = 0;
  #sending: Promise<void> | undefined;
  #added = 0;
  /** Whether the last request failed. */
  #failing = false;
  #losing = false;
  /** Whether what waits is kept when the program ends. */
  #kept = true;
  #closing: Promise<void> | undefined;
  readonly #ended = new AbortController();

  /**
   * Begins to send what an earlier watch has left.
   *
   * @param url Where to. It may hold a password: no message shows any of it.
   */
  constructor(private readonly url: string, private readonly options: WebhookOptions) {
    const { damaged, size } = options.spool;
    if (damaged > 0) this.#lose(damaged, "their lines in the spool are damaged");
    if (size > 0) this.#sending = this.#send();
  }

  /** Events that wait. */
  get waiting(): number {
    return this.#kept ? this.options.spool.size : 0;
  }

  /** The file in which they wait; `undefined` where they are in memory alone. */
  get path(): string | undefined {
    return this.options.spool.path;
  }

  /** Events that an earlier watch has left: delivered, waiting and lost are these and those added. */
  get recovered(): number {
    const { recovered, damaged } = this.options.spool;
    return recovered + damaged;
  }

  /** Takes an event; returns at once. Its id is the same however often it is sent. */
  add(event: WatchEvent): void {
    const id = `${event.scan_id}:${++this.#added}`;
    const dropped = this.options.spool.add(id, jsonText({ id, ...event }));
    if (dropped > 0) this.#lose(dropped, "too many wait");
    this.#sending ??= this.#send();
  }

  /** Resolves when nothing waits. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  /**
   * Ends it: what is being sent has three seconds to be accepted, unless requests fail. What then waits
   * is in the spool's file, or is lost where there is none.
   */
  close(): Promise<void> {
    return this.#closing ??= this.#close();
  }

  /** The same. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { clock, spool } = this.options;
    if (!this.#failing && this.#sending !== undefined) {
      const late = sleep(clock, GRACE_MS, this.#ended.signal);
      await Promise.race([this.#sending, late]);
    }
    this.#ended.abort();
    await this.#sending;
    if (await spool.close()) return;
    this.#lose(spool.size, "no file keeps those that wait");
    this.#kept = false;
  }

  async #send(): Promise<void> {
    const { clock, spool } = this.options;
    const { signal } = this.#ended;
    let most = BATCH;
    let pauseMs = PAUSE_MS;
    await Promise.resolve(); // events of the same moment go together
    while (spool.size > 0 && !signal.aborted) {
      const { count, last, body } = spool.oldest(most);
      const fate = await this.#post(body);
      if (fate.kind === "failed") {
        if (signal.aborted) break;
        if (!this.#failing) this.options.tell(`events wait for the webhook: ${fate.why}`);
        this.#failing = true;
        await sleep(clock, Math.max(pauseMs, fate.pauseMs), signal);
        pauseMs = Math.min(2 * pauseMs, MOST_PAUSE_MS);
        continue;
      }
      pauseMs = PAUSE_MS;
      if (this.#failing) this.options.tell("the webhook answers again");
      this.#failing = false;
      if (fate.kind === "accepted") {
        this.delivered += spool.done(last);
        this.#losing = false;
        most = Math.min(BATCH, 2 * most);
      } else if (count > 1) most = count >> 1; // one event alone is to blame, perhaps
      else this.#lose(spool.done(last), fate.why);
    }
    this.#sending = undefined;
  }

  #lose(count: number, reason: string): void {
    if (count === 0) return;
    this.lost += count;
    if (!this.#losing) this.options.tell(`events are lost to the webhook: ${reason}`);
    this.#losing = true;
  }

  async #post(body: Uint8Array<ArrayBuffer>): Promise<Fate> {
    const { clock, fetch } = this.options;
    const late = new AbortController();
    const cancel = clock.after(TIMEOUT_MS, () => late.abort());
    try {
      const response = await fetch(this.url, {
        method: "POST",
        body,
        headers: { "content-type": "application/json" },
        redirect: "manual",
        signal: AbortSignal.any([this.#ended.signal, late.signal]),
      });
      await response.body?.cancel();
      return fateOf(response, clock.wall());
    } catch (error) {
      const why = late.signal.aborted ? "no answer in 10 s" : failureOf(error as Error);
      return { kind: "failed", why, pauseMs: 0 };
    } finally {
      cancel();
    }
  }
}

/** What a response means. Its text is left out: it may repeat the URL. */
function fateOf({ ok, status, headers }: Response, now: number): Fate {
  if (ok) return { kind: "accepted" };
  const why = `HTTP status ${status}`;
  if (REFUSALS.has(status)) return { kind: "refused", why };
  return { kind: "failed", why, pauseMs: retryAfter(headers.get("retry-after"), now) };
}

/** The pause that a receiver asks for, bounded, milliseconds: seconds or a date (RFC 9110, 10.2.3). */
function retryAfter(text: string | null, now: number): number {
  if (text === null) return 0;
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now;
  return Number.isNaN(ms) ? 0 : Math.max(0, Math.min(ms, MOST_RETRY_AFTER_MS));
}

/** What may be wrong with a connection: messages of the runtime hold the URL, and are not shown. */
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
