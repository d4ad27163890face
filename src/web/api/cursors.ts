/**
 * Cursors: texts that name the place of the next page. Clients pass them on unchanged.
 *
 * @module
 */
import { nodeCrypto } from "../../core/node_modules.ts";
import { SERVER_ORDERS, type ServerOrder } from "../../store/queries/orders.ts";
import type { EventPosition } from "../../store/events/event_feed.ts";
import type { ServersQuery } from "../data/dashboard_data.ts";
import { formed, MOST_TEXT, ParameterError } from "./parameters.ts";

/** The place of a page of servers. */
export interface ServersCursor {
  readonly sort: ServerOrder;
  readonly at: NonNullable<ServersQuery["cursor"]>;
}

/** Length of the check digits of a cursor. */
const CHECK = 6;

/**
 * Writes a cursor of servers.
 *
 * @example
 * ```ts
 * import { readServersCursor, serversCursor } from "./cursors.ts";
 * import { assertEquals } from "@std/assert";
 *
 * const cursor = serversCursor("name", { direction: "after", id: 7 });
 * assertEquals(readServersCursor(cursor), { sort: "name", at: { direction: "after", id: 7 } });
 * assertEquals(readServersCursor(cursor.slice(1)), undefined);
 * ```
 */
export function serversCursor(sort: ServerOrder, { direction, id }: ServersCursor["at"]): string {
  const text = `${sort}.${direction}.${id}`;
  return btoa(`${text}.${checkOf(text)}`).replace(/=+$/, "").replaceAll("+", "-").replaceAll(
    "/",
    "_",
  );
}

/** Reads a cursor of servers; `undefined` for another text. */
export function readServersCursor(text: string): ServersCursor | undefined {
  if (!/^[\w-]{1,100}$/.test(text)) return undefined;
  const [, body, sort, direction, id, check] =
    /^((\w+)\.(after|before)\.(\d{1,15}))\.(\w+)$/.exec(fromBase64(text) ?? "") ?? [];
  if (body === undefined || check !== checkOf(body) || !isOrder(sort)) return undefined;
  return { sort, at: { direction: direction === "after" ? "after" : "before", id: Number(id) } };
}

/** Digits that a mistyped or shortened cursor does not have. */
function checkOf(text: string): string {
  return nodeCrypto().createHash("sha256").update(`cursor ${text}`).digest("hex").slice(0, CHECK);
}

function fromBase64(text: string): string | undefined {
  try {
    return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined;
  }
}

function isOrder(text: string): text is ServerOrder {
  return Object.hasOwn(SERVER_ORDERS, text);
}

/** The place of a page of servers. */
export const SERVERS_CURSOR = formed(
  "The place of the page: `next` or `previous` of another page.",
  "the next or previous of another page",
  { type: "string", maxLength: MOST_TEXT },
  (text) => readServersCursor(text) === undefined ? undefined : text,
);

/** The place in a feed of events, as `history --events --json` prints it: `812-40`. */
export function eventCursor({ tx, seq }: EventPosition): string {
  return `${tx}-${seq}`;
}

/** Only events before a place in the feed. */
export const BEFORE_EVENT = formed(
  "Only events before this one: the `next` of the page before.",
  "a position such as 812-40",
  { type: "string", pattern: "^\\d{1,19}-\\d{1,15}$" },
  (text) => /^\d{1,19}-\d{1,15}$/.test(text) ? text : undefined,
);

/** The position of the parameter {@linkcode BEFORE_EVENT}. */
export function positionOf(text: string | undefined): EventPosition | undefined {
  if (text === undefined) return undefined;
  const [tx, seq] = text.split("-");
  return { tx, seq: Number(seq) };
}

/**
 * The order and the place of a request.
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
