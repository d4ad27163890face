/**
 * Cursors: texts that name the position of the next page. Clients pass them on unchanged.
 *
 * @module
 */
import { formed } from "../../core/checked_values.ts";
import { nodeCrypto } from "../../core/node_modules.ts";
import { SERVER_ORDERS, type ServerOrder } from "../../store/queries/orders.ts";
import { type EventCursor, isPosition, type PageCursor } from "../../store/mod.ts";
import type { ServersQuery } from "./dashboard_data.ts";
import { MAX_TIME, type Parameter, parameter, ParameterError } from "./parameters.ts";

/** The position of a page of servers. */
export interface ServersCursor {
  readonly sort: ServerOrder;
  readonly at: PageCursor;
}

/** Length of the check digits of a cursor. */
const CHECK = 6;
/** Maximum length of a cursor, whose longest part is a name in UTF-8. */
const MAX_CURSOR = 1000;

/**
 * Writes a cursor of servers: check digits, and the order, the direction and the position as JSON.
 *
 * @example
 * ```ts
 * import { readServersCursor, serversCursor } from "./cursors.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const at = { direction: "after", position: ["lobby", 7] } as const;
 * const cursor = serversCursor("name", at);
 * assertEquals(readServersCursor(cursor), { sort: "name", at });
 * assertEquals(readServersCursor(cursor.slice(1)), undefined);
 * ```
 */
export function serversCursor(sort: ServerOrder, { direction, position }: PageCursor): string {
  const text = JSON.stringify([sort, direction, ...position]);
  return new TextEncoder().encode(checkOf(text) + text)
    .toBase64({ alphabet: "base64url", omitPadding: true });
}

/** Reads a cursor of servers; `undefined` for another text. */
export function readServersCursor(text: string): ServersCursor | undefined {
  const decoded = text.length > MAX_CURSOR ? undefined : fromBase64(text);
  const json = decoded?.slice(CHECK) ?? "";
  if (decoded?.slice(0, CHECK) !== checkOf(json)) return undefined;
  const [sort, direction, ...position] = listIn(json);
  if (!isOrder(sort) || direction !== "after" && direction !== "before") return undefined;
  return isPosition(sort, position) ? { sort, at: { direction, position } } : undefined;
}

/** The list that a JSON text has; it is empty for another text. */
function listIn(json: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(json);
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

/** Digits that a mistyped or shortened cursor does not have. */
function checkOf(text: string): string {
  return nodeCrypto().createHash("sha256").update(`cursor ${text}`).digest("hex").slice(0, CHECK);
}

function fromBase64(text: string): string | undefined {
  try {
    const bytes = Uint8Array.fromBase64(text, { alphabet: "base64url" });
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function isOrder(text: unknown): text is ServerOrder {
  return typeof text === "string" && Object.hasOwn(SERVER_ORDERS, text);
}

/** The position of a page of servers. */
export const SERVERS_CURSOR: Parameter<string> = {
  description: "The position of the page: `next` or `previous` of another page.",
  wanted: "the next or previous of another page",
  schema: { type: "string", maxLength: MAX_CURSOR },
  repeats: false,
  read: (text) => readServersCursor(text) === undefined ? undefined : text,
};

/** The position of an event in the order of times: time, transaction, number. `1764142000000-812-40`. */
export function eventCursor({ at, tx, seq }: EventCursor): string {
  return `${at}-${tx}-${seq}`;
}

/** Only events before a position in the order of times. */
export const BEFORE_EVENT = parameter(
  "Only events before this one: the `next` of the page before.",
  formed(
    "the next of another page",
    (text) => parseEventCursor(text) === undefined ? undefined : text,
    {
      type: "string",
      pattern: "^-?\\d{1,16}-\\d{1,19}-\\d{1,15}$",
    },
  ),
);

/** The position in a value of {@linkcode BEFORE_EVENT}; `undefined` for another text. */
export function parseEventCursor(text: string): EventCursor | undefined {
  const [, at, tx, seq] = /^(-?\d{1,16})-(\d{1,19})-(\d{1,15})$/.exec(text) ?? [];
  if (at === undefined || !(Math.abs(Number(at)) <= MAX_TIME)) return undefined;
  return { at: Number(at), tx, seq: Number(seq) };
}

/**
 * The order and the position of a request.
 *
 * @param text A value of {@linkcode SERVERS_CURSOR}; `undefined`: the first page.
 *
 * @throws ParameterError for a cursor of another order.
 */
export function cursorIn(
  text: string | undefined,
  sort: ServerOrder | undefined,
  usual: ServerOrder,
): Pick<ServersQuery, "sort" | "cursor"> {
  if (text === undefined) return { sort: sort ?? usual };
  const cursor = readServersCursor(text)!; // SERVERS_CURSOR has read it
  if (sort === undefined || sort === cursor.sort) return { sort: cursor.sort, cursor: cursor.at };
  throw new ParameterError(
    `Cannot use cursor: it is of the order ${cursor.sort}`,
    "the next or previous of a page of the same order",
  );
}
