/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The form for the token of `--token-file`.
 *
 * @module
 */
import { bareDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/**
 * The form for the token. It is sent as `POST /token` with the fields `token` and `to`.
 *
 * @param to The path and query of the page that was requested.
 * @param isWrong Whether a wrong token was sent.
 */
export function tokenPage(
  { to, isWrong }: { readonly to: string; readonly isWrong: boolean },
  context: Pick<PageContext, "assets">,
): string {
  return bareDocument({
    title: "Token",
    assets: context.assets,
    children: (
      <form class="card alone" method="post" action="/token">
        <h1>This dashboard requires a token</h1>
        <p class="hint">It is in the file of --token-file of the command that serves this page.</p>
        <label for="token">Token</label>
        <input
          id="token"
          name="token"
          type="password"
          autocomplete="current-password"
          required
          autofocus
          aria-invalid={isWrong ? "true" : undefined}
          aria-describedby={isWrong ? "wrong" : undefined}
        />
        {isWrong && <p id="wrong" class="problem" role="alert">This token is wrong.</p>}
        <input type="hidden" name="to" value={to} />
        <button type="submit">Open the dashboard</button>
      </form>
    ),
  });
}
