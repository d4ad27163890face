/**
 * Limits of events, so that a server whose values are long, or change with each poll, cannot fill a
 * database.
 *
 * @module
 */
import { FieldError, parseJson } from "../../core/checked_values.ts";
import { HOUR_MS } from "../../core/quantities.ts";
import { cutText } from "../../core/text.ts";
import { type Database, isInList, listValue, timeParameter } from "../database/database.ts";
import { storableJson } from "../rows/stored_values.ts";
import type { ColumnChange, EventBody } from "./watch_event.ts";

/** Maximum size of the values of a `changed` event, bytes of JSON. */
const MAX_CHANGES_BYTES = 4096;
/** Maximum sizes of one value, bytes of JSON: the first with which the event is small enough applies. */
const VALUE_BYTES = [2048, 512, 128, 64];
/** Maximum size of a text in a list, bytes of JSON. */
const LISTED_TEXT_BYTES = 64;
/** The end of a shortened text. */
const MARK = "…";

/** Changes whose long values are shortened. */
export interface ShortenedChanges {
  /** The values before and now, by column. */
  readonly changes: Readonly<Record<string, ColumnChange>>;
  /** The columns with a shortened value. Absent: there is none. */
  readonly shortened?: readonly string[];
}

/**
 * Shortens long values: texts end with an ellipsis, lists have their first elements. The JSON of the
 * changes of all watched columns has at most 4 KiB.
 */
export function shortenChanges(changes: Readonly<Record<string, ColumnChange>>): ShortenedChanges {
  for (const maxBytes of VALUE_BYTES) {
    const shortened = new Set<string>();
    const entries = Object.entries(changes).map(([column, values]) => {
      const [before, now] = values.map((value) => shortenValue(value, maxBytes));
      if (before !== values[0] || now !== values[1]) shortened.add(column);
      return [column, [before, now]] as const;
    });
    const short = Object.fromEntries(entries);
    if (bytesOf(short) > MAX_CHANGES_BYTES && maxBytes !== VALUE_BYTES.at(-1)) continue;
    return shortened.size === 0 ? { changes } : { changes: short, shortened: [...shortened] };
  }
  throw new Error("unreachable");
}

/** A value of at most `maxBytes`; the same value if it is not longer. */
function shortenValue(value: unknown, maxBytes: number): unknown {
  if (typeof value === "string") return shortenText(value, maxBytes);
  if (!Array.isArray(value)) return value;
  const short: unknown[] = [];
  let [bytes, isSame] = [2, true];
  for (const element of value) {
    const shorter = shortenElement(element);
    bytes += bytesOf(shorter) + 1;
    if (bytes > maxBytes) return short;
    isSame &&= JSON.stringify(shorter) === JSON.stringify(element);
    short.push(shorter);
  }
  return isSame ? value : short;
}

/** An element of a list: a text, or an object with texts. */
function shortenElement(element: unknown): unknown {
  if (typeof element === "string") return shortenText(element, LISTED_TEXT_BYTES);
  if (typeof element !== "object" || element === null) return element;
  return Object.fromEntries(
    Object.entries(element).map(([key, value]) => [key, shortenValue(value, LISTED_TEXT_BYTES)]),
  );
}

function shortenText(text: string, maxBytes: number): string {
  if (text.length <= maxBytes && bytesOf(text) <= maxBytes) return text;
  let short = cutText(text, maxBytes);
  for (let bytes; (bytes = bytesOf(short + MARK)) > maxBytes;) {
    const fits = Math.floor(short.length * maxBytes / bytes);
    short = cutText(short, Math.min(short.length - 1, fits));
  }
  return short + MARK;
}

function bytesOf(value: unknown): number {
  return encoder.encode(storableJson(value)).length;
}

const encoder = new TextEncoder();

