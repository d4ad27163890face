/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The filters beside the list of servers: states, facets with counts, and the words of searches.
 *
 * @module
 */
import type {
  DashboardFilters,
  Facets,
  FacetValue,
  ServersPage,
} from "../queries/dashboard_data.ts";
import { type FacetName, FACETS } from "../queries/schemas.ts";
import { readFilters } from "../queries/filters.ts";
import { SEARCH_WORDS } from "../queries/search_words.ts";
import { DASHBOARD_FILTERS } from "../queries/dashboard_filters.ts";
import { filterTexts } from "./filter_texts.ts";
import { acceptedUrl, serversUrl, toggledFacet, urlOf } from "./links.ts";
import { PLAYER_FLAGS, type PlayerFlag } from "../../core/flags.ts";
import { countText, percentText, shortCount } from "./quantities.ts";
import { Bar } from "./server_cells.tsx";
import { safeText } from "./texts.tsx";
import type { ServerOrder } from "../../store/queries/orders.ts";

export const FACET_TITLES: Readonly<Record<FacetName, string>> = {
  edition: "Edition",
  software: "Software",
  version: "Version",
  protocol: "Protocol",
  port: "Port",
  flag: "Flag",
  country: "Country",
  operator: "Operator",
};

/** Number of values of a facet that are visible without unfolding the rest. */
const FIRST = 7;
/** Facets that are unfolded although no value is chosen. */
const OPEN: readonly FacetName[] = ["edition", "software", "version"];

interface FilterProps {
  readonly filters: DashboardFilters;
  readonly sort: ServerOrder;
  /** Whether the list shows rows of one server as one. */
  readonly group?: boolean;
}

const HOUR_MS = 3_600_000;
/** States of servers, and the filters for each. Of one filter, a URL has one value. */
const STATES: readonly (readonly [string, Pick<DashboardFilters, StateFilter>, title?: string])[] =
  [
    ["Online", { online: true }],
    ["Offline", { online: false }],
    ["Down for an hour", { down: -HOUR_MS }],
    ["Down for a day", { down: -24 * HOUR_MS }],
    ["Changed in 1 h", { since: -HOUR_MS }],
    ["Changed in 24 h", { since: -24 * HOUR_MS }],
    ["New in the last scan", { saw: "new" }],
    ["Lost by the last scan", { saw: "lost" }, "Servers that replied to the scan before"],
    ["Not probed for 7 d", { stale: -7 * 24 * HOUR_MS }],
    ["Lists mods", { mods: ["yes"] }],
    [
      "Counts not believed",
      { flag: (Object.keys(PLAYER_FLAGS) as PlayerFlag[]).sort() },
      "Servers whose number of players has a flag: its rule stands beside the number",
    ],
  ];

type StateFilter = "online" | "down" | "since" | "saw" | "stale" | "mods" | "flag";

/** The states of servers as filters. */
export function StateList({ filters, sort, group }: FilterProps) {
  return (
    <details class="facet" open>
      <summary>State</summary>
      <ul>
        {STATES.map(([title, state, meaning]) => {
          const [name] = Object.keys(state) as [StateFilter];
          const isChosen = JSON.stringify(filters[name]) === JSON.stringify(state[name]);
          const chosen = { ...filters, [name]: isChosen ? undefined : state[name] };
          return (
            <li>
              <a
                href={serversUrl(chosen, { sort, group })}
                aria-current={isChosen ? "true" : undefined}
                title={isChosen ? "Remove this filter" : meaning}
              >
                <span>{title}</span>
              </a>
            </li>
          );
        })}
      </ul>
    </details>
  );
}

/** The words that a search may have. */
export function SearchHelp() {
  return (
    <details class="facet">
      <summary>Search words</summary>
      <dl class="words">
        {Object.values(SEARCH_WORDS).map(([example, meaning]) => (
          <>
            <dt>
              <code>{example}</code>
            </dt>
            <dd>{meaning}</dd>
          </>
        ))}
      </dl>
    </details>
  );
}

/** All facets that have values. */
export function FacetList(
  { facets, hasGeoip, ...props }: FilterProps & { facets: Facets | undefined; hasGeoip: boolean },
) {
  if (facets === undefined) {
    return (
      <p class="hint">The counts appear when all servers are read. Reload the page for them.</p>
    );
  }
  const names = FACETS.filter((name) => hasGeoip || name !== "country" && name !== "operator");
  return (
    <>
      {names.map((name) => (
        <Facet
          name={name}
          values={facets.facets[name]}
          total={facets.totals[name]}
          {...props}
        />
      ))}
    </>
  );
}

