/**
 * Handing events to somebody else's program over HTTP: in order, in batches, and never in the way of
 * the watch.
 *
 * @module
 */
import { type Clock, sleep } from "../net/clock.ts";
import type { WatchEvent } from "./events.ts";

/** Events that wait at the most; those beyond are lost, the oldest first. */
const MOST_WAITING = 10_000;
/** Events in one request. */
const BATCH = 100;
/** How often a request is repeated, the pause before it, which doubles, and its time, milliseconds. */
const RETRIES = 5;
const PAUSE_MS = 1000;
const TIMEOUT_MS = 10_000;

/** What a webhook needs. */
export interface WebhookOptions {
  /** Sends a request; as `fetch`. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** The clock. */
  readonly clock: Clock;
  /** Ends it at once. */
  readonly signal: AbortSignal;
  /** Told what is lost, and why, once for each time that it begins. */
  readonly onLoss: (reason: string) => void;
}

/** Sends events to a URL, as JSON lists. */
export class Webhook {
  /** Events that were accepted there. */
  sent = 0;
  /** Events that were lost. */
  lost = 0;
  readonly #waiting: WatchEvent[] = [];
  #sending: Promise<void> | undefined;
  #losing = false;

  /**
   * Nothing waits yet.
   *
   * @param url Where to.
   */
  constructor(private readonly url: string, private readonly options: WebhookOptions) {}

  /** Takes an event; returns at once. */
  add(event: WatchEvent): void {
    this.#waiting.push(event);
    if (this.#waiting.length > MOST_WAITING) {
      this.#waiting.shift();
      this.#lose(1, "too many events wait");
    }
    this.#sending ??= this.#send();
  }

  /** Resolves when all that was taken is sent or lost. */
  async idle(): Promise<void> {
    await this.#sending;
  }

  async #send(): Promise<void> {
    const { signal } = this.options;
    while (this.#waiting.length > 0 && !signal.aborted) {
      const batch = this.#waiting.splice(0, BATCH);
      const fault = await this.#post(JSON.stringify(batch));
      if (fault === undefined) {
        this.sent += batch.length;
        this.#losing = false;
      } else this.#lose(batch.length, fault);
    }
    this.#sending = undefined;
  }

  #lose(count: number, reason: string): void {
    this.lost += count;
    if (!this.#losing) this.options.onLoss(reason);
    this.#losing = true;
  }

  /** Posts until it is accepted, or refused for good; why it was not, or nothing. */
  async #post(body: string): Promise<string | undefined> {
    const { clock, signal } = this.options;
    let fault: string | undefined;
    for (let left = RETRIES, pause = PAUSE_MS;; left--, pause *= 2) {
      fault = await this.#try(body);
      if (fault === undefined || left === 0 || signal.aborted) return fault;
      if (/^4(?!08|29)/.test(fault)) return fault; // our fault, and it will stay so
      await sleep(clock, pause, signal);
    }
  }

  async #try(body: string): Promise<string | undefined> {
    const { clock, fetch, signal } = this.options;
    const late = new AbortController();
    const cancel = clock.after(TIMEOUT_MS, () => late.abort(new Error("no answer in 10 s")));
    try {
      const response = await fetch(this.url, {
        method: "POST",
        body,
        headers: { "content-type": "application/json" },
        redirect: "manual",
        signal: AbortSignal.any([signal, late.signal]),
      });
      await response.body?.cancel();
      return response.ok ? undefined : `${response.status} ${response.statusText}`.trim();
    } catch (error) {
      if (error instanceof Deno.errors.NotCapable) throw error;
      return (error as Error).message;
    } finally {
      cancel();
    }
  }
}
