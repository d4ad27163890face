/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The feed of events.
 *
 * @module
 */
import type { ListedEvent } from "../../store/events/event_feed.ts";
import type { EventsQuery } from "../data/dashboard_data.ts";
import { htmlDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/** What the feed shows. The URL has the kinds as `kind`, `server`, and the position as `before`. */
export interface EventsPageData {
  readonly query: EventsQuery;
  readonly events: readonly ListedEvent[];
}

/** The page `/events`. */
export function eventsPage({ events }: EventsPageData, context: PageContext): string {
  return htmlDocument({
    title: "Events",
    context,
    children: <ul>{events.map(({ kind, server }) => <li>{kind} {server}</li>)}</ul>,
  });
}
