/**
 * The URLs of the feed of events, and its periods.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import { eventCursor } from "../queries/cursors.ts";
import type { EventsQuery } from "../queries/dashboard_data.ts";
import { filterQuery } from "../queries/filters.ts";

/** Periods that end now, by their names in URLs. */
export const EVENT_PERIODS = {
  "1h": HOUR_MS,
  "24h": DAY_MS,
  "7d": 7 * DAY_MS,
  "30d": 30 * DAY_MS,
} as const;

export type EventPeriod = keyof typeof EVENT_PERIODS;

/** The events to show: of a period that ends now, or from one time to another. */
export interface EventsUrl extends Partial<EventsQuery> {
  readonly period?: EventPeriod;
}

export function eventsUrl(
  { kinds = [], server, network, period, from, to, before }: EventsUrl,
): string {
  const query = new URLSearchParams(kinds.map((kind) => ["kind", kind]));
  const times = period === undefined ? { from, to } : { period };
  for (const [name, value] of Object.entries({ server, ...times })) {
    if (value !== undefined) query.set(name, String(value));
  }
  if (before !== undefined) query.set("before", eventCursor(before));
  const parts = [String(query), filterQuery({ network })].filter((part) => part !== "");
  return parts.length === 0 ? "/events" : `/events?${parts.join("&")}`;
}
