/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The feed of events.
 *
 * @module
 */
import type { ListedEvent } from "../../store/events/event_feed.ts";
import type { EventsQuery } from "../data/dashboard_data.ts";
import { EVENT_KINDS } from "../../store/events/watch_event.ts";
import { EventList, kindTitle } from "../parts/event_list.tsx";
import { serverUrl } from "../parts/links.ts";
import { Empty, PageHead, Tabs } from "../parts/blocks.tsx";
import { htmlDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/** What the feed shows. The URL has the kinds as `kind`, `server`, and the position as `before`. */
export interface EventsPageData {
  readonly query: EventsQuery;
  readonly events: readonly ListedEvent[];
}

/** The URL of the feed. */
function eventsUrl({ kinds = [], server, before }: Partial<EventsQuery>): string {
  const query = new URLSearchParams(kinds.map((kind) => ["kind", kind]));
  if (server !== undefined) query.set("server", String(server));
  if (before !== undefined) query.set("before", `${before.tx}-${before.seq}`);
  return query.size === 0 ? "/events" : `/events?${query}`;
}

/** The page `/events`. */
export function eventsPage({ query, events }: EventsPageData, context: PageContext): string {
  const { kinds = [], server } = query;
  return htmlDocument({
    title: "Events",
    context,
    children: (
      <>
        <PageHead title="Events">
          {server !== undefined && (
            <p class="matched">
              of one server: <a href={serverUrl(server)}>its page</a>,{" "}
              <a href={eventsUrl({ kinds })}>all servers</a>
            </p>
          )}
        </PageHead>
        <div class="card">
          <Kinds query={query} />
          {events.length === 0 ? <NoEvents query={query} /> : (
            <EventList
              events={events}
              now={context.now}
              withServers={server === undefined}
              withNames={false}
            />
          )}
          <Paging query={query} events={events} />
        </div>
      </>
    ),
  });
}

/** Links that choose and remove kinds. */
function Kinds({ query: { kinds = [], server } }: { query: EventsQuery }) {
  const others = EVENT_KINDS.map((kind) => ({
    name: kindTitle(kind),
    url: eventsUrl({
      server,
      kinds: kinds.includes(kind) ? kinds.filter((one) => one !== kind) : [...kinds, kind],
    }),
    isChosen: kinds.includes(kind),
  }));
  const all = { name: "All", url: eventsUrl({ server }), isChosen: kinds.length === 0 };
  return <Tabs label="Kind of event" tabs={[all, ...others]} />;
}

function Paging({ query: { kinds, server, before, limit }, events }: EventsPageData) {
  const hasOlder = events.length >= limit;
  if (before === undefined && !hasOlder) return null;
  const older = eventsUrl({ kinds, server, before: events[events.length - 1] });
  return (
    <nav class="paging" aria-label="Pages of the feed">
      {before === undefined
        ? <span class="button" aria-disabled="true">← Newest</span>
        : <a class="button" href={eventsUrl({ kinds, server })}>← Newest</a>}
      {hasOlder && <a class="button" rel="next" href={older}>Older →</a>}
    </nav>
  );
}

function NoEvents({ query: { kinds = [], server, before } }: { query: EventsQuery }) {
  if (before !== undefined) return <Empty title="There are no older events." />;
  if (kinds.length > 0 || server !== undefined) {
    return (
      <Empty title="No event matches.">
        <p>
          <a href="/events">Show all events</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No change was detected yet.">
      <p>
        Watch servers of the database: <code>blocksweep watch servers.db</code>
      </p>
    </Empty>
  );
}