/** The kinds of events that a server can cause with each reply. */
const LIMITED: readonly string[] = ["changed", "restarted"];
/** Maximum number of events with each of {@linkcode limitedKeys}, per server and hour. */
export const MAX_PER_HOUR = 12;
/** The kind and the values of an event that are read to limit others. */
type LimitedBody = Pick<EventBody, "event"> & { readonly changes?: unknown };

/**
 * What is limited in an event, each by itself: the columns of `changed`, so that a column that changes
 * often hides no other one; else the kind of the event. Nothing: there is no limit.
 */
export function limitedKeys({ event, changes }: LimitedBody): readonly string[] {
  if (event === "changed") return Object.keys(Object(changes));
  return LIMITED.includes(event) ? [event] : [];
}

/**
 * An event without the changed columns of which there are {@linkcode MAX_PER_HOUR} events of the server
 * in the hour before; `undefined` if nothing is left. With the last change before the limit, the event
 * has `limit_reached: true`.
 *
 * @param earlier Returns the number of events with a key in the hour before.
 */
export function limitedEvent<E extends EventBody>(
  event: E,
  earlier: (key: string) => number,
): E | undefined {
  const keys = limitedKeys(event);
  const left = keys.filter((key) => earlier(key) < MAX_PER_HOUR);
  if (left.length === 0) return keys.length === 0 ? event : undefined;
  const kept = left.length === keys.length ? event : withColumns(event, new Set(left));
  const isLast = left.some((key) => earlier(key) === MAX_PER_HOUR - 1);
  return isLast ? { ...kept, limit_reached: true } : kept;
}

/** An event `changed` with only these columns. */
function withColumns<E extends EventBody>(event: E, columns: ReadonlySet<string>): E {
  if (event.event !== "changed") return event;
  const { shortened: allShortened = [], ...body } = event;
  const changes = Object.entries(event.changes).filter(([column]) => columns.has(column));
  const shortened = allShortened.filter((column) => columns.has(column));
  return {
    ...body,
    changes: Object.fromEntries(changes),
    ...(shortened.length > 0 && { shortened }),
  } as typeof event;
}

/** The events of a server at a time. */
export interface FoundEvents {
  /** `servers.id`. */
  readonly id: number;
  /** When the server was probed, Unix milliseconds of the database's clock. */
  readonly at: number;
  readonly events: readonly EventBody[];
}

/** Limits the events of servers by those that the database has: {@linkcode limitedEvent}. */
export async function limitEvents(
  database: Database,
  found: readonly FoundEvents[],
): Promise<readonly FoundEvents[]> {
  const limited = found.filter(({ events }) => events.some((one) => limitedKeys(one).length > 0));
  if (limited.length === 0) return found;
  const rows = await database.rows(
    `select server, kind, at, data from events where ${isInList(database, "server", "integer")} ` +
      `and at > ${timeParameter(database)} and ${isInList(database, "kind", "text")}`,
    [
      listValue(database, limited.map(({ id }) => id)),
      Math.max(0, Math.min(...limited.map(({ at }) => at)) - HOUR_MS),
      listValue(database, LIMITED),
    ],
  );
  const stored = rows.flatMap(({ server, kind, at, data }) =>
    keysOfStored(String(kind), String(data)).map((key) => ({ key: `${server} ${key}`, at }))
  );
  const times = Map.groupBy(stored, ({ key }) => key);
  return found.map(({ id, at, events }) => {
    const earlier = (key: string) =>
      (times.get(`${id} ${key}`) ?? []).filter((one) => Math.abs(Number(one.at) - at) < HOUR_MS)
        .length;
    return { id, at, events: events.flatMap((body) => limitedEvent(body, earlier) ?? []) };
  });
}

/** The limited keys of a stored event. Another program may have written any data. */
function keysOfStored(kind: string, data: string): readonly string[] {
  try {
    const { changes } = Object(parseJson(data));
    return limitedKeys({ event: kind as EventBody["event"], changes });
  } catch (error) {
    if (error instanceof FieldError) return [];
    throw error;
  }
}
