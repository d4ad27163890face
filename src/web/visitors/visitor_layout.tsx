/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The frame of the pages for visitors: what search engines and previews read, head, footer.
 *
 * @module
 */
import { raw } from "npm:hono@4.13.19/html";
import type { Child } from "npm:hono@4.13.19/jsx";
import { Attribution, safeText } from "../components/texts.tsx";
import { LONGEST_SEARCH } from "./visitor_filters.ts";
import type { VisitorContext } from "./visitor_site.ts";

/** A page for visitors. Texts may be those of strangers. */
interface VisitorPage {
  readonly title: string;
  /** One or two sentences, for search engines and previews. */
  readonly description: string;
  /** The path of the page's usual URL; undefined: no search engine should list it. */
  readonly canonical?: string;
  /** The path of a picture for previews. Default: none. */
  readonly picture?: string;
  /** Facts for search engines, in the terms of schema.org. */
  readonly facts?: object;
  readonly context: VisitorContext;
  readonly scripts?: readonly string[];
  readonly children: Child;
}

/** The pages of the navigation. */
const PAGES = [["/", "Servers"], ["/stats", "Statistics"], ["/about", "About"]] as const;

/** The name of a public list: the host of its address. */
export function siteName({ base }: Pick<VisitorContext, "base">): string {
  return new URL(base).host;
}

export function visitorDocument(page: VisitorPage): string {
  const { context, children, scripts = [] } = page;
  const { assets, path, attributions } = context;
  return "<!doctype html>\n" + String(
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <Preview page={page} />
        <link rel="stylesheet" href={`${assets}style.css`} />
        <link rel="stylesheet" href={`${assets}visitors.css`} />
        <link rel="icon" type="image/svg+xml" href={`${assets}mark.svg`} />
        {["page", ...scripts].map((name) => (
          <script type="module" src={`${assets}${name}.js`}></script>
        ))}
      </head>
      <body class="visitors">
        <a class="skip" href="#content">Skip to content</a>
        <header class="top">
          <a class="brand" href="/">
            <img src={`${assets}mark.svg`} alt="" width="22" height="22" />
            {siteName(context)}
          </a>
          <nav aria-label="Pages">
            <ul>
              {PAGES.map(([url, name]) => (
                <li>
                  <a href={url} aria-current={path === url ? "page" : undefined}>{name}</a>
                </li>
              ))}
            </ul>
          </nav>
        </header>
        <main id="content" tabindex={-1}>{children}</main>
        <footer>
          <span>
            Servers publish these facts themselves. Made with blocksweep.
          </span>
          {attributions.map((text) => <Attribution text={text} />)}
        </footer>
      </body>
    </html>,
  );
}

/** What search engines and previews of links read. */
function Preview(
  { page: { title, description, canonical, picture, facts, context } }: { page: VisitorPage },
) {
  const name = siteName(context);
  const [head, text] = [safeText(title, 100), safeText(description, 300)];
  const url = canonical === undefined ? undefined : context.base + canonical;
  return (
    <>
      <title>{`${head} · ${name}`}</title>
      <meta name="description" content={text} />
      {url === undefined
        ? <meta name="robots" content="noindex" />
        : <link rel="canonical" href={url} />}
      <meta property="og:title" content={head} />
      <meta property="og:description" content={text} />
      <meta property="og:site_name" content={name} />
      <meta property="og:type" content="website" />
      {url !== undefined && <meta property="og:url" content={url} />}
      {picture !== undefined && <meta property="og:image" content={context.base + picture} />}
      {facts !== undefined && (
        <script type="application/ld+json">
          {raw(
            JSON.stringify({ "@context": "https://schema.org", ...facts })
              .replaceAll("<", "\\u003c"),
          )}
        </script>
      )}
    </>
  );
}

/** The search of the list. The key `/` focuses it. */
export function VisitorSearch({ search }: { search: string }) {
  return (
    <form class="find" action="/" role="search">
      <input
        type="search"
        name="q"
        value={safeText(search, LONGEST_SEARCH)}
        maxlength={LONGEST_SEARCH}
        placeholder="Name, version, software or address"
        aria-label="Search servers"
        aria-keyshortcuts="/"
      />
      <kbd class="needs-script" aria-hidden="true">/</kbd>
    </form>
  );
}
