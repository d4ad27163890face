/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * Pages for requests that cannot be fulfilled.
 *
 * @module
 */
import { safeText } from "../parts/texts.tsx";
import { bareDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/** What a page about an error shows. */
export interface PageError {
  /** The HTTP status. */
  readonly status: number;
  /** What could not be done. */
  readonly message: string;
  /** What is wanted instead; undefined: nothing can be done but to try again. */
  readonly wanted?: string;
}

/** The page about an error: 400, 404, 421, 503. It shows nothing of the database. */
export function errorPage(
  { status, message, wanted }: PageError,
  context: Pick<PageContext, "assets">,
): string {
  return bareDocument({
    title: String(status),
    assets: context.assets,
    children: (
      <div class="card alone">
        <p class="status">{status}</p>
        <h1>{safeText(message)}</h1>
        {wanted !== undefined && <p>{safeText(wanted)}</p>}
        {status === 503 && <p>The database may be readable again soon. Reload this page then.</p>}
        <p>
          <a class="button" href="/">Go to the overview</a>
        </p>
      </div>
    ),
  });
}
