/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The list of servers, with its filters.
 *
 * @module
 */
import type { Facets, ServersPage, ServersQuery } from "../data/dashboard_data.ts";
import { htmlDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/** What the list of servers shows. */
export interface ServersPageData {
  readonly query: ServersQuery;
  readonly page: ServersPage;
  /** undefined: the counts are not known yet. */
  readonly facets: Facets | undefined;
}

/** The page `/servers`. */
export function serversPage({ page }: ServersPageData, context: PageContext): string {
  return htmlDocument({
    title: "Servers",
    context,
    children: (
      <>
        <h1>Servers</h1>
        <ul>
          {page.servers.map(({ id, key }) => (
            <li>
              <a href={`/servers/${id}`}>{key}</a>
            </li>
          ))}
        </ul>
      </>
    ),
  });
}
