/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The form for the token of `--token-file`.
 *
 * @module
 */
import { htmlDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/**
 * The form for the token. It is sent as `POST /token` with the fields `token` and `to`.
 *
 * @param to The path and query of the page that was requested.
 * @param isWrong Whether a wrong token was sent.
 */
export function tokenPage(
  { to, isWrong }: { readonly to: string; readonly isWrong: boolean },
  context: PageContext,
): string {
  return htmlDocument({
    title: "Token",
    context,
    children: (
      <form method="post" action="/token">
        <h1>This dashboard requires a token</h1>
        {isWrong && <p role="alert">The token is wrong.</p>}
        <label for="token">Token</label>
        <input id="token" name="token" type="password" autocomplete="current-password" required />
        <input type="hidden" name="to" value={to} />
        <button type="submit">Open</button>
      </form>
    ),
  });
}
