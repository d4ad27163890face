/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The pages for visitors beside the list: statistics, about, and errors.
 *
 * @module
 */
import { Chart } from "../charts/chart.tsx";
import { trendCharts } from "../charts/trend_charts.tsx";
import { Bars } from "../components/bars.tsx";
import { Card } from "../components/blocks.tsx";
import { contactUrl } from "../components/links.ts";
import { editionName, safeText } from "../components/texts.tsx";
import { optOutMarkers } from "../../targets/shipped_lists.ts";
import type { Facets, FacetValue, Trend, TrendDays } from "../queries/dashboard_data.ts";
import { listUrl } from "./visitor_filters.ts";
import { siteName, visitorDocument } from "./visitor_layout.tsx";
import type { VisitorContext } from "./visitor_site.ts";

const BARS = ["edition", "version", "software", "country"] as const;

/** Statistics of all servers of the list. */
export function statisticsPage(
  { facets, trend, days }: { facets: Facets | undefined; trend: Trend; days: TrendDays },
  context: VisitorContext,
): string {
  const names = BARS.filter((name) => name !== "country" || context.hasGeoip);
  return visitorDocument({
    title: "Statistics",
    description: `How many Minecraft servers and players there are on ${siteName(context)}, and ` +
      "which versions and software they have.",
    canonical: "/stats",
    scripts: ["charts"],
    context,
    children: (
      <>
        <h1>Statistics</h1>
        <div class="grid">
          {trendCharts(trend, { days, now: context.now }).map((data) => (
            <div class="card">
              <Chart data={data} />
            </div>
          ))}
          {facets && names.filter((name) => facets.facets[name].length > 0).map((name) => (
            <Bars
              name={name}
              values={name === "edition"
                ? facets.facets.edition.map(withEditionName)
                : facets.facets[name]}
              servers={facets.servers}
              linkOf={(value) => value === null ? undefined : listUrl({ [name]: [value] })}
            />
          ))}
        </div>
      </>
    ),
  });
}

function withEditionName(one: FacetValue): FacetValue {
  return one.value === null ? one : { ...one, label: editionName(String(one.value)) };
}

/** Who runs the list, where its facts come from, and how a server is removed. */
export function aboutPage(context: VisitorContext): string {
  const { contact } = context;
  return visitorDocument({
    title: "About",
    description: `Who runs ${siteName(context)}, where its facts come from, and how a server is ` +
      "removed.",
    canonical: "/about",
    context,
    children: (
      <>
        <h1>{`About ${siteName(context)}`}</h1>
        <Card title="Where the facts come from">
          <p>
            This site asks servers for the status that they show to every player, and shows the last
            answers: name, MOTD, version, software, numbers of players. It logs in nowhere, and
            shows no names of players. Servers publish these facts themselves: nobody has checked
            them. A number of players that cannot be right is marked as reported.
          </p>
          <p>
            The uptime is that of the time in which a server was watched; the share that was watched
            stands beside it. A server that has not answered for a day is not shown.
          </p>
        </Card>
        <Card title="Change or remove a server">
          <ul>
            <li>
              Write to{" "}
              <a href={contactUrl(contact)}>{safeText(contact)}</a>, and name the address of the
              server.
            </li>
            <li>
              Or put {optOutMarkers().map((marker, i) => [i > 0 && " or ", <code>{marker}</code>])}
              {" "}
              into the MOTD of the server: it is then no longer asked, and no longer shown.
            </li>
          </ul>
        </Card>
      </>
    ),
  });
}

/** The page for a request that cannot be answered. */
export function visitorErrorPage(
  { title, text }: { title: string; text: string },
  context: VisitorContext,
): string {
  return visitorDocument({
    title,
    description: text,
    context,
    children: (
      <div class="card alone">
        <h1>{title}</h1>
        <p>{text}</p>
        <p>
          <a class="button" href="/">All servers</a>
        </p>
      </div>
    ),
  });
}
