/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * How servers are distributed over versions, software, editions, ports and operators.
 *
 * @module
 */
import { Chart } from "../charts/chart.tsx";
import { valueTrends } from "../charts/trend_charts.tsx";
import type {
  DashboardFilters,
  Facets,
  Trend,
  TrendDays,
  TrendsQuery,
} from "../queries/dashboard_data.ts";
import type { FacetName } from "../queries/schemas.ts";
import { FACET_TITLES, FilterChips } from "../components/facet_list.tsx";
import { acceptedUrl, serversUrl, toggledFacet } from "../components/links.ts";
import { Bars, shownBars } from "../components/bars.tsx";
import { countText } from "../components/quantities.ts";
import { Card, Empty, PageHead, Tabs } from "../components/blocks.tsx";
import { htmlDocument } from "./layout.tsx";
import { NoTrend, PERIODS } from "./overview_page.tsx";
import type { PageContext } from "./page_context.ts";

export interface BreakdownPageData {
  /** undefined: the counts are not known yet. */
  readonly facets: Facets | undefined;
  /** Trends of the property's most frequent values. The URL has its name as `by`, and `days`. */
  readonly trends: readonly Trend[];
  readonly by: NonNullable<TrendsQuery["by"]>;
  readonly days: TrendDays;
}

/** The properties with trends. */
const PROPERTIES: readonly BreakdownPageData["by"][] = [
  ...["version", "software", "edition", "port", "protocol"] as const,
];
/** Number of lines of the chart. */
const MAX_LINES = 7;

export function breakdownPage(data: BreakdownPageData, context: PageContext): string {
  const { facets } = data;
  const bars = facets === undefined ? [] : shownBars(facets, context.hasGeoip)
    // The counts of a facet ignore its own filter, so they are no shares of the matched servers.
    .filter((name) => context.filters[name] === undefined);
  return htmlDocument({
    title: "Breakdown",
    context,
    scripts: ["charts"],
    children: (
      <>
        <PageHead title="Breakdown">
          {facets && (
            <p class="matched">
              <b>{countText(facets.servers)}</b> servers · <b>{countText(facets.online)}</b> online
            </p>
          )}
        </PageHead>
        <OverTime data={data} context={context} />
        <FilterChips
          filters={context.filters}
          path="/breakdown"
          more={{ by: data.by, days: data.days }}
        />
        {facets === undefined
          ? (
            <div class="card">
              <Empty title="The servers are still being counted.">
                <p>Reload the page for the counts.</p>
              </Empty>
            </div>
          )
          : (
            <div class="grid">
              {bars.map((name) => (
                <Bars
                  name={name}
                  values={facets.facets[name]}
                  servers={facets.totals[name]}
                  linkOf={(value) => linkOf(context.filters, name, value)}
                />
              ))}
            </div>
          )}
      </>
    ),
  });
}

/** The servers with a value; undefined: no URL can have it. */
function linkOf(filters: DashboardFilters, name: FacetName, value: string | number | null) {
  const unknown = filters.unknown?.filter((one) => one !== name);
  const others = { ...filters, [name]: undefined, unknown };
  return acceptedUrl(serversUrl(toggledFacet(others, name, value)));
}

function trendUrl(by: string, days: number): string {
  return `/breakdown?by=${by}&days=${days}`;
}

function OverTime({ data, context }: { data: BreakdownPageData; context: PageContext }) {
  const { by, days } = data;
  const known = data.trends.filter(({ value, points }) => value !== null && points.length > 0)
    .slice(0, MAX_LINES);
  const properties = PROPERTIES.map((name) => ({
    name: FACET_TITLES[name],
    url: trendUrl(name, days),
    isChosen: name === by,
  }));
  const periods = PERIODS.map(([value, name]) => ({
    name,
    url: trendUrl(by, value),
    isChosen: value === days,
  }));
  return (
    <Card
      title="Over time"
      aside={
        <>
          <Tabs label="Property" tabs={properties} />
          <Tabs label="Period" tabs={periods} />
        </>
      }
    >
      {known.length === 0
        ? <NoTrend context={context} />
        : <Chart data={valueTrends(known, `Online by ${by}`, { days, now: context.now })} />}
    </Card>
  );
}
