/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The list of servers, with its filters.
 *
 * @module
 */
import type {
  DashboardFilters,
  Facets,
  ServersPage,
  ServersQuery,
} from "../queries/dashboard_data.ts";
import type { PageCursor } from "../../store/mod.ts";
import {
  reversedOrder,
  SERVER_ORDERS,
  type UsualOrder,
  usualOrder,
} from "../../store/queries/orders.ts";
import { filterQuery } from "../queries/filters.ts";
import { guessedFilters, searchOf } from "../queries/search_words.ts";
import { filtersTitle } from "../components/filter_texts.ts";
import { serversUrl, urlOf, USUAL_SORT } from "../components/links.ts";
import {
  FacetList,
  FilterChips,
  MatchedCounts,
  SearchHelp,
  StateList,
} from "../components/facet_list.tsx";
import { CommandText, Empty, PageHead, Tabs } from "../components/blocks.tsx";
import { safeText } from "../components/texts.tsx";
import { htmlDocument } from "./layout.tsx";
import { commandFor, type PageContext } from "./page_context.ts";
import { MAX_COMPARED } from "./compare_page.tsx";
import { COMPARE_FORM, ServerTable } from "../components/server_table.tsx";

export interface ServersPageData {
  readonly query: ServersQuery;
  readonly page: ServersPage;
  /** undefined: the counts are not known yet. */
  readonly facets: Facets | undefined;
}

const SORTS: readonly (readonly [UsualOrder, string])[] = [
  ["players", "Players"],
  ["average", "Players of a day"],
  ["new", "Newest"],
  ["changed", "Changed"],
  ["name", "Name"],
  ["version", "Version"],
  ["address", "Address"],
  ["latency", "Latency"],
  ["seen", "Last probe"],
];

export function serversPage(data: ServersPageData, context: PageContext): string {
  const { query: { filters, sort, group }, page, facets } = data;
  const props = { filters, sort, group };
  const more = {
    sort: sort === USUAL_SORT ? undefined : sort,
    group: group ? undefined : "no",
  };
  const arrow = SERVER_ORDERS[sort].isDescending ? "↓" : "↑";
  const tabs = SORTS.map(([name, title]) => {
    const isChosen = name === usualOrder(sort);
    return {
      name: isChosen ? `${title} ${arrow}` : title,
      url: serversUrl(filters, { sort: isChosen ? reversedOrder(sort) : name, group }),
      isChosen,
    };
  });
  return htmlDocument({
    title: filtersTitle(filters, "Servers"),
    context,
    children: (
      <>
        <PageHead title="Servers">
          <MatchedCounts facets={facets} page={page} />
          <Exports query={data.query} />
        </PageHead>
        <FilterChips filters={filters} path="/servers" more={more} />
        <div class="with-facets">
          <input type="checkbox" id="show-filters" class="hidden" />
          <label for="show-filters" class="button">Filters</label>
          <aside class="facets" aria-label="Filters">
            <StateList {...props} />
            <FacetList {...props} facets={facets} hasGeoip={context.hasGeoip} />
            <SearchHelp />
          </aside>
          <div class="card results">
            <Tabs label="Sort order" tabs={tabs} />
            {page.servers.length === 0 ? <NoServers data={data} context={context} /> : (
              <ServerTable
                servers={page.servers}
                now={context.now}
                label="Servers"
                query={data.query}
                others={page.others}
                hasGeoip={context.hasGeoip}
              />
            )}
            {page.servers.length > 0 && <CompareForm />}
            <Grouping data={data} />
            <Paging data={data} />
          </div>
        </div>
      </>
    ),
  });
}

/** Links to all matched servers as files. */
function Exports({ query: { filters, sort } }: { query: ServersQuery }) {
  return (
    <span class="exports">
      <a href={urlOf("/map", filters)}>Map</a>
      <a href={urlOf("/breakdown", filters)}>Breakdown</a>
      <a href={urlOf("/servers.csv", filters, { sort })}>CSV</a>
      <a href={urlOf("/servers.ndjson", filters, { sort })}>NDJSON</a>
    </span>
  );
}

function NoServers(
  { data: { query: { filters } }, context }: { data: ServersPageData; context: PageContext },
) {
  return filterQuery(filters) === ""
    ? (
      <Empty title={`${safeText(context.database, 60)} has no servers yet.`}>
        <p>
          Scan a network into it:{" "}
          <CommandText text={commandFor(context, "scan 192.168.1.0/24 -o DATABASE")} />
        </p>
      </Empty>
    )
    : (
      <Empty title="No server matches these filters.">
        <p>
          Remove a filter above, or <a href="/servers">show all servers</a>.
        </p>
        <Guess filters={filters} />
        <AddressHint filters={filters} context={context} />
      </Empty>
    );
}

/** The filters that texts may mean. */
function Guess({ filters }: { filters: DashboardFilters }) {
  const guess = guessedFilters(filters);
  return guess === undefined ? null : (
    <p>
      Did you mean <a href={serversUrl(guess)}>{safeText(searchOf(guess))}</a>?
    </p>
  );
}

/** What may find servers of an address or text that no server has. */
function AddressHint(
  { filters, context }: { filters: DashboardFilters; context: PageContext },
) {
  const { network = [], port = [], text = [] } = filters;
  if (network.length === 1) {
    const targets = port.length === 1 ? `${network[0]} -p ${port[0]}` : network[0];
    return (
      <p>
        {port.length > 0 && (
          <>
            Servers at other ports: <a href={serversUrl({ network })}>{network[0]}</a>.{" "}
          </>
        )}
        Probe it: <CommandText text={commandFor(context, `scan ${targets} -o DATABASE`)} />
      </p>
    );
  }
  if (text.length === 0) return null;
  return (
    <p>
      Texts are searched in names, MOTDs, maps and software. Addresses and networks are words such
      as <code>192.0.2.1</code> and <code>192.0.2.0/24</code>.
    </p>
  );
}

/** The form of the rows that are chosen. */
function CompareForm() {
  return (
    <form id={COMPARE_FORM} class="compare" action="/compare">
      <button type="submit">Compare</button>
      <small>the chosen servers, up to {MAX_COMPARED}</small>
    </form>
  );
}

/** The link that shows each endpoint in a row, and the one back. */
function Grouping(
  { data: { query: { filters, sort, group }, page } }: { data: ServersPageData },
) {
  if (group && !page.hidden) return null;
  return (
    <p class="hint">
      {group
        ? "Endpoints that certainly belong to one server are one row. "
        : "Each endpoint is a row. "}
      <a href={serversUrl(filters, { sort, group: !group })}>
        {group ? "Show each endpoint" : "Show each server once"}
      </a>
    </p>
  );
}

function Paging({ data: { query: { filters, sort, group }, page } }: { data: ServersPageData }) {
  const { previous, next } = page;
  if (previous === null && next === null) return null;
  const url = (cursor: PageCursor) => serversUrl(filters, { sort, cursor, group });
  return (
    <nav class="paging" aria-label="Pages of the list">
      {previous !== null
        ? <a class="button" rel="prev" href={url(previous)}>← Previous</a>
        : <span class="button" aria-disabled="true">← Previous</span>}
      {next !== null
        ? (
          <a class="button" rel="next" href={url(next)}>
            Next →
          </a>
        )
        : <span class="button" aria-disabled="true">Next →</span>}
    </nav>
  );
}
