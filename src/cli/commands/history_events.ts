/**
 * The events of a database, for `history --events`: the newest first, or in the order of their
 * transactions to be followed.
 *
 * @module
 */
import { systemClock } from "../../net/clock.ts";
import { checkFile, type FileChange } from "../../app/databases/mod.ts";
import { EXIT, onInterrupt } from "../../app/mod.ts";
import {
  BEFORE_EVENTS,
  type BrokenEvent,
  countHeldUp,
  type EventPosition,
  eventsAfter,
  followEvents,
  lastEvents,
  laterPosition,
  newestEvents,
  type StoredEvent,
  withDatabaseErrors,
} from "../../store/mod.ts";
import { countOf } from "../../core/quantities.ts";
import { jsonText, SCHEMA } from "../../sinks/json.ts";
import type { Database } from "../../store/database/database.ts";
import { print, reportLine, terminalSize } from "../term/console.ts";
import { storedEventLine } from "../term/event_lines.ts";

/** Pause between two readings of the database while it has no further event, milliseconds. */
const PAUSE_MS = 1000;

/** Which events are shown, and how. */
export interface EventOptions {
  /** `servers.id` of the only server whose events are shown; `undefined`: all servers. */
  readonly server: number | undefined;
  /** Maximum number of events that were written before the command. */
  readonly limit: number;
  /** The position after which events are shown; `undefined`: the newest events are shown. */
  readonly after: EventPosition | undefined;
  /** Whether later events are shown too, until Ctrl-C. */
  readonly follow: boolean;
  /** How the file of the database changed since it was opened. */
  readonly fileChange: FileChange;
  /** Whether events are printed as NDJSON. */
  readonly json: boolean;
}

/**
 * Prints the events of a database; returns the exit code.
 *
 * @throws StoreError when the database cannot be read, and when its file is deleted or replaced while
 * its events are followed.
 */
export async function showEvents(
  database: Database,
  { server, limit, after, follow, fileChange, json }: EventOptions,
): Promise<number> {
  const show = (event: StoredEvent) =>
    print(json ? storedEventJson(event) : storedEventLine(event, terminalSize().columns));
  const reading = <T>(work: () => Promise<T>) => withDatabaseErrors("read", database, work);
  const broken: BrokenEvent[] = [];
  const onBroken = (event: BrokenEvent) => {
    broken.push(event);
    reportLine(`blocksweep: ${event.reason}; it is left out`);
  };
  const selection = { server, limit, onBroken };
  const oneMore = { ...selection, limit: limit + 1 };
  const found = await reading(async () => {
    if (follow && after === undefined) return await lastEvents(database, selection);
    if (after !== undefined) {
      return await eventsAfter(database, after, follow ? selection : oneMore);
    }
    const servers = server === undefined ? undefined : [server];
    return (await newestEvents(database, { ...oneMore, servers })).events;
  });
  const events = found.slice(0, limit);
  for (const event of events) await show(event);
  if (found.length > limit) reportLine(moreLine(events, after !== undefined));
  const heldUp = await reading(() => countHeldUp(database, selection));
  if (heldUp > 0) reportLine(heldUpLine(heldUp));
  if (!follow) return EXIT.done;
  using interrupt = onInterrupt(() => {});
  const { signal } = interrupt;
  const position = [...events, ...broken].reduce<EventPosition>(
    laterPosition,
    after ?? BEFORE_EVENTS,
  );
  await reading(async () => {
    const check = () => checkFile(fileChange);
    const options = { server, onBroken, check, pauseMs: PAUSE_MS, clock: systemClock, signal };
    for await (const event of followEvents(database, position, options)) await show(event);
  });
  return EXIT.interrupted;
}

/** How to see the events that were not shown. */
function moreLine(events: readonly StoredEvent[], isAfter: boolean): string {
  const { tx, seq } = events.at(-1)!;
  return isAfter
    ? `${countOf(events.length, "event")}; --after ${tx}-${seq} shows later ones`
    : `the newest ${countOf(events.length, "event")}; raise --limit for more`;
}

/** Why the newest events are missing. */
function heldUpLine(events: number): string {
  return `blocksweep: ${countOf(events, "newer event")} not shown yet: a transaction that began ` +
    'earlier is running in the database (docs/database.md, "Long transactions in PostgreSQL")';
}

/** An event as one line of JSON. `position` is for `--after`. */
function storedEventJson(
  { tx, seq, server_id: _, kind, data, ...event }: StoredEvent,
): string {
  return jsonText({ schema: SCHEMA, event: kind, ...event, position: `${tx}-${seq}`, data });
}
