/**
 * The limit of events of a watch without a database. A database limits the events that it stores.
 *
 * @module
 */
import { HOUR_MS } from "../core/quantities.ts";
import { limitedEvent, limitedKeys } from "../store/mod.ts";
import { isWatcherEvent, type WatchEvent } from "../store/events/watch_event.ts";

/**
 * Limits events that no database has stored. Of the changes of each column of a server, and of its
 * events `restarted`, at most 12 are reported in an hour; the twelfth has `limit_reached: true`.
 *
 * @param report Receives the events within the limit, and whether a database has stored them.
 * @returns Takes all events.
 */
export function withEventLimit(
  report: (event: WatchEvent, isStored: boolean) => void,
): (event: WatchEvent, isStored?: boolean) => void {
  // At most 12 times for each column and server, Unix milliseconds.
  const reported = new Map<string, number[]>();
  return (event, isStored = false) => {
    if (isStored || isWatcherEvent(event)) return report(event, isStored);
    const { requested_as: name, host, port, at } = event;
    const timesOf = (limited: string) => {
      const key = `${limited} ${name ?? host} ${port}`;
      const times = reported.getOrInsertComputed(key, () => []);
      while (times.length > 0 && Math.abs(at - times[0]) >= HOUR_MS) times.shift();
      return times;
    };
    const limited = limitedEvent(event, (limited) => timesOf(limited).length);
    if (limited === undefined) return;
    for (const one of limitedKeys(limited)) timesOf(one).push(at);
    report(limited, isStored);
  };
}
