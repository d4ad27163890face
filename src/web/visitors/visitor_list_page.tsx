/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The list of servers for visitors.
 *
 * @module
 */
import { withCommas } from "../../core/quantities.ts";
import { Sparkline } from "../charts/sparkline.tsx";
import { filtersTitle, filterTexts } from "../components/filter_texts.ts";
import { toggled } from "../components/links.ts";
import { ageText, countText, shortCount } from "../components/quantities.ts";
import { editionName, safeText } from "../components/texts.tsx";
import type { Facets, FacetValue, ServersPage } from "../queries/dashboard_data.ts";
import { filterQuery } from "../queries/filters.ts";
import type { FacetName } from "../queries/schemas.ts";
import { guessedFilters, searchOf } from "../queries/search_words.ts";
import { Cards, countryName, type HourlyPlayers } from "./visitor_cards.tsx";
import { listUrl, type VisitorFilters } from "./visitor_filters.ts";
import { visitorDocument, VisitorSearch } from "./visitor_layout.tsx";
import type { VisitorContext } from "./visitor_site.ts";

export interface VisitorList {
  readonly filters: VisitorFilters;
  readonly page: ServersPage;
  /** undefined: the counts are not known yet. */
  readonly facets: Facets | undefined;
  readonly hours: HourlyPlayers;
  /** Players of all servers in the last 24 hours, the oldest first. */
  readonly trend: readonly number[];
  readonly isFirstPage: boolean;
  /** Words of the search for which the list has no filter. */
  readonly ignored: readonly string[];
}

/** The facets of visitors. */
const FACETS = [
  ["edition", "Edition"],
  ["version", "Version"],
  ["software", "Software"],
  ["country", "Country"],
] as const satisfies readonly (readonly [FacetName, string])[];
/** Number of values of a facet, and of versions among the chips. */
const [VALUES, VERSIONS] = [8, 3];

export function visitorListPage(list: VisitorList, context: VisitorContext): string {
  const { filters, page, facets, isFirstPage } = list;
  const isAll = filterQuery(filters) === "";
  const title = filtersTitle(filters, "Minecraft servers");
  const counts = facets === undefined
    ? ""
    : `${withCommas(facets.online)} online, ${withCommas(facets.players)} playing`;
  return visitorDocument({
    title,
    description: `${title}: ${counts === "" ? "a list" : counts}. With players, versions, uptime ` +
      "and addresses, checked all the time.",
    // Of the many combinations of filters, search engines list only the whole list.
    canonical: isAll && isFirstPage ? "/" : undefined,
    context,
    children: (
      <>
        <div class="list-head">
          <h1>{safeText(title)}</h1>
          <p>
            <Checked page={page} now={context.now} />
            {counts !== "" && <b>{counts}</b>}{" "}
            {list.trend.length > 1 && (
              <span title="Players in the last 24 hours">
                <Sparkline values={list.trend} color={1} />
              </span>
            )}
          </p>
        </div>
        <VisitorSearch search={searchOf(filters)} />
        <Guess filters={filters} />
        {list.ignored.length > 0 && (
          <p class="hint">{`Not a filter of this list: ${list.ignored.join(", ")}.`}</p>
        )}
        <Chips list={list} />
        <div class="with-facets">
          <input type="checkbox" id="show-filters" class="hidden" />
          <label for="show-filters" class="button">Filters</label>
          <aside class="facets" aria-label="Filters">
            {facets && FACETS.filter(([name]) => name !== "country" || context.hasGeoip)
              .map(([name, title]) => (
                <FacetValues name={name} title={title} facets={facets} filters={filters} />
              ))}
          </aside>
          <div>
            {page.servers.length === 0
              ? (
                <div class="empty">
                  <p>
                    <b>No server matches.</b> <a href="/">Show all servers</a>
                  </p>
                </div>
              )
              : <Cards servers={page.servers} hours={list.hours} now={context.now} />}
            <Paging list={list} />
          </div>
        </div>
      </>
    ),
  });
}

