/**
 * Events of a watch that wait for its database: the transaction that changes a server decides which
 * event is reported.
 *
 * @module
 */
import type { Clock } from "../net/clock.ts";
import type { ReportedEvent, ServerEvent, WatchEvent } from "../store/events/watch_event.ts";

/** Maximum wait for the database, milliseconds. Then an event is reported as the watch has seen it. */
export const MAX_DECISION_MS = 10_000;

/** Events that wait for a database. */
export class PendingEvents {
  /** Events that are not reported yet, the oldest first, and since when they wait, by id. */
  readonly #waiting = new Map<string, { readonly event: WatchEvent; readonly since: number }>();
  /** Ids of events that were reported before the database could be written. */
  readonly #reported = new Set<string>();
  #cancel: (() => void) | undefined;
  #closed = false;

  /**
   * Starts without events.
   *
   * @param report Receives each event once, and whether the database has it.
   */
  constructor(
    private readonly clock: Clock,
    private readonly report: (event: WatchEvent, isStored: boolean) => void,
  ) {}

  /**
   * Adds events of a server.
   *
   * @param earlier Earlier events of the server that the database does not have yet.
   * @returns The events for the next transaction: the earlier and the new ones, without earlier events
   * that were already reported and are followed by a new event of the same kind.
   */
  add(earlier: readonly ServerEvent[], events: readonly ServerEvent[]): readonly ServerEvent[] {
    if (events.length === 0) return earlier;
    for (const event of events) this.wait(event);
    const kinds = new Set(events.map(({ event }) => event));
    const kept = earlier.filter(({ id, event }) =>
      !(kinds.has(event) && this.#reported.delete(id))
    );
    return [...kept, ...events];
  }

  /** Adds an event that the database does not change. */
  wait(event: WatchEvent): void {
    this.#waiting.set(event.id, { event, since: this.clock.now() });
    this.#schedule();
  }

  /**
   * Reports what a transaction has decided.
   *
   * @param candidates The events of {@linkcode add} and {@linkcode wait} that the transaction had.
   * @param events The events that it resulted in. Those that were reported before are not reported again.
   */
  decided(candidates: readonly WatchEvent[], events: readonly ReportedEvent[]): void {
    if (this.#closed) return;
    for (const { event, isStored } of events) {
      if (!this.#reported.has(event.id)) this.report(event, isStored);
    }
    for (const { id } of candidates) {
      this.#waiting.delete(id);
      this.#reported.delete(id);
    }
  }

  /** Reports all events that still wait. */
  close(): void {
    this.#cancel?.();
    this.#reportUntil(Infinity);
    this.#closed = true;
  }

  #reportUntil(limit: number): void {
    for (const [id, { event, since }] of this.#waiting) {
      if (since > limit) return;
      this.#waiting.delete(id);
      this.#reported.add(id);
      this.report(event, false);
    }
  }

  #schedule(): void {
    const [oldest] = this.#waiting.values();
    if (this.#cancel !== undefined || oldest === undefined) return;
    const now = this.clock.now();
    this.#cancel = this.clock.after(Math.max(0, oldest.since + MAX_DECISION_MS - now), () => {
      this.#cancel = undefined;
      this.#reportUntil(this.clock.now() - MAX_DECISION_MS);
      this.#schedule();
    });
  }
}
