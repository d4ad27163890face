/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The start page.
 *
 * @module
 */

import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import type { Overview, Trend, TrendPoint, TrendsQuery } from "../queries/dashboard_data.ts";
import type { Piece, Series } from "../browser/chart_data.ts";
import { Chart, type ChartProperties } from "../charts/chart.tsx";
import { serversUrl } from "../components/links.ts";
import { countText, percentText } from "../components/quantities.ts";
import { Age, safeText } from "../components/texts.tsx";
import { Card, CommandText, Empty, Figure, PageHead, Tabs } from "../components/blocks.tsx";
import { htmlDocument } from "./layout.tsx";
import { commandFor, type PageContext } from "./page_context.ts";
import { ScanTable } from "../components/scan_table.tsx";
import { ServerTable } from "../components/server_table.tsx";

export interface OverviewPageData {
  readonly overview: Overview;
  /** The trend of all servers; undefined: there is none. */
  readonly trend: Trend | undefined;
  /** The days of the trend. The URL has it as `days`. */
  readonly days: TrendsQuery["days"];
}

/** The periods of charts, by days. */
export const PERIODS: readonly (readonly [days: TrendsQuery["days"], name: string])[] = [
  [1, "Day"],
  [7, "Week"],
  [30, "Month"],
  [365, "Year"],
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
              url: value === 7 ? "/" : `/?days=${value}`,
              isChosen: value === days,
            }))}
          />
        }
      >
        {trend === undefined || trend.points.length === 0
          ? <NoTrend context={context} />
          : (
            <div class="grid">
              {trendCharts(trend, days, now).map((chart) => <Chart data={chart} />)}
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
        value={countText(players)}
        note={online > 0 ? `${Number((players / online).toFixed(1))} per online server` : undefined}
      />
      <Figure
        name="Stale"
        value={countText(stale)}
        note="last probed more than a day ago"
      />
    </dl>
  );
}

/** What stands in place of a trend without values. */
export function NoTrend({ context }: { context: PageContext }) {
  return (
    <Empty title="No trend in this period yet.">
      <p>
        A watch adds a value for each full hour:{" "}
        <CommandText text={commandFor(context, "watch DATABASE")} />
      </p>
    </Empty>
  );
}

/** The charts of a trend: servers, and players. */
export function trendCharts(
  { points }: Trend,
  days: TrendsQuery["days"],
  now: number,
): ChartProperties[] {
  const piecesOf = (valuesOf: (point: TrendPoint) => readonly number[]) =>
    points.flatMap((point) => trendPiece(point.at, days, now, valuesOf(point)));
  const common = { from: now - days * DAY_MS, to: now };
  const players: Series = { name: "players", color: 1, shape: "area" };
  return [
    {
      ...{ ...common, title: "Servers", unit: "servers" },
      series: [
        { name: "watched", color: 7, shape: "line" },
        { name: "online", color: 0, shape: "area" },
      ],
      pieces: piecesOf(({ servers, online }) => [servers, online]),
    },
    {
      ...{ ...common, title: "Players", unit: "players", series: [players] },
      pieces: piecesOf((point) => [point.players]),
    },
  ];
}

/** The part of an hour or day of a trend that is in its period. */
export function trendPiece(
  at: number,
  days: TrendsQuery["days"],
  now: number,
  values: readonly (number | null)[],
): Piece[] {
  const [from, to] = [
    Math.max(at, now - days * DAY_MS),
    Math.min(at + (days <= 7 ? HOUR_MS : DAY_MS), now),
  ];
  return from < to ? [[from, to, ...values]] : [];
}
