/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * A report: one HTML file that needs no server and loads nothing.
 *
 * @module
 */
import { raw } from "npm:hono@4.13.19/html";
import script from "../browser/report.ts" with { type: "text" };
import { Chart } from "../charts/chart.tsx";
import { chartScript, styleSheet, withoutTypes } from "../client_files.ts";
import type { Trend } from "../queries/dashboard_data.ts";
import { trendCharts } from "../charts/trend_charts.tsx";
import { Bars, shownBars } from "../components/bars.tsx";
import { Card, Figure } from "../components/blocks.tsx";
import { countText, percentText, timeText } from "../components/quantities.ts";
import { Attribution, safeText } from "../components/texts.tsx";
import reportStyle from "../style/report.css" with { type: "text" };
import type { ReportData } from "./report_data.ts";
import { ReportMap } from "./report_map.tsx";
import { encodeRows } from "./report_rows.ts";
import { ReportTable } from "./report_table.tsx";
import { singleFile } from "./single_file.tsx";

/** What a report contains besides its data. */
export interface ReportContext {
  /** The name of the database or file. No password. */
  readonly source: string;
  /** When the report is made, Unix milliseconds. */
  readonly now: number;
  /** The trend of all watched servers of {@linkcode TREND_DAYS}; `undefined`: none is known. */
  readonly trend: Trend | undefined;
  readonly hasGeoip: boolean;
  /** Texts that the files of `--geoip` want to be shown. */
  readonly attributions: readonly string[];
}

/** The period of a report's trend, days. */
export const TREND_DAYS = 30;

export function reportPage(data: ReportData, context: ReportContext): string {
  const scripts = [withoutTypes(script), ...hasTrend(context) ? [chartScript()] : []];
  const title = `Servers of ${safeText(context.source, 80)}`;
  return singleFile({
    title: `${title} · blocksweep`,
    aside: `${timeText(context.now)} UTC`,
    css: styleSheet() + reportStyle,
    scripts,
    main: (
      <>
        <h1>{title}</h1>
        <Summary data={data} />
        <ReportTable data={data} hasGeoip={context.hasGeoip} />
        <Trends context={context} />
        <Breakdown data={data} hasGeoip={context.hasGeoip} />
        {data.map !== undefined && <ReportMap cells={data.map} />}
      </>
    ),
    footer: context.attributions.map((text) => <Attribution text={text} />),
    data: (
      <script type="application/octet-stream" id="rows" data-now={context.now}>
        {raw(encodeRows(data.rows, context.now))}
      </script>
    ),
  });
}

function Summary({ data: { facets, replies } }: { data: ReportData }) {
  const { servers, online, players } = facets;
  return (
    <dl class="figures">
      <Figure name="Servers" value={countText(servers)} />
      <Figure
        name="Online"
        value={countText(online)}
        note={percentText(servers > 0 ? online / servers : null)}
      />
      <Figure
        name="Players"
        value={countText(players)}
        note={online > 0 ? `${countText(players / online)} a server` : undefined}
      />
      <Figure
        name="Newest reply"
        value={replies === null ? countText(null) : timeText(replies.newest).slice(0, 10)}
        note={replies === null ? undefined : `the oldest: ${timeText(replies.oldest).slice(0, 10)}`}
      />
    </dl>
  );
}

/** Whether a report has charts. */
function hasTrend({ trend }: ReportContext): boolean {
  return trend !== undefined && trend.points.length > 0;
}

function Trends({ context }: { context: ReportContext }) {
  const { trend, now } = context;
  if (trend === undefined || !hasTrend(context)) return null;
  return (
    <Card title={`Watched servers in the last ${TREND_DAYS} days`}>
      <div class="grid">
        {trendCharts(trend, { days: TREND_DAYS, now }).map((chart) => <Chart data={chart} />)}
      </div>
    </Card>
  );
}

function Breakdown({ data: { facets }, hasGeoip }: { data: ReportData; hasGeoip: boolean }) {
  return (
    <div class="grid">
      {shownBars(facets, hasGeoip).map((name) => (
        <Bars name={name} values={facets.facets[name]} servers={facets.servers} />
      ))}
    </div>
  );
}
