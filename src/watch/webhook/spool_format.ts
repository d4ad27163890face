/**
 * The file of a queue of webhook events. Lines are appended:
 *
 *     blocksweep webhook spool 1     header with the format's version
 *     {"id":"...",...}               an event, as the webhook sends it
 *     - ID                           all events up to this id are removed
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import { parseWatchEvent } from "./valid_event.ts";

/** The first line of a spool file. */
export const SPOOL_HEAD = "blocksweep webhook spool 1\n";
/** The end of a line. */
export const NEW_LINE = Uint8Array.of(10);

/** An event in the queue. */
export interface QueuedEvent {
  /** The event's id. */
  readonly id: string;
  /** The event's line, without its line feed. */
  readonly line: Uint8Array<ArrayBuffer>;
}

/** Joins byte strings. They may be more than a call may have arguments. */
export function concatenate(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The parsed content of a spool file. */
export interface SpoolContent {
  readonly events: QueuedEvent[];
  /** Number of lines that could not be parsed. */
  readonly damaged: number;
  /** Size of the complete lines, bytes. */
  readonly length: number;
}

/** The content of a new spool file. */
export function emptyContent(): SpoolContent {
  return { events: [], damaged: 0, length: 0 };
}

/** Parses a spool file up to its last complete line. */
export function parseSpool(bytes: Uint8Array, path: string): SpoolContent {
  const length = bytes.lastIndexOf(10) + 1;
  const decoder = new TextDecoder();
  if (length === 0 && SPOOL_HEAD.startsWith(decoder.decode(bytes))) return emptyContent();
  if (!decoder.decode(bytes.subarray(0, SPOOL_HEAD.length)).startsWith(SPOOL_HEAD)) {
    throw new InputError(`Cannot use "${path}": it is not a spool of webhook events`);
  }
  const all: QueuedEvent[] = [];
  const places = new Map<string, number>(); // the index of each event that is not removed
  let first = 0;
  let damaged = 0;
  for (let at = SPOOL_HEAD.length; at < length;) {
    const end = bytes.indexOf(10, at);
    const line = bytes.slice(at, end);
    const removed = /^- (.+)$/.exec(decoder.decode(line.subarray(0, 100)))?.[1];
    const id = removed === undefined ? parseWatchEvent(decoder.decode(line))?.id : undefined;
    if (removed !== undefined) first = Math.max(first, (places.get(removed) ?? -1) + 1);
    else if (id === undefined) damaged++;
    else {
      if ((places.get(id) ?? -1) < first) places.set(id, all.length);
      all.push({ id, line });
    }
    at = end + 1;
  }
  return { events: all.slice(first), damaged, length };
}
