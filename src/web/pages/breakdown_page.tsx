/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * How servers are distributed over versions, software, editions, ports and operators.
 *
 * @module
 */
import type { Facets, Trend, TrendsQuery } from "../data/dashboard_data.ts";
import { htmlDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/** What the breakdown shows. */
export interface BreakdownPageData {
  /** undefined: the counts are not known yet. */
  readonly facets: Facets | undefined;
  /** Trends of the property's most frequent values. The URL has its name as `by`, and `days`. */
  readonly trends: readonly Trend[];
  readonly by: NonNullable<TrendsQuery["by"]>;
  readonly days: TrendsQuery["days"];
}

/** The page `/breakdown`. */
export function breakdownPage({ facets }: BreakdownPageData, context: PageContext): string {
  return htmlDocument({
    title: "Breakdown",
    context,
    children: <p>{facets?.servers} servers</p>,
  });
}
