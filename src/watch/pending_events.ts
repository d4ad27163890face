/**
 * Events of a watch that wait for its database: the transaction that changes a server decides which
 * event is reported.
 *
 * @module
 */
import type { Clock } from "../net/clock.ts";
import type { ReportedEvent, ServerEvent, WatchEvent } from "../store/events/watch_event.ts";
import type { PolledServer, Polls } from "../store/mod.ts";
import { candidatesOf } from "./poll_queue.ts";
import type { WatchedServer } from "./watched_server.ts";

/** Maximum wait for the database, milliseconds. Then an event is reported as the watch has seen it. */
export const MAX_DECISION_MS = 10_000;
/** Maximum number of remembered ids of replaced events: more than a transaction has. */
const MAX_REPLACED = 20_000;

/** An event that is not reported yet. */
interface WaitingEvent {
  readonly event: WatchEvent;
  /** Since when it waits, milliseconds of the clock. */
  readonly since: number;
  /** The server that it is about. */
  readonly server: WatchedServer | undefined;
}

/** Events that wait for a database. */
export class PendingEvents {
  /** Events that are not reported yet, the oldest first, and since when they wait, by id. */
  readonly #waiting = new Map<string, WaitingEvent>();
  /** The servers of events that were reported before the database could be written, by the events' ids. */
  readonly #reported = new Map<string, WatchedServer | undefined>();
  /** Ids of reported events that are no longer candidates: a transaction of unknown outcome may have stored them. */
  readonly #replaced = new Set<string>();
  /** Events `offline` that were reported and that the database has not stored, by the servers' keys. */
  readonly #unended = new Map<string, ServerEvent>();
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
   * @param server The server.
   * @param earlier Earlier events of the server that the database does not have yet.
   * @returns The events for the next transaction: the earlier and the new ones, without earlier events
   * that were already reported, if reported later ones of the same kind have all their aspects.
   */
  add(
    server: WatchedServer,
    earlier: readonly ServerEvent[],
    events: readonly ServerEvent[],
  ): readonly ServerEvent[] {
    if (events.length === 0) return earlier;
    for (const event of events) this.wait(event, server);
    const kept = earlier.filter((event, i) => {
      if (!this.#reported.has(event.id)) return true;
      const later = earlier.slice(i + 1)
        .filter((one) => one.event === event.event && this.#reported.has(one.id));
      const reported = new Set(later.flatMap(aspectsOf));
      const isReplaced = aspectsOf(event).every((aspect) => reported.has(aspect));
      const { key } = server.identity;
      if (isReplaced && event === this.#unended.get(key)) this.#unended.delete(key);
      if (isReplaced && this.#replaced.size < MAX_REPLACED) this.#replaced.add(event.id);
      return !(isReplaced && this.#reported.delete(event.id));
    });
    return [...kept, ...events];
  }

  /** Adds an event that the database does not change. */
  wait(event: WatchEvent, server?: WatchedServer): void {
    this.#waiting.set(event.id, { event, since: this.clock.now(), server });
    this.#schedule();
  }

  /**
   * Adds events `offline` to the results of polls that were reported, and that no transaction has stored:
   * when one stores the change, it gets the identity of the report.
   */
  withUnended(polls: Polls): Polls {
    if (this.#unended.size === 0) return polls;
    const servers = polls.servers.map((one) => {
      const event = this.#unended.get(one.identity.key);
      if (event === undefined || one.candidates.includes(event)) return one;
      return { ...one, candidates: [event, ...one.candidates] };
    });
    return { ...polls, servers };
  }

  /**
   * Reports what a transaction has decided.
   *
   * @param polls The results of polls that the transaction had.
   * @param events The events that it resulted in. Those that were reported before are not reported again.
   */
  decided(polls: Polls, events: readonly ReportedEvent[]): void {
    if (this.#closed) return;
    const byId = new Map(events.map(({ event }) => [event.id, event]));
    for (const event of polls.servers.flatMap((server) => this.#corrections(server, byId))) {
      this.#reported.set(event.id, undefined);
      this.report(event, false);
    }
    for (const { event, isStored } of events) {
      const { id } = event;
      if (!this.#reported.has(id) && !this.#replaced.has(id)) this.report(event, isStored);
    }
    this.#replaced.clear();
    const unended = new Set([...this.#unended.values()].map(({ id }) => id));
    for (const { id } of candidatesOf(polls)) {
      this.#waiting.delete(id);
      if (unended.has(id)) this.#reported.set(id, undefined); // `settle()` decides its server
      else this.#reported.delete(id);
    }
  }

  /**
   * The events of a server that correct what was reported without the database. The database compares
   * its own last state: it has no event for a server that went offline and returned meanwhile.
   */
  #corrections(
    { identity: { key }, candidates }: PolledServer,
    decided: ReadonlyMap<string, WatchEvent>,
  ): readonly WatchEvent[] {
    const isReported = ({ id }: WatchEvent) => this.#reported.has(id);
    const outdated = new Set(candidates.filter(isReported).flatMap(aspectsOf));
    const unended = this.#unended.get(key);
    this.#unended.delete(key);
    if (unended !== undefined) outdated.add("online");
    if (outdated.size === 0) return [];
    const corrections = candidates.filter((event, i) => {
      const later = candidates.slice(i).flatMap(({ id }) => decided.get(id) ?? []);
      const settled = new Set(later.flatMap(aspectsOf));
      const aspects = aspectsOf(event);
      const isNeeded = !isReported(event) &&
        aspects.some((aspect) => outdated.has(aspect) && !settled.has(aspect));
      if (isNeeded) aspects.forEach((aspect) => outdated.add(aspect));
      return isNeeded;
    });
    const last = candidates.findLast((event) => aspectsOf(event).includes("online")) ?? unended;
    const isUnended = last?.event === "offline" && !decided.has(last.id) &&
      (isReported(last) || corrections.includes(last));
    if (isUnended) this.#unended.set(key, last); // other watches keep the server online
    return corrections;
  }

  /**
   * Records which servers are online in the database, after a transaction was decided. Later events that
   * were reported without it are valid instead.
   */
  settle(states: readonly (readonly [server: WatchedServer, isOnline: boolean])[]): void {
    const ahead = new Set(this.#reported.values());
    for (const [server, isOnline] of states) {
      if (ahead.has(server)) continue;
      server.reportedOnline = isOnline && !this.#unended.has(server.identity.key);
    }
  }

  /** Reports all events that still wait. */
  close(): void {
    this.#cancel?.();
    this.#reportUntil(Infinity);
    this.#closed = true;
  }

  #reportUntil(limit: number): void {
    for (const [id, { event, since, server }] of this.#waiting) {
      if (since > limit) return;
      this.#waiting.delete(id);
      this.#reported.set(id, server);
      server?.reported(event);
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

/**
 * What an event says something about: whether the server is online, and columns. Of two events of a
 * server with the same aspect, the later one is valid.
 */
function aspectsOf(event: WatchEvent): readonly string[] {
  switch (event.event) {
    case "online":
      return ["online", ...Object.keys(event.server)];
    case "offline":
      return ["online"];
    case "changed":
      return Object.keys(event.changes);
    case "restarted":
      return ["guid"];
    case "players":
      return ["players_online"];
    default:
      return [event.event];
  }
}