/** The filters that texts of the search may mean. */
function Guess({ filters }: { filters: VisitorFilters }) {
  const guess = guessedFilters(filters);
  if (guess === undefined) return null;
  const texts = filterTexts(guess).map(({ text }) => text);
  return (
    <p class="hint">
      Names, MOTDs and software are searched. Did you mean{" "}
      <a href={listUrl(guess)} rel="nofollow">{safeText(texts.join(", "))}</a>?
    </p>
  );
}

/** When the servers of the page were last probed. */
function Checked({ page: { servers }, now }: { page: ServersPage; now: number }) {
  const at = servers.reduce((newest, { probed_at }) => Math.max(newest, probed_at), 0);
  return at === 0 ? null : <>{`checked ${ageText(at, now)} · `}</>;
}

/** What many visitors look for, and the chosen filters. */
function Chips({ list: { filters, facets } }: { list: VisitorList }) {
  const versions = byOnline(facets?.facets.version ?? []).map(({ value }) => value)
    .filter((value): value is string => typeof value === "string" && /^\d+(\.\d+)+$/.test(value));
  const usual: (readonly [string, VisitorFilters])[] = [
    ["Java", { edition: ["java"] }],
    ["Bedrock", { edition: ["bedrock"] }],
    ...versions.slice(0, VERSIONS).map((value) => [value, { version: [value] }] as const),
    ["Has players", { minPlayers: 1 }],
    ["Not full", { full: false }],
    ["Modded", { mods: ["yes"] }],
  ];
  const usualTexts = new Set(
    usual.flatMap(([, one]) => filterTexts(one).map(({ text }) => text)),
  );
  const others = filterTexts(filters).filter(({ text }) => !usualTexts.has(text));
  return (
    <ul class="chips" aria-label="Filters">
      {usual.map(([name, one]) => {
        const [key] = Object.keys(one) as [keyof VisitorFilters];
        const isChosen = JSON.stringify(filters[key]) === JSON.stringify(one[key]);
        const url = listUrl({ ...filters, [key]: isChosen ? undefined : one[key] });
        return (
          <li>
            <a href={url} rel="nofollow" aria-current={isChosen ? "true" : undefined}>
              <bdi>{safeText(name, 40)}</bdi>
              {isChosen && <span aria-hidden="true">×</span>}
            </a>
          </li>
        );
      })}
      {others.map(({ text }) => (
        <li>
          <span>{safeText(text, 60)}</span>
        </li>
      ))}
      {filterQuery(filters) !== "" && (
        <li>
          <a class="clear" href="/">Clear all</a>
        </li>
      )}
    </ul>
  );
}

/** The values of a facet in the order of the numbers that the list shows. */
function byOnline(values: readonly FacetValue[]): FacetValue[] {
  return values.toSorted((a, b) => b.online - a.online);
}

/** The most frequent values of a facet, as links. */
function FacetValues(
  { name, title, facets, filters }: {
    name: typeof FACETS[number][0];
    title: string;
    facets: Facets;
    filters: VisitorFilters;
  },
) {
  const values = byOnline(facets.facets[name])
    .filter(({ value }) => value !== null && value !== "");
  if (values.length === 0) return null;
  const chosen: readonly (string | number)[] = filters[name] ?? [];
  const nameOf = (value: string) =>
    name === "edition" ? editionName(value) : name === "country" ? countryName(value) : value;
  return (
    <details class="facet" open>
      <summary>{title}</summary>
      <ul>
        {values.slice(0, VALUES).map(({ value, online }) => (
          <li>
            <a
              href={listUrl(toggled(filters, name, value!))}
              rel="nofollow"
              aria-current={chosen.includes(value!) ? "true" : undefined}
            >
              <span>
                <bdi>{safeText(nameOf(String(value)), 40)}</bdi>
              </span>
              <small>{shortCount(online)}</small>
            </a>
          </li>
        ))}
      </ul>
    </details>
  );
}

function Paging({ list: { filters, page: { previous, next, total } } }: { list: VisitorList }) {
  if (previous === null && next === null) return null;
  return (
    <nav class="paging" aria-label="Pages of the list">
      {previous && <a class="button" rel="prev" href={listUrl(filters, previous)}>← Previous</a>}
      {total !== null && <small>{`${countText(total)} servers`}</small>}
      {next && <a class="button" rel="next" href={listUrl(filters, next)}>Next →</a>}
    </nav>
  );
}
