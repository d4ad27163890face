/**
 * Events as lines: for human eyes, and as JSON.
 *
 * @module
 */
import { formatEndpoint, parseAddress } from "../../core/address.ts";
import { jsonText, SCHEMA } from "../../sinks/json.ts";
import { cutText, harmlessText } from "../../core/text.ts";
import type { Change, WatchEvent } from "../../watch/mod.ts";
import { fitWidth } from "../../core/display_width.ts";

/** Terminal columns of a line at the most, and UTF-16 units of a field that are read for it. */
const LONGEST = 300;

/** An event as a JSON object on one line. */
export function eventJson(event: WatchEvent): string {
  return jsonText({ schema: SCHEMA, ...event });
}

/**
 * An event as one line that fits the terminal, so that it does not wrap. Servers' text in it holds
 * no two blanks in a row, and cannot imitate the columns of another event.
 *
 * @param columns Columns of the terminal.
 */
export function eventLine(event: WatchEvent, columns: number = LONGEST): string {
  const time = new Date(event.at).toISOString().slice(11, 19);
  const where = formatEndpoint({ address: parseAddress(event.host)!, port: event.port });
  const name = event.requested_as === null ? "" : ` (${field(event.requested_as)})`;
  const line = `${time}Z  ${event.event.padEnd(9)}  ${(where + name).padEnd(21)}  ${what(event)}`;
  return fitWidth(line, Math.min(columns, LONGEST)).trimEnd();
}

/** Text of a server, or of a user, in a line. */
function field(text: string): string {
  return harmlessText(cutText(text, LONGEST)).replace(/\s{2,}/g, " ");
}

function what(event: WatchEvent): string {
  switch (event.event) {
    case "online": {
      const { server: { name, version, players_online: online, players_max: max } } = event;
      const back = event.offline_ms === null ? "" : ` after ${duration(event.offline_ms)}`;
      return `${online ?? "?"}/${max ?? "?"}  ${field(version ?? "?")}  ${
        field(name ?? "")
      }${back}`;
    }
    case "offline":
      return `no answer to ${event.misses} polls`;
    case "players": {
      const added = (event.joined ?? []).map((player) => ` +${field(player)}`).join("");
      const gone = (event.left ?? []).map((player) => ` -${field(player)}`).join("");
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
  return value === null ? "none" : field(typeof value === "string" ? value : JSON.stringify(value));
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
