/**
 * Events as sentences for people, for example `Hypixel (mc.example.org:25565) is offline, last reply
 * 14:03 UTC`.
 *
 * @module
 */
import type { ServerRecord } from "../../core/record.ts";
import { countOf, roughDuration, withCommas } from "../../core/quantities.ts";
import { serverId } from "../../core/record.ts";
import { cutText, plainText } from "../../core/text.ts";
import {
  type ColumnChange,
  isWatcherEvent,
  type WatchEvent,
} from "../../store/events/watch_event.ts";

/** Makes untrusted text harmless for one receiver. */
export type Escape = (text: string) => string;

/** Maximum length of a server's or player's name, UTF-16 units. */
const LONGEST_NAME = 60;
/** Maximum length of a column's value, UTF-16 units. */
const LONGEST_VALUE = 80;
/** Maximum number of columns, and of players who joined or left, in a sentence. */
const MAX_LISTED = 5;

/** Successive slashes, as in URLs. With one slash, receivers make no link. */
const SLASHES = /\/{2,}/g;

/** Untrusted text on one line, without formatting codes and links, cut to a length. */
function tidy(text: string, longest: number, escape: Escape): string {
  const plain = plainText(cutText(text, 8 * longest));
  const short = plain.length > longest ? `${cutText(plain, longest - 1)}…` : plain;
  return escape(short.replace(SLASHES, "/"));
}

/** The server's name; `undefined`: it has none. */
function nameOf({ name }: WatchEvent, escape: Escape): string | undefined {
  return name === null ? undefined : tidy(name, LONGEST_NAME, escape) || undefined;
}

/** The host name that the user gave, otherwise the address; empty for events of the watch itself. */
export function hostOf({ host, requested_as: name }: WatchEvent, escape: Escape): string {
  return tidy(name ?? host ?? "", 253, escape);
}

/**
 * The host and the port: `mc.example.org:25565`, `[2001:db8::1]:19132`; empty for events of the watch
 * itself.
 */
export function endpointOf(event: WatchEvent, escape: Escape): string {
  if (isWatcherEvent(event)) return "";
  const { host, port, requested_as: name } = event;
  const endpoint = name === null ? serverId({ host, port }) : `${name}:${port}`;
  return tidy(endpoint, 260, escape);
}

/** The server's name; without one, its host and port. `The watch`, `A scan`, `An interrupted scan` or `An import` for theirs. */
export function serverOf(event: WatchEvent, escape: Escape): string {
  if (event.event === "scan_summary") {
    if (event.scan_id === null) return "An import";
    return event.state === "interrupted" ? "An interrupted scan" : "A scan";
  }
  if (isWatcherEvent(event)) return "The watch";
  return nameOf(event, escape) ?? endpointOf(event, escape);
}

/** An event as one sentence: the server, and what changed. */
export function eventSentence(event: WatchEvent, escape: Escape): string {
  const endpoint = endpointOf(event, escape);
  const name = nameOf(event, escape);
  if (isWatcherEvent(event)) return `${serverOf(event, escape)} ${changeOf(event, escape)}`;
  return `${name === undefined ? endpoint : `${name} (${endpoint})`} ${changeOf(event, escape)}`;
}

/** What changed: the end of the sentence. */
export function changeOf(event: WatchEvent, escape: Escape): string {
  switch (event.event) {
    case "online": {
      const { offline_ms: offlineMs } = event;
      const again = offlineMs === null ? "" : ` again after ${roughDuration(offlineMs)}`;
      return `is online${again}${serverText(event.server, escape)}`;
    }
    case "new":
      return `is new${serverText(event.server, escape)}`;
    case "back":
      return `is back after ${roughDuration(event.missing_ms)}${serverText(event.server, escape)}`;
    case "lost": {
      const { packet_loss: loss, replied_at: seen, at } = event;
      const lost = loss === null
        ? ""
        : `; the scan lost about ${(100 * loss).toFixed(1)} % of its probes`;
      return `did not reply to a scan, last reply ${timeText(seen, at)}${lost}`;
    }
    case "scan_summary":
      return `found ${countOf(event.new, "new server")} and ${
        countOf(event.back, "server")
      } again, and missed ${countOf(event.lost, "server")} that had replied before`;
    case "offline": {
      const { replied_at: seen, at } = event;
      return `is offline, ${seen === null ? "no reply yet" : `last reply ${timeText(seen, at)}`}`;
    }
    case "changed":
      return changedText(event.changes, escape);
    case "players": {
      const [before, now] = event.players_online.map(count);
      const joined = namesText("joined", event.joined ?? [], escape);
      return `has ${now} online (${before} before)${joined}${
        namesText("left", event.left ?? [], escape)
      }`;
    }
    case "watcher_offline":
      return `is offline, last reply ${timeText(event.since, event.at)}: ${
        event.reason === "no_route" ? "there is no route to servers" : "no server replies"
      }`;
    case "watcher_online":
      return `is online again after ${roughDuration(event.offline_ms)}`;
    case "restarted":
      return "restarted";
    case "opted_out":
      return "opted out and is no longer polled";
  }
}

/** The players and the version of a server that replied. */
function serverText(server: ServerRecord, escape: Escape): string {
  const { players_online: online, players_max: max, version } = server;
  const slots = max === null ? "" : ` of ${withCommas(max)}`;
  const players = online === null ? "" : `, ${withCommas(online)}${slots} players`;
  const shown = version === null ? "" : `, version ${tidy(version, LONGEST_VALUE, escape)}`;
  return `${players}${shown}`;
}

function changedText(changes: Readonly<Record<string, ColumnChange>>, escape: Escape): string {
  const value = (one: unknown) =>
    one === null
      ? "none"
      : tidy(typeof one === "string" ? one : JSON.stringify(one), LONGEST_VALUE, escape);
  const all = Object.entries(changes).map(([column, [before, now]]) =>
    `${escape(column)} ${value(before)} → ${value(now)}`
  );
  return `changed: ${listText(all)}`;
}

function namesText(verb: string, names: readonly string[], escape: Escape): string {
  if (names.length === 0) return "";
  return `; ${verb}: ${listText(names.map((name) => tidy(name, LONGEST_NAME, escape)))}`;
}

/** The first parts with commas, and the number of the others. */
function listText(parts: readonly string[]): string {
  const more = parts.length - MAX_LISTED;
  const shown = parts.slice(0, MAX_LISTED).join(", ");
  return more > 0 ? `${shown} and ${withCommas(more)} more` : shown;
}

function count(players: unknown): string {
  return typeof players === "number" ? countOf(players, "player") : "an unknown number";
}

/** A time of day in UTC, with its date if the event has another. */
function timeText(time: number, eventAt: number): string {
  const [day, clock] = new Date(time).toISOString().split("T");
  const isSameDay = new Date(eventAt).toISOString().startsWith(day);
  return `${isSameDay ? "" : `${day} `}${clock.slice(0, 5)} UTC`;
}

/** The player count of an event; empty for events without one. */
export function playersOf(event: WatchEvent): string {
  const players = "server" in event
    ? event.server.players_online
    : event.event === "players"
    ? event.players_online[1]
    : null;
  return players === null ? "" : String(players);
}
