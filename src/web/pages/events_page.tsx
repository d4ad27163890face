/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The feed of events.
 *
 * @module
 */
import { EVENT_KINDS } from "../../store/events/watch_event.ts";
import type { EventsQuery, GroupedEvents } from "../queries/dashboard_data.ts";
import { CommandText, Empty, PageHead, Tabs } from "../components/blocks.tsx";
import { EventList, kindTitle } from "../events/event_list.tsx";
import {
  EVENT_PERIODS,
  type EventPeriod,
  type EventsUrl,
  eventsUrl,
} from "../events/events_url.ts";
import { serversUrl, serverUrl } from "../components/links.ts";
import { safeText } from "../components/texts.tsx";
import { htmlDocument } from "./layout.tsx";
import { commandFor, type PageContext } from "./page_context.ts";

/** What the feed shows. The URL has the kinds as `kind`, and the other members by their names. */
export interface EventsPageData {
  readonly query: EventsQuery;
  /** The period that ends now; `undefined`: the times of the query. */
  readonly period?: EventPeriod;
  readonly page: GroupedEvents;
}

export function eventsPage(data: EventsPageData, context: PageContext): string {
  const { query, period, page } = data;
  const { server, network } = query;
  const shown = { ...query, period };
  const isOfOne = typeof server === "number";
  return htmlDocument({
    title: period === undefined ? "Events" : `Events of the last ${period}`,
    context,
    children: (
      <>
        <PageHead title="Events">
          {network !== undefined && (
            <p class="matched">
              of servers in{" "}
              <a href={serversUrl({ network })}>{safeText(network.join(", "), 200)}</a>,{" "}
              <a href={eventsUrl({ ...shown, network: undefined, before: undefined })}>
                all servers
              </a>
            </p>
          )}
          {isOfOne && (
            <p class="matched">
              of one server: <a href={serverUrl(server)}>its page</a>,{" "}
              <a href={eventsUrl({ ...shown, server: undefined, before: undefined })}>
                all servers
              </a>
            </p>
          )}
          <Periods shown={shown} />
        </PageHead>
        <FilterForm shown={shown} />
        <div class="card">
          <Kinds shown={shown} />
          {page.events.length === 0 ? <NoEvents query={query} context={context} /> : (
            <EventList
              events={page.events}
              groups={isOfOne ? [] : page.groups}
              now={context.now}
              withServers={!isOfOne}
              withNames={false}
            />
          )}
          <Paging shown={shown} next={page.next} />
        </div>
      </>
    ),
  });
}

/** Links that choose a period. */
function Periods({ shown }: { shown: EventsUrl }) {
  const names = Object.keys(EVENT_PERIODS) as EventPeriod[];
  const first = { ...shown, before: undefined };
  const tabs = names.map((period) => ({
    name: period.replace(/(?=[hd])/, " "),
    url: eventsUrl({ ...first, period }),
    isChosen: period === shown.period,
  }));
  const isAll = [shown.period, shown.from, shown.to].every((one) => one === undefined);
  const url = eventsUrl({ ...first, period: undefined, from: undefined, to: undefined });
  return <Tabs label="Period" tabs={[...tabs, { name: "All", url, isChosen: isAll }]} />;
}

/** The form for a server and a period. */
function FilterForm({ shown }: { shown: EventsUrl }) {
  const { kinds = [], server, network = [], period } = shown;
  const { from, to } = period === undefined ? shown : {};
  return (
    <form class="search" action="/events">
      {kinds.map((kind) => <input type="hidden" name="kind" value={kind} />)}
      {network.map((one) => <input type="hidden" name="network" value={one} />)}
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

/** A field for a time in UTC, to the minute. */
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
function Kinds({ shown }: { shown: EventsUrl }) {
  const { kinds = [] } = shown;
  const first = { ...shown, before: undefined };
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

function Paging({ shown, next }: { shown: EventsUrl; next: GroupedEvents["next"] }) {
  if (shown.before === undefined && next === null) return null;
  return (
    <nav class="paging" aria-label="Pages of the feed">
      {shown.before === undefined
        ? <span class="button" aria-disabled="true">← Newest</span>
        : <a class="button" href={eventsUrl({ ...shown, before: undefined })}>← Newest</a>}
      {next !== null && (
        <a class="button" rel="next" href={eventsUrl({ ...shown, before: next })}>Older →</a>
      )}
    </nav>
  );
}

function NoEvents({ query, context }: { query: EventsQuery; context: PageContext }) {
  const { kinds = [], server, network, from, to, before } = query;
  if (before !== undefined) return <Empty title="There are no older events." />;
  if (kinds.length > 0 || [server, network, from, to].some((one) => one !== undefined)) {
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
