/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The start page.
 *
 * @module
 */
import type { Overview, Trend, TrendsQuery } from "../data/dashboard_data.ts";
import { htmlDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/** What the start page shows. */
export interface OverviewPageData {
  readonly overview: Overview;
  /** The trend of all servers; undefined: there is none. */
  readonly trend: Trend | undefined;
  /** The days of the trend. The URL has it as `days`. */
  readonly days: TrendsQuery["days"];
}

/** The page `/`. */
export function overviewPage({ overview }: OverviewPageData, context: PageContext): string {
  return htmlDocument({
    title: "Overview",
    context,
    children: (
      <>
        <h1>Overview</h1>
        <dl>
          <dt>Servers</dt>
          <dd>{overview.servers}</dd>
          <dt>Online</dt>
          <dd>{overview.online}</dd>
          <dt>Players</dt>
          <dd>{overview.players}</dd>
        </dl>
      </>
    ),
  });
}
