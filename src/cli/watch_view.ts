/**
 * Events for human eyes.
 *
 * @module
 */
import { formatEndpoint, parseAddress } from "../address.ts";
import { oneLine } from "../text.ts";
import type { Change, WatchEvent } from "../watch/mod.ts";

/** An event in one line; all that servers said is made harmless. */
export function eventLine(event: WatchEvent): string {
  const time = new Date(event.at).toISOString().slice(11, 19);
  const where = formatEndpoint({ address: parseAddress(event.host)!, port: event.port });
  const name = event.requested_as === null ? "" : ` (${event.requested_as})`;
  return oneLine(`${time}Z  ${event.event.padEnd(9)}  ${(where + name).padEnd(21)}  ${what(event)}`)
    .trimEnd();
}

function what(event: WatchEvent): string {
  switch (event.event) {
    case "online": {
      const { server: { name, version, players_online: online, players_max: max } } = event;
      const back = event.offline_ms === null ? "" : ` after ${duration(event.offline_ms)}`;
      return `${online ?? "?"}/${max ?? "?"}  ${version ?? "?"}  ${name ?? ""}${back}`;
    }
    case "offline":
      return `no answer to ${event.misses} polls`;
    case "players": {
      const added = (event.joined ?? []).map((player) => ` +${player}`).join("");
      const gone = (event.left ?? []).map((player) => ` -${player}`).join("");
      return change(event.players_online) + added + gone;
    }
    case "opted_out":
      return "asks scanners to stay away: polled no more";
    case "restarted":
      return `GUID ${change(event.guid)}`;
    case "changed":
      return Object.entries(event.changes).map(([column, values]) => `${column} ${change(values)}`)
        .join(", ");
  }
}

function change([before, now]: Change): string {
  return `${shown(before)} -> ${shown(now)}`;
}

function shown(value: unknown): string {
  return value === null ? "none" : typeof value === "string" ? value : JSON.stringify(value);
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
