/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * Pages for requests that cannot be fulfilled.
 *
 * @module
 */
import { htmlDocument } from "./layout.tsx";
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

/** The page about an error: 400, 404, 421, 503. */
export function errorPage({ status, message, wanted }: PageError, context: PageContext): string {
  return htmlDocument({
    title: String(status),
    context,
    children: (
      <>
        <h1>{message}</h1>
        {wanted && <p>{wanted}</p>}
      </>
    ),
  });
}
