/**
 * Tests all pages of src/web/pages/, and the files that they load: src/web/client_files.ts,
 * src/web/browser/map.ts.
 */
import { assert, assertEquals } from "@std/assert";
import { clientFiles } from "../../../src/web/client_files.ts";
import { breakdownPage } from "../../../src/web/pages/breakdown_page.tsx";
import { errorPage } from "../../../src/web/pages/error_pages.tsx";
import { eventsPage } from "../../../src/web/pages/events_page.tsx";
import { mapPage } from "../../../src/web/pages/map_page.tsx";
import { overviewPage } from "../../../src/web/pages/overview_page.tsx";
import type { PageContext } from "../../../src/web/pages/page_context.ts";
import { scanPage } from "../../../src/web/pages/scan_page.tsx";
import { scansPage } from "../../../src/web/pages/scans_page.tsx";
import { serverPage } from "../../../src/web/pages/server_page.tsx";
import { serversPage } from "../../../src/web/pages/servers_page.tsx";
import { tokenPage } from "../../../src/web/pages/token_page.tsx";

const CONTEXT: PageContext = {
  path: "/servers",
  filters: {},
  now: Date.UTC(2026, 0, 2),
  database: "servers.db",
  assets: "/assets/1/",
  hasPlaces: false,
  attributions: [],
};

Deno.test("the pages of an empty database are HTML documents with the assets", () => {
  const overview = {
    ...{ servers: 0, online: 0, players: 0, stale: 0, newestReplyAt: null },
    newest: [],
    running: [],
  };
  const page = { servers: [], hasPrevious: false, hasNext: false, total: 0 };
  const query = { filters: {}, sort: "players", limit: 50 } as const;
  const cells = { cells: [], values: [], servers: 0 };
  const map = { address: 0, prefix: 0, layer: "servers", filters: {} } as const;
  const pages = [
    overviewPage({ overview, trend: undefined, days: 7 }, CONTEXT),
    serversPage({ query, page, facets: undefined }, CONTEXT),
    mapPage({ query: map, cells }, CONTEXT),
    breakdownPage({ facets: undefined, trends: [], by: "version", days: 7 }, CONTEXT),
    scansPage({ scans: [] }, CONTEXT),
    eventsPage({ query: { limit: 100 }, events: [] }, CONTEXT),
    tokenPage({ to: "/", isWrong: true }, CONTEXT),
    errorPage({ status: 404, message: "There is no such page" }, CONTEXT),
  ];
  const names = clientFiles().map(({ name }) => name);
  for (const html of pages) {
    assert(html.startsWith('<!doctype html>\n<html lang="en">'), html);
    const assets = [...html.matchAll(/"\/assets\/1\/([^"]*)"/g)].map(([, name]) => name);
    assertEquals(assets.filter((name) => !names.includes(name)), []);
  }
  assert([serverPage, scanPage].every((page) => page.length === 2));
});

Deno.test("scripts have no types and import scripts", () => {
  for (const { name, body } of clientFiles().filter(({ name }) => name.endsWith(".js"))) {
    assert(!/\.ts"|: string\b/.test(body), name);
  }
});
