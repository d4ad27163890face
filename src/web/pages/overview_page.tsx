/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The start page.
 *
 * @module
 */

import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import type { Overview, Trend, TrendDays } from "../queries/dashboard_data.ts";
import { Chart } from "../charts/chart.tsx";
import { trendCharts } from "../charts/trend_charts.tsx";
import { serversUrl } from "../components/links.ts";
import { countText, percentText } from "../components/quantities.ts";
import { Age, safeText, Time } from "../components/texts.tsx";
import { Card, CommandText, Empty, Figure, PageHead, Tabs } from "../components/blocks.tsx";
import { ChangesCard } from "../events/incident_list.tsx";
import { htmlDocument } from "./layout.tsx";
import { commandFor, type PageContext } from "./page_context.ts";
import { ScanTable } from "../components/scan_table.tsx";
import { ServerTable } from "../components/server_table.tsx";

export interface OverviewPageData {
  readonly overview: Overview;
  /** The trend of all servers; undefined: there is none. */
  readonly trend: Trend | undefined;
  /** The days of the trend. The URL has it as `days`. */
  readonly days: TrendDays;
}

/** The periods of charts, by days. */
export const PERIODS: readonly (readonly [days: TrendDays, name: string])[] = [
  [1, "24 h"],
  [7, "7 d"],
  [30, "30 d"],
  [365, "1 y"],
];

/** The page `/`. */
export function overviewPage(data: OverviewPageData, context: PageContext): string {
  const { overview } = data;
  return htmlDocument({
    title: "Overview",
    context,
    scripts: ["charts", "follow"],
    children: (
      <>
        <PageHead title="Overview">
          {overview.newestReplyAt !== null && (
            <p class="matched">
              newest reply <Age at={overview.newestReplyAt} now={context.now} />
            </p>
          )}
        </PageHead>
        {overview.servers === 0 && overview.running.length === 0
          ? (
            <div data-follow>
              <NothingYet context={context} />
            </div>
          )
          : <Content data={data} context={context} />}
      </>
    ),
  });
}

function NothingYet({ context }: { context: PageContext }) {
  return (
    <div class="card">
      <Empty title={`${safeText(context.database, 60)} has no servers yet.`}>
        <p>
          Scan a network into it:{" "}
          <CommandText text={commandFor(context, "scan 192.168.1.0/24 -o DATABASE")} />
        </p>
        <p>
          Or try it with simulated servers: <CommandText text={commandFor(context, "demo")} />
        </p>
      </Empty>
    </div>
  );
}

function Content({ data, context }: { data: OverviewPageData; context: PageContext }) {
  const { overview, trend, days } = data;
  const { now, hasGeoip } = context;
  return (
    <>
      <div class="stack" data-follow>
        <Figures overview={overview} />
        <ChangesCard changes={overview.changes} now={now} />
        {overview.running.length > 0 && (
          <Card title="Running now" aside={<a href="/scans">All scans</a>}>
            <ScanTable scans={overview.running} now={now} label="Running scans" />
          </Card>
        )}
      </div>
      <Card
        title="Trends of watched servers"
        aside={
          <Tabs
            label="Period"
            tabs={PERIODS.map(([value, name]) => ({
              name,
              url: `/?days=${value}`,
              isChosen: value === days,
            }))}
          />
        }
      >
        {trend === undefined || trend.points.length === 0
          ? <NoTrend context={context} running={overview.running} />
          : (
            <div class="grid">
              {trendCharts(trend, { days, now }).map((chart) => <Chart data={chart} />)}
            </div>
          )}
      </Card>
      <div data-follow>
        <Card
          title="Newest servers"
          aside={<a href={serversUrl({}, { sort: "new" })}>All by age</a>}
        >
          <ServerTable
            servers={overview.newest}
            now={now}
            label="Newest servers"
            sorted="new"
            hasGeoip={hasGeoip}
          />
        </Card>
      </div>
    </>
  );
}

function Figures({ overview }: { overview: Overview }) {
  const { servers, online, players, stale } = overview;
  const share = servers > 0 ? online / servers : null;
  return (
    <dl class="figures">
      <Figure name="Servers" value={<a href="/servers">{countText(servers)}</a>} />
      <Figure
        name="Online"
        value={<a href={serversUrl({ online: true })}>{countText(online)}</a>}
        note={percentText(share)}
      />
      <Figure
        name="Players"
        value={<a href={serversUrl({ online: true, minPlayers: 1 })}>{countText(players)}</a>}
        note={online > 0 ? `${Number((players / online).toFixed(1))} per online server` : undefined}
      />
      <Figure
        name="Stale"
        value={<a href={serversUrl({ stale: -DAY_MS })}>{countText(stale)}</a>}
        note="last probed more than a day ago"
      />
    </dl>
  );
}

/** What stands in place of a trend without values. */
export function NoTrend(
  { context, running = [] }: { context: PageContext; running?: Overview["running"] },
) {
  const nextHour = HOUR_MS * (Math.floor(context.now / HOUR_MS) + 1);
  return (
    <Empty title="No trend in this period yet.">
      {running.some(({ kind }) => kind === "watch")
        ? (
          <p>
            The running watch adds a value for each full hour, the next one after{" "}
            <Time at={nextHour} />.
          </p>
        )
        : (
          <p>
            A watch adds a value for each full hour:{" "}
            <CommandText text={commandFor(context, "watch DATABASE")} />
          </p>
        )}
    </Empty>
  );
}
