/**
 * The text of a message to people: one line for each event. If they do not fit, the message shows the
 * newest event of each server, and how many servers and earlier events it leaves out.
 *
 * @module
 */
import { countOf } from "../../core/quantities.ts";
import { cutText } from "../../core/text.ts";
import { isWatcherEvent, type WatchEvent } from "../../store/events/watch_event.ts";

/** The maximum length of a message. */
export interface MessageLength {
  /** Maximum length of a message, in the unit of `lengthOf`. */
  readonly longest: number;
  /** The length of a text. Default: UTF-16 units. */
  readonly lengthOf?: (text: string) => number;
}

/** A message. */
export interface Message {
  /** The text, of at least one line. */
  readonly text: string;
  /** The events that the message is about: all, or the newest one of each server. */
  readonly reported: readonly WatchEvent[];
}

/**
 * Formats events as lines of a message, in their order.
 *
 * @param events At least one event.
 * @param lineOf Formats one event.
 */
export function messageOf(
  events: readonly WatchEvent[],
  lineOf: (event: WatchEvent) => string,
  { longest, lengthOf = (text) => text.length }: MessageLength,
): Message {
  const all = fittingLines(events, lineOf, longest, lengthOf);
  if (all.length === events.length) return { text: all.join("\n"), reported: events };
  const newest = newestEvents(events);
  const free = longest - lengthOf(leftOut(events.length, events.length));
  const shown = fittingLines(newest.toReversed(), lineOf, free, lengthOf).reverse();
  if (shown.length === 0) shown.push(cutTo(lineOf(newest.at(-1)!), free, lengthOf));
  const rest = leftOut(newest.length - shown.length, events.length - newest.length);
  return { text: shown.join("\n") + rest, reported: newest };
}

/**
 * The newest event of each server, in their order. That of the watch itself is the last one, so that
 * every message shows it.
 */
function newestEvents(events: readonly WatchEvent[]): readonly WatchEvent[] {
  const newest = new Map<string, WatchEvent>();
  for (const event of events) {
    const subject = isWatcherEvent(event) ? WATCH : `${event.host} ${event.port}`;
    newest.delete(subject); // a key that is set again would keep its place
    newest.set(subject, event);
  }
  const watch = newest.get(WATCH);
  newest.delete(WATCH);
  return watch === undefined ? [...newest.values()] : [...newest.values(), watch];
}

/** The subject of events of the watch itself. */
const WATCH = "watch";

/** The lines of the first events that fit into a message. */
function fittingLines(
  events: readonly WatchEvent[],
  lineOf: (event: WatchEvent) => string,
  longest: number,
  lengthOf: (text: string) => number,
): string[] {
  const lines: string[] = [];
  let length = -1;
  for (const event of events) {
    const line = lineOf(event);
    length += 1 + lengthOf(line);
    if (length > longest) break;
    lines.push(line);
  }
  return lines;
}

/** The last line of a message, with the numbers of servers and earlier events that it does not show. */
function leftOut(servers: number, earlier: number): string {
  const parts = [
    ...(servers === 0 ? [] : [countOf(servers, "more server")]),
    ...(earlier === 0 ? [] : [countOf(earlier, "earlier event")]),
  ];
  return parts.length === 0 ? "" : `\nand ${parts.join(", ")}`;
}

/** Cuts a text to a length. */
function cutTo(text: string, longest: number, lengthOf: (text: string) => number): string {
  let cut = cutText(text, longest);
  while (lengthOf(cut) > longest) cut = cutText(cut, cut.length - 1);
  return cut;
}