function Facet(
  { name, values, total, filters, sort, group }: FilterProps & {
    name: FacetName;
    values: readonly FacetValue[];
    /** Number of servers: 100 % of a bar. */
    total: number;
  },
) {
  const isUnknown = filters.unknown?.some((one) => one === name) ?? false;
  const chosen: readonly (string | number | null)[] = isUnknown ? [null] : filters[name] ?? [];
  if (values.every(({ value }) => value === null) && !isUnknown) return null;
  const items = values.map((one) => (
    <FacetItem
      one={one}
      share={total > 0 ? one.servers / total : 0}
      isChosen={chosen.includes(one.value)}
      url={isAccepted(name, one.value)
        ? acceptedUrl(serversUrl(toggledFacet(filters, name, one.value), { sort, group }))
        : undefined}
    />
  ));
  return (
    <details class="facet" open={OPEN.includes(name) || chosen.length > 0}>
      <summary>
        {FACET_TITLES[name]}
        {chosen.length > 0 && <span class="count">{chosen.length}</span>}
      </summary>
      <ul>{items.slice(0, FIRST)}</ul>
      {items.length > FIRST && (
        <details class="more">
          <summary>{`${items.length - FIRST} more`}</summary>
          <ul>{items.slice(FIRST)}</ul>
        </details>
      )}
    </details>
  );
}

/** Whether a URL may have a value of a filter. Other programs may have written any flag. */
function isAccepted(name: FacetName, value: string | number | null): boolean {
  if (value === null) return true;
  return DASHBOARD_FILTERS[name].parameter.read(String(value)) !== undefined;
}

function FacetItem(
  { one, share, isChosen, url }: {
    one: FacetValue;
    share: number;
    isChosen: boolean;
    url: string | undefined;
  },
) {
  return (
    <li>
      <a
        href={url}
        aria-current={isChosen ? "true" : undefined}
        title={isChosen ? "Remove this filter" : `${percentText(share)} of the servers`}
      >
        <span>
          {one.value === null
            ? <span class="none">unknown</span>
            : <bdi>{safeText(one.label ?? String(one.value), 40)}</bdi>}
        </span>
        <small>{shortCount(one.servers)}</small>
        <Bar share={share} />
      </a>
    </li>
  );
}

/**
 * The filters of the URL, each with a link that removes it.
 *
 * @param more The parameters of the page that are no filters.
 */
export function FilterChips(
  { filters, path, more = {} }: {
    filters: DashboardFilters;
    path: string;
    more?: Readonly<Record<string, string | number | undefined>>;
  },
) {
  const all = filterTexts(filters);
  if (all.length === 0) return null;
  // Without its scan, what a scan saw would be about another one.
  const goesWith = (name: string, removed: string) => removed === "scan" && name === "saw";
  const without = (removed: number) =>
    all.filter(({ name }, at) => at !== removed && !goesWith(name, all[removed].name)).map((
      { name, value },
    ) => [name, value]);
  return (
    <ul class="chips" aria-label="Filters">
      {all.map(({ text }, i) => (
        <li>
          <a href={urlOf(path, readFilters(new URLSearchParams(without(i))), more)}>
            <span class="hidden">Remove the filter</span>
            <bdi>{safeText(text, 60)}</bdi>
            <span aria-hidden="true">×</span>
          </a>
        </li>
      ))}
      <li>
        <a class="clear" href={urlOf(path, {}, more)}>Clear all</a>
      </li>
    </ul>
  );
}

/** @param page The page of the list; without grouped rows, each row counts as a server. */
export function MatchedCounts(
  { facets, page: { total, hidden } = {} }: {
    facets: Facets | undefined;
    page?: Partial<Pick<ServersPage, "total" | "hidden">>;
  },
) {
  const servers = facets?.servers ?? total ?? null;
  if (servers === null) return <p class="matched">&nbsp;</p>;
  return (
    <p class="matched" aria-live="polite">
      <b>{countText(servers)}</b> {servers === 1 ? "server" : "servers"}
      {!!hidden && (
        <>
          {" at "}
          <b>{countText(servers + hidden)}</b> endpoints
        </>
      )}
      {facets && (
        <>
          {" · "}
          <b>{countText(facets.online)}</b> online · <b>{countText(facets.players)}</b> players
        </>
      )}
    </p>
  );
}
