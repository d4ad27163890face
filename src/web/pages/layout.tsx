/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The frame of all pages: head, navigation, footer.
 *
 * @module
 */
import type { Child } from "npm:hono@4.13.19/jsx";
import { cutText } from "../../core/text.ts";
import { Attribution, safeText } from "../components/texts.tsx";
import { MAX_SEARCH, searchOf } from "../queries/search_words.ts";
import type { PageContext } from "./page_context.ts";

/** The pages of the navigation. */
const PAGES = [
  ["/", "Overview"],
  ["/servers", "Servers"],
  ["/map", "Map"],
  ["/breakdown", "Breakdown"],
  ["/scans", "Scans"],
  ["/events", "Events"],
] as const;

/** A page in the frame. */
export interface Frame {
  readonly title: string;
  readonly context: PageContext;
  readonly children: Child;
  /** The modules of the page, such as `map`. */
  readonly scripts?: readonly string[];
}

export function htmlDocument({ title, context, children, scripts = [] }: Frame): string {
  const { assets, path, database, attributions, filters, search } = context;
  return documentOf({
    head: { title, assets, scripts: ["page", ...scripts] },
    body: (
      <body>
        <a class="skip" href="#content">Skip to content</a>
        <header class="top">
          <Brand assets={assets} />
          <Navigation path={path} />
          <SearchForm search={searchOf(filters) || search} />
          <span class="database" title="Database">{safeText(database, 60)}</span>
        </header>
        <main id="content" tabindex={-1}>{children}</main>
        <footer>
          <span>This dashboard only reads the database.</span>
          {attributions.map((text) => <Attribution text={text} />)}
        </footer>
      </body>
    ),
  });
}

/** Builds an HTML document without navigation, for visitors who may see nothing of the database. */
export function bareDocument(
  { title, assets, children }: { title: string; assets: string; children: Child },
): string {
  return documentOf({
    head: { title, assets, scripts: [] },
    body: (
      <body class="bare">
        <header class="top">
          <Brand assets={assets} />
        </header>
        <main id="content">{children}</main>
      </body>
    ),
  });
}

/** What the head of a document names. */
interface Head {
  readonly title: string;
  readonly assets: string;
  readonly scripts: readonly string[];
}

function documentOf({ head, body }: { head: Head; body: Child }): string {
  const { title, assets, scripts } = head;
  return "<!doctype html>\n" + String(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${safeText(title, 80)} · blocksweep`}</title>
        <link rel="stylesheet" href={`${assets}style.css`} />
        <link rel="icon" type="image/svg+xml" href={`${assets}mark.svg`} />
        {scripts.map((name) => <script type="module" src={`${assets}${name}.js`}></script>)}
      </head>
      {body}
    </html>,
  );
}

function Brand({ assets }: { assets: string }) {
  return (
    <a class="brand" href="/">
      <img src={`${assets}mark.svg`} alt="" width="22" height="22" />
      blocksweep
    </a>
  );
}

/** The search of servers. The key `/` focuses it. */
export function SearchForm({ search }: { search: string }) {
  return (
    <form class="find" action="/servers" role="search">
      <input
        type="search"
        name="q"
        value={cutText(search.toWellFormed(), MAX_SEARCH)}
        maxlength={MAX_SEARCH}
        placeholder="Search servers"
        title="Such as: sky version:1.20..1.21 players:>0 192.0.2.0/24"
        aria-label="Search servers"
        aria-keyshortcuts="/"
      />
      <kbd class="needs-script" aria-hidden="true">/</kbd>
    </form>
  );
}

function Navigation({ path }: { path: string }) {
  return (
    <nav aria-label="Pages">
      <ul>
        {PAGES.map(([page, name]) => (
          <li>
            <a href={page} aria-current={currentOf(path, page)}>{name}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** `page` for the current page, `true` for the list above it. */
function currentOf(path: string, page: string): "page" | "true" | undefined {
  if (path === page) return "page";
  return page !== "/" && path.startsWith(`${page}/`) ? "true" : undefined;
}
