/** Follows the links of the pages that src/web/http/dashboard.ts serves. */
import { assert, assertEquals } from "@std/assert";
import { withDatabase } from "../served_database.ts";
import { type Client, clientOf } from "./client.ts";
import { longTest } from "../../long.ts";

/** Maximum number of pages that are read. */
const MAX_PAGES = 400;

/** The links, files and forms of a page, as paths. */
function linksOf(html: string, from: string): string[] {
  return [...html.matchAll(/ (?:href|src|action|data-url)="([^"]*)"/g)].map(([, text]) => {
    const url = new URL(text.replaceAll("&amp;", "&"), `http://localhost${from}`);
    assertEquals(url.host, "localhost", `${from} links to ${url}`);
    return url.pathname + url.search;
  });
}

/** Reads pages from the start page on. Returns the paths by their routes. */
async function crawl(get: Client): Promise<ReadonlySet<string>> {
  const seen = new Set(["/"]);
  for (const path of seen) {
    const { status, headers, text } = await get(`GET ${path}`);
    assertEquals(status, 200, `${path}: ${text}`);
    if (!headers["content-type"].startsWith("text/html") || seen.size > MAX_PAGES) continue;
    for (const link of linksOf(text, path)) seen.add(link);
  }
  return seen;
}

longTest("every link of every page leads to a page", () =>
  withDatabase(async (data) => {
    const seen = [...await crawl(clientOf({ data }))];
    for (
      const one of [
        ...[
          "/servers",
          "/map",
          "/breakdown",
          "/scans",
          "/events",
          "/servers.csv",
          "/servers.ndjson",
        ],
        ...["/assets/", "/servers/1"],
      ]
    ) assert(seen.some((path) => path.startsWith(one)), `no page links to ${one}`);
    assert(
      seen.some((path) => /^\/servers\?.*cursor=\w+/.test(path)),
      "no page links to a next page",
    );
    assert(seen.length > 100, `${seen.length}`);
  }));

Deno.test("the links of a database in memory lead to pages, also those of scans", async () => {
  const seen = [...await crawl(clientOf({ hasGeoip: true }))];
  assert(seen.some((path) => path.startsWith("/scans/")), "no page links to a scan");
});
