/**
 * The limit of events of a watch without a database. A database limits the events that it stores.
 *
 * @module
 */
import { HOUR_MS, isLimited, limitedEvent } from "../store/events/event_limits.ts";
import { isWatcherEvent, type WatchEvent } from "../store/events/watch_event.ts";

/**
 * Limits events that no database has stored. Of the events `changed` and `restarted` of a server,
 * at most 12 of each kind are reported in an hour; the twelfth has `limit_reached: true`.
 *
 * @param report Receives the events within the limit, and whether a database has stored them.
 * @returns Takes all events.
 */
export function withEventLimit(
  report: (event: WatchEvent, isStored: boolean) => void,
): (event: WatchEvent, isStored?: boolean) => void {
  // At most 12 times for each kind and server, Unix milliseconds.
  const reported = new Map<string, number[]>();
  return (event, isStored = false) => {
    if (isStored || isWatcherEvent(event) || !isLimited(event)) return report(event, isStored);
    const { event: kind, requested_as: name, host, port, at } = event;
    const times = reported.getOrInsertComputed(`${kind} ${name ?? host} ${port}`, () => []);
    while (times.length > 0 && Math.abs(at - times[0]) >= HOUR_MS) times.shift();
    const limited = limitedEvent(event, times.length);
    if (limited === undefined) return;
    times.push(at);
    report(limited, isStored);
  };
}
