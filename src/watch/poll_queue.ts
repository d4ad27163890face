/**
 * The results of polls that a watch has not written to a database yet.
 *
 * @module
 */
import type { WatcherEvent, WatchEvent } from "../store/events/watch_event.ts";
import type { DroppedServer, OptOut, PolledServer, PollObservation, Polls } from "../store/mod.ts";

/** Maximum numbers of servers and of observations in one transaction. */
const BATCH = 1000;

/** Results of polls in the order in which they are written. */
export class PollQueue {
  /** The newest state of each server, by key. */
  readonly servers = new Map<string, PolledServer>();
  /** Observations, the oldest first. */
  observations: PollObservation[] = [];
  /** Addresses that opted out. */
  optOuts: OptOut[] = [];
  /** Servers that are polled no more, and their events. */
  dropped: DroppedServer[] = [];
  /** Events of the watch itself. */
  watcherEvents: WatcherEvent[] = [];

  /** Number of results. */
  get size(): number {
    const { servers, observations, optOuts, dropped, watcherEvents } = this;
    return servers.size + observations.length + optOuts.length + dropped.length +
      watcherEvents.length;
  }

  /**
   * Takes results for one transaction. A transaction with an observation or an opt-out also has the
   * server's state, if that is not written yet.
   *
   * @param about The watch's identity, UUIDv7, and since when it can write.
   */
  take(about: Pick<Polls, "scanId" | "writableSince">): Polls {
    const observations = this.observations.splice(0, BATCH);
    const [optOuts, dropped] = [this.optOuts.splice(0), this.dropped.splice(0)];
    const watcherEvents = this.watcherEvents.splice(0);
    const related = [...dropped, ...observations].map(({ identity }) => identity.key);
    const servers = new Map<string, PolledServer>();
    for (const key of [...related, ...this.servers.keys()]) {
      if (servers.size >= BATCH) break;
      const server = this.servers.get(key);
      if (server !== undefined) servers.set(key, server);
      this.servers.delete(key);
    }
    const states = [...servers.values()];
    return { ...about, servers: states, observations, optOuts, dropped, watcherEvents };
  }

  /** Puts a batch back that was not written. A newer state of a server that was added meanwhile is kept. */
  putBack({ servers, observations, optOuts, dropped, watcherEvents }: Polls): void {
    for (const server of servers) {
      const { key } = server.identity;
      const newer = this.servers.get(key);
      const candidates = [...server.candidates, ...newer?.candidates ?? []];
      const { record, partial } = newer?.record === undefined ? server : newer;
      this.servers.set(key, { ...newer ?? server, record, partial, candidates });
    }
    this.optOuts.unshift(...optOuts);
    this.dropped.unshift(...dropped);
    this.watcherEvents.unshift(...watcherEvents);
    this.observations.unshift(...observations);
  }
}

/** The events in a batch, as the watch has seen them. */
export function candidatesOf({ servers, dropped, watcherEvents }: Polls): readonly WatchEvent[] {
  return [
    ...servers.flatMap(({ candidates }) => candidates),
    ...dropped.map(({ event }) => event),
    ...watcherEvents,
  ];
}
