/**
 * Parameters that several routes have.
 *
 * @module
 */

import { formed, oneOf, wholeNumber } from "../../core/checked_values.ts";
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import { SERVER_ORDERS, type ServerOrder } from "../../store/queries/orders.ts";
import type { Square, TrendsQuery } from "./dashboard_data.ts";
import { MAP_LAYERS } from "./schemas.ts";
import { parseAddress } from "../../core/address.ts";
import { parseServerName } from "../../store/mod.ts";
import { MAX_TIME, parameter, ParameterError, several } from "./parameters.ts";

/** How far the clock of a database may be ahead of the dashboard's, milliseconds. */
const AHEAD_MS = 60_000;
/** The usual period of a server's history, milliseconds: a week. */
export const HISTORY_MS = 7 * DAY_MS;
/** The lengths of periods that pages choose by themselves, milliseconds. */
const FITTING_MS = [HOUR_MS, DAY_MS, HISTORY_MS];
/** Maximum number of rows of an answer. */
export const MAX_ROWS = 500;

const ID = wholeNumber(1, Number.MAX_SAFE_INTEGER);
/** The number of a server in its database. */
export const SERVER_ID = parameter("`id` of the server.", ID);

const SERVER_NAME = formed<number | string>(
  "the number of a server, or an address or name such as 192.0.2.1:25565",
  (text) => /^\d+$/.test(text) ? ID.read(text) : parseServerName(text)?.key,
  { type: ["integer", "string"], minimum: 1, minLength: 1, maxLength: 100 },
);
const SERVER_TEXT = "`id` of the server, or its `key`; a host means all its servers.";
/** A server of which events are read: its number, or its name. */
export const SERVER = parameter(SERVER_TEXT, SERVER_NAME);
/** Servers that are compared. */
export const SERVERS = several(SERVER_TEXT, SERVER_NAME);

/** The identity of a scan. */
export const SCAN_ID = parameter(
  "`scan_id` of the scan or watch.",
  formed(
    "an identity of a scan, such as 0198c0de-0000-7000-8000-000000000000",
    (text) => /^[\w-]{1,36}$/.test(text) ? text : undefined,
    { type: "string", maxLength: 36 },
  ),
);

/** A sort order of servers. */
export const SORT = parameter(
  "Sort order of the servers; with -reversed, in the other direction.",
  oneOf(Object.keys(SERVER_ORDERS) as ServerOrder[]),
);

/** Whether rows of one server are shown as one. */
export const GROUP = parameter(
  "yes: rows that certainly belong to one server are one row; no: each endpoint is a row.",
  oneOf(["yes", "no"]),
);

export const LIMIT = parameter("Maximum number of rows.", wholeNumber(1, MAX_ROWS));

/** The periods of trends, days. */
const PERIODS = ["1", "7", "30", "365"] as const;
export const DAYS = parameter(
  "The last days of the trend. Default: the shorter one of 1 and 7 that has all values of the last week.",
  oneOf(PERIODS),
);
/** The property whose values have a trend each. */
export const BY = parameter(
  "The property whose most frequent values have a trend each. Default: one trend of all servers.",
  oneOf(["edition", "software", "version", "port", "protocol"]),
);

/** The days of a parameter {@linkcode DAYS}. */
export function daysOf(text: typeof PERIODS[number] | undefined): TrendsQuery["days"] {
  return text === undefined ? undefined : Number(text) as TrendsQuery["days"];
}

export const LAYER = parameter("What the cells of the map show.", oneOf(MAP_LAYERS));

/** A page of the table below the map. */
export const TABLE_PAGE = parameter("Page of the table.", wholeNumber(1, 65_536));

/** The square of a map. */
export const PREFIX = parameter(
  "The network that the map shows. Default: the smallest one with all servers that the filters match.",
  formed(
    "an IPv4 network of /0, /8 or /16, such as 10.0.0.0/8",
    (text) => squareOf(text) === undefined ? undefined : text,
  ),
);

/** The square of a text like `10.0.0.0/8`; `undefined`: it is no such network. */
export function squareOf(text: string): Square | undefined {
  const [, host, length] = /^([\d.]{7,15})\/(0|8|16)$/.exec(text) ?? [];
  const address = host === undefined ? undefined : parseAddress(host);
  const prefix = Number(length) as Square["prefix"];
  if (typeof address !== "number" || address % 2 ** (32 - prefix) !== 0) return undefined;
  return { address, prefix };
}

/** A point in time. Forms of pages send a date and time in UTC. */
export function time(description: string) {
  const number = wholeNumber(0, MAX_TIME);
  return parameter(
    `${description} Unix milliseconds, or a date and time in UTC.`,
    formed<number>(
      "Unix milliseconds, or a date and time in UTC such as 2026-01-31T23:59",
      (text) => {
        const date = /^(\d{4}-\d\d-(\d\d))(T\d\d:\d\d(?::\d\d)?)?$/.exec(text);
        if (date === null) return number.read(text);
        const [, day, dayOfMonth, clock = "T00:00"] = date;
        if (new Date(day).getUTCDate() !== Number(dayOfMonth)) return undefined; // February 31
        const at = Date.parse(`${day}${clock}Z`);
        return at >= 0 ? at : undefined; // NaN too
      },
      { type: ["integer", "string"], minimum: 0, maximum: MAX_TIME, maxLength: 19 },
    ),
  );
}

/** The length of the shortest period until now that has all observations of a week, milliseconds. */
export function fittingLength(observedSince: number | null, now: number): number {
  const age = observedSince === null ? HISTORY_MS : now - observedSince;
  return FITTING_MS.find((length) => length >= age) ?? HISTORY_MS;
}

/**
 * The period of a history. Default: it ends now, and lasts a week. It ends at most
 * {@linkcode AHEAD_MS} after now.
 *
 * @param usual The length of a period without a start, milliseconds.
 * @throws ParameterError if it has no length.
 */
export function periodOf(
  from: number | undefined,
  to: number | undefined,
  now: number,
  usual = HISTORY_MS,
): { readonly from: number; readonly to: number } {
  const end = Math.min(to ?? now, now + AHEAD_MS);
  const start = from ?? Math.max(0, end - usual);
  if (start < end) return { from: start, to: end };
  throw new ParameterError("Cannot use from: it is not before to", "a time before to and now");
}
