/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The frame of all pages: head, navigation, footer.
 *
 * @module
 */
import type { Child } from "npm:hono@4.13.19/jsx";
import { raw } from "npm:hono@4.13.19/html";
import type { PageContext } from "./page_context.ts";

/** A page as HTML. */
export type Html = ReturnType<typeof raw>;

const PAGES = [
  ["/", "Overview"],
  ["/servers", "Servers"],
  ["/map", "Map"],
  ["/breakdown", "Breakdown"],
  ["/scans", "Scans"],
  ["/events", "Events"],
] as const;

/** Builds a whole HTML document. */
export function htmlDocument(
  { title, context, children, script }: {
    readonly title: string;
    readonly context: PageContext;
    readonly children: Child;
    /** The module of the page, such as `map.js`. */
    readonly script?: string;
  },
): string {
  return "<!doctype html>\n" + String(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{`${title} · blocksweep`}</title>
        <link rel="stylesheet" href={`${context.assets}style.css`} />
        <link rel="icon" type="image/svg+xml" href={`${context.assets}mark.svg`} />
        {script && <script type="module" src={`${context.assets}${script}`}></script>}
      </head>
      <body>
        <a class="skip" href="#content">Skip to content</a>
        <header>
          <nav aria-label="Pages">
            <ul>
              {PAGES.map(([path, name]) => (
                <li>
                  <a href={path} aria-current={context.path === path ? "page" : undefined}>
                    {name}
                  </a>
                </li>
              ))}
            </ul>
          </nav>
        </header>
        <main id="content">{children}</main>
      </body>
    </html>,
  );
}
