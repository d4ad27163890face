/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * Pages for requests that cannot be fulfilled.
 *
 * @module
 */
import { safeText } from "../components/texts.tsx";
import { bareDocument, htmlDocument, SearchForm } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

export interface PageError {
  readonly status: number;
  /** What could not be done. */
  readonly message: string;
  /** What is wanted instead; undefined: nothing can be done but to try again. */
  readonly wanted?: string;
}

/**
 * The page for a path that has none, with links to those that exist.
 *
 * @param isEntry Whether the path is that of a server or scan, which the database does not have.
 */
export function notFoundPage(isEntry: boolean, context: PageContext): string {
  const database = safeText(context.database, 60);
  return htmlDocument({
    title: "Not found",
    context,
    children: (
      <div class="card alone">
        <p class="status">404</p>
        <h1>{isEntry ? `${database} has no such entry` : "There is no page at this address"}</h1>
        <p>
          {isEntry
            ? "It may have been removed since the link was made. Look for it in a list:"
            : "The address may be mistyped. Go on with one of these pages:"}
        </p>
        <p class="actions">
          <a class="button" href="/">Overview</a>
          <a class="button" href="/servers">Servers</a>
          <a class="button" href="/scans">Scans</a>
        </p>
      </div>
    ),
  });
}

/** The page about an error: 400, 421, 503. It shows nothing of the database. */
export function errorPage(
  { status, message, wanted }: PageError,
  { assets, search }: Pick<PageContext, "assets" | "search">,
): string {
  return bareDocument({
    title: String(status),
    assets,
    children: (
      <div class="card alone">
        <p class="status">{status}</p>
        <h1>{safeText(message)}</h1>
        {wanted !== undefined && <p>{`Expected: ${safeText(wanted, 1000)}.`}</p>}
        {status === 503 && <p>The database may be readable again soon. Reload this page then.</p>}
        {search !== "" && <SearchForm search={search} />}
        <p>
          <a class="button" href="/">Go to the overview</a>
        </p>
      </div>
    ),
  });
}
