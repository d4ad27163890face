/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * One server.
 *
 * @module
 */
import type { History, ServerDetails } from "../data/dashboard_data.ts";
import { htmlDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/** What the page of a server shows. The URL has the range of the history as `from` and `to`. */
export interface ServerPageData {
  readonly details: ServerDetails;
  readonly history: History;
}

/** The page `/servers/{id}`. */
export function serverPage({ details }: ServerPageData, context: PageContext): string {
  return htmlDocument({
    title: details.server.key,
    context,
    children: <h1>{details.server.key}</h1>,
  });
}
