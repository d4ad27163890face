/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The feed of events.
 *
 * @module
 */
import type { EventsPage } from "../../store/mod.ts";
import { EVENT_KINDS } from "../../store/events/watch_event.ts";
import { eventCursor } from "../queries/cursors.ts";
import type { EventsQuery } from "../queries/dashboard_data.ts";
import { CommandText, Empty, PageHead, Tabs } from "../components/blocks.tsx";
import { EventList, kindTitle } from "../components/event_list.tsx";
import { serverUrl } from "../components/links.ts";
import { safeText } from "../components/texts.tsx";
import { htmlDocument } from "./layout.tsx";
import { commandFor, type PageContext } from "./page_context.ts";

/** What the feed shows. The URL has the kinds as `kind`, and the other members by their names. */
export interface EventsPageData {
  readonly query: EventsQuery;
  readonly page: EventsPage;
}

function eventsUrl({ kinds = [], server, from, to, before }: Partial<EventsQuery>): string {
  const query = new URLSearchParams(kinds.map((kind) => ["kind", kind]));
  for (const [name, value] of Object.entries({ server, from, to })) {
    if (value !== undefined) query.set(name, String(value));
  }
  if (before !== undefined) query.set("before", eventCursor(before));
  return query.size === 0 ? "/events" : `/events?${query}`;
}

export function eventsPage({ query, page }: EventsPageData, context: PageContext): string {
  const { server } = query;
  const isOfOne = typeof server === "number";
  return htmlDocument({
    title: "Events",
    context,
    children: (
      <>
        <PageHead title="Events">
          {isOfOne && (
            <p class="matched">
              of one server: <a href={serverUrl(server)}>its page</a>,{" "}
              <a href={eventsUrl({ ...query, server: undefined, before: undefined })}>
                all servers
              </a>
            </p>
          )}
        </PageHead>
        <FilterForm query={query} />
        <div class="card">
          <Kinds query={query} />
          {page.events.length === 0 ? <NoEvents query={query} context={context} /> : (
            <EventList
              events={page.events}
              now={context.now}
              withServers={!isOfOne}
              withNames={false}
            />
          )}
          <Paging query={query} page={page} />
        </div>
      </>
    ),
  });
}

/** The form for a server and a period. */
function FilterForm({ query: { kinds = [], server, from, to } }: { query: EventsQuery }) {
  return (
    <form class="search" action="/events">
      {kinds.map((kind) => <input type="hidden" name="kind" value={kind} />)}
      <input
        type="search"
        name="server"
        value={server === undefined ? "" : safeText(String(server))}
        maxlength={100}
        placeholder="Server, such as 192.0.2.1:25565"
        aria-label="Endpoint or host of a server"
      />
      <TimeField name="from" title="From" at={from} />
      <TimeField name="to" title="To" at={to} />
      <button type="submit">Show</button>
    </form>
  );
}

/** A field for a time in UTC, to the minute; with `page.js`, in the local time zone. */
function TimeField({ name, title, at }: { name: string; title: string; at: number | undefined }) {
  return (
    <label class="time-field">
      {title} <small>UTC</small>
      <input
        type="datetime-local"
        name={name}
        value={at === undefined ? "" : new Date(at).toISOString().slice(0, 16)}
      />
    </label>
  );
}

/** Links that choose and remove kinds. */
function Kinds({ query }: { query: EventsQuery }) {
  const { kinds = [] } = query;
  const first = { ...query, before: undefined };
  const others = EVENT_KINDS.map((kind) => ({
    name: kindTitle(kind),
    url: eventsUrl({
      ...first,
      kinds: kinds.includes(kind) ? kinds.filter((one) => one !== kind) : [...kinds, kind],
    }),
    isChosen: kinds.includes(kind),
  }));
  const url = eventsUrl({ ...first, kinds: [] });
  const all = { name: "All", url, isChosen: kinds.length === 0 };
  return <Tabs label="Kind of event" tabs={[all, ...others]} />;
}

function Paging({ query, page: { next } }: EventsPageData) {
  if (query.before === undefined && next === null) return null;
  return (
    <nav class="paging" aria-label="Pages of the feed">
      {query.before === undefined
        ? <span class="button" aria-disabled="true">← Newest</span>
        : <a class="button" href={eventsUrl({ ...query, before: undefined })}>← Newest</a>}
      {next !== null && (
        <a class="button" rel="next" href={eventsUrl({ ...query, before: next })}>Older →</a>
      )}
    </nav>
  );
}

function NoEvents({ query, context }: { query: EventsQuery; context: PageContext }) {
  const { kinds = [], server, from, to, before } = query;
  if (before !== undefined) return <Empty title="There are no older events." />;
  if (kinds.length > 0 || [server, from, to].some((one) => one !== undefined)) {
    return (
      <Empty title="No event matches.">
        <p>
          <a href="/events">Show all events</a>
        </p>
      </Empty>
    );
  }
  return (
    <Empty title={`${safeText(context.database, 60)} has no events yet.`}>
      <p>
        Watch its servers: <CommandText text={commandFor(context, "watch DATABASE")} />
      </p>
    </Empty>
  );
}
