/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The filters beside the list of servers: facets with counts, and a form for the other filters.
 *
 * @module
 */
import type { DashboardFilters, Facets, FacetValue } from "../queries/dashboard_data.ts";
import { type FacetName, FACETS } from "../queries/schemas.ts";
import { FILTER_NAMES, filterQuery, readFilters } from "../queries/filters.ts";
import { DASHBOARD_FILTERS } from "../queries/dashboard_filters.ts";
import { acceptedUrl, serversUrl, toggled, urlOf, USUAL_SORT } from "./links.ts";
import { countText, shortCount } from "./quantities.ts";
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
          values={facets.facets[name].filter(({ value }) => value !== null)}
          {...props}
        />
      ))}
    </>
  );
}

function Facet(
  { name, values, filters, sort }: FilterProps & {
    name: FacetName;
    values: readonly FacetValue[];
  },
) {
  const chosen: readonly (string | number)[] = filters[name] ?? [];
  if (values.length === 0) return null;
  const most = Math.max(...values.map(({ servers }) => servers));
  const items = values.map((one) => (
    <FacetItem
      one={one}
      share={one.servers / most}
      isChosen={chosen.includes(one.value!)}
      url={isAccepted(name, one.value!)
        ? acceptedUrl(serversUrl(toggled(filters, name, one.value!), { sort }))
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
function isAccepted(name: FacetName, value: string | number): boolean {
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
        title={isChosen ? "Remove this filter" : undefined}
      >
        <span>
          <bdi>{safeText(one.label ?? String(one.value), 40)}</bdi>
        </span>
        <small>{shortCount(one.servers)}</small>
        <Bar share={share} />
      </a>
    </li>
  );
}

/** The filters as hidden fields of a form, except the named ones. */
function HiddenFilters({ filters, sort, except }: FilterProps & { except: readonly string[] }) {
  const fields = [...new URLSearchParams(filterQuery(filters))]
    .filter(([name]) => !except.includes(name));
  return (
    <>
      {fields.map(([name, value]) => <input type="hidden" name={name} value={value} />)}
      {sort !== USUAL_SORT && <input type="hidden" name="sort" value={sort} />}
    </>
  );
}

/** Fields of the search form, and of the form of bounds. */
const SEARCH_FIELDS = ["text", "online"];
const BOUND_FIELDS = ["network", "tag", "min_players", "max_players", "no_aliases"];

/** The form for a text and the state. */
export function SearchForm({ filters, sort }: FilterProps) {
  const state = filters.online === undefined ? "" : String(filters.online);
  return (
    <form class="search" action="/servers" role="search">
      <HiddenFilters filters={filters} sort={sort} except={SEARCH_FIELDS} />
      <input
        type="search"
        name="text"
        value={filters.text ?? ""}
        maxlength={100}
        placeholder="Name, MOTD, map or software"
        aria-label="Text"
      />
      <select name="online" aria-label="State">
        {[["", "Online and offline"], ["true", "Online"], ["false", "Offline"]].map((
          [value, name],
        ) => <option value={value} selected={value === state}>{name}</option>)}
      </select>
      <button type="submit">Search</button>
    </form>
  );
}

/** The form for networks and numbers of players. */
export function BoundsForm({ filters, sort }: FilterProps) {
  const { network = [], tag = [], minPlayers, maxPlayers, noAliases } = filters;
  const isUsed = [minPlayers, maxPlayers, noAliases].some((one) => one !== undefined);
  return (
    <details class="facet" open={isUsed || network.length + tag.length > 0}>
      <summary>Network, tag and players</summary>
      <form class="bounds" action="/servers">
        <HiddenFilters filters={filters} sort={sort} except={BOUND_FIELDS} />
        <label>
          Network
          <input name="network" value={network[0] ?? ""} placeholder="192.0.2.0/24" />
        </label>
        {network.slice(1).map((one) => <input type="hidden" name="network" value={one} />)}
        <label>
          Tag
          <input name="tag" value={tag[0] ?? ""} maxlength={64} />
        </label>
        {tag.slice(1).map((one) => <input type="hidden" name="tag" value={one} />)}
        <span class="pair">
          <label>
            Players, at least
            <input name="min_players" type="number" min="0" value={minPlayers ?? ""} />
          </label>
          <label>
            at most
            <input name="max_players" type="number" min="0" value={maxPlayers ?? ""} />
          </label>
        </span>
        <label class="check">
          <input type="checkbox" name="no_aliases" value="true" checked={noAliases === true} />
          Without aliases
        </label>
        <button type="submit">Apply</button>
      </form>
    </details>
  );
}

/** The names of filters in chips. */
const CHIP_NAMES: Readonly<Record<keyof DashboardFilters, string>> = {
  ...FACET_TITLES,
  text: "Text",
  online: "Online",
  confidence: "Confidence",
  network: "Network",
  tag: "Tag",
  minPlayers: "Players from",
  maxPlayers: "Players to",
  noAliases: "Without aliases",
  since: "Changed since",
};

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
  const all = [...new URLSearchParams(filterQuery(filters))];
  if (all.length === 0) return null;
  return (
    <ul class="chips" aria-label="Filters">
      {all.map(([name, value], i) => {
        const rest = readFilters(new URLSearchParams(all.filter((_, at) => at !== i)));
        return (
          <li>
            <a href={urlOf(path, rest, more)}>
              <span class="hidden">Remove the filter</span>
              <span>{CHIP_NAMES[FILTER_NAMES[name]]}</span>
              <b>{value === "true" ? "yes" : value === "false" ? "no" : safeText(value, 60)}</b>
              <span aria-hidden="true">×</span>
            </a>
          </li>
        );
      })}
      <li>
        <a class="clear" href={urlOf(path, {}, more)}>Clear all</a>
      </li>
    </ul>
  );
}

export function MatchedCounts(
  { facets, total }: { facets: Facets | undefined; total: number | null },
) {
  const servers = facets?.servers ?? total;
  if (servers === null) return <p class="matched">&nbsp;</p>;
  return (
    <p class="matched" aria-live="polite">
      <b>{countText(servers)}</b> {servers === 1 ? "server" : "servers"}
      {facets && (
        <>
          {" · "}
          <b>{countText(facets.online)}</b> online · <b>{countText(facets.players)}</b> players
        </>
      )}
    </p>
  );
}
