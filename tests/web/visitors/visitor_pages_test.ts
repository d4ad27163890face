/** What visitors of a public list see, and what they do not. Covers src/web/visitors/. */
import { assert, assertEquals, assertFalse, assertStringIncludes } from "@std/assert";
import { MAX_EXPORTS } from "../../../src/web/api/export_files.ts";
import { LiveFeed } from "../../../src/web/api/live_feed.ts";
import { StreamLimit } from "../../../src/web/api/stream_limit.ts";
import { assetsOf } from "../../../src/web/http/assets.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { DAY_MS } from "../../../src/core/quantities.ts";
import { statusRoutes } from "../../../src/web/status/status_routes.ts";
import { visitorPages } from "../../../src/web/visitors/visitor_answers.ts";
import {
  ignoredWords,
  listedFilters,
  listUrl,
  readVisitorFilters,
  visitorServerUrl,
} from "../../../src/web/visitors/visitor_filters.ts";
import { AddressSet } from "../../../src/targets/ranges.ts";
import { titleOf } from "../../../src/web/visitors/visitor_server.ts";
import { ROUTES } from "../../../src/web/api/routes.ts";
import {
  type DashboardData,
  DataError,
  type ServersQuery,
} from "../../../src/web/queries/dashboard_data.ts";
import { fakeData, ICON, listedServer, NOW } from "../fake_data.ts";
import { requestTo } from "../http/client.ts";
import { withDatabase } from "../served_database.ts";

const BASE = "https://servers.example.org";
const HOSTILE = '<script>alert(1)</script>"&\u202e\u001b[31m';

/** Requests to a public list. */
function visit(data: DashboardData = fakeData(), hasBanners = false) {
  const report = (error: unknown) => {
    throw error;
  };
  const respond = visitorPages({
    site: {
      ...{ data, database: "secret.db", hasGeoip: true, attributions: [] },
      caller: { program: "blocksweep", location: "/home/me/secret.db" },
      live: new LiveFeed({ data, status: () => Promise.resolve([]), clock: systemClock, report }),
      exports: new StreamLimit(MAX_EXPORTS),
      publicRoutes: hasBanners ? statusRoutes({ hasNames: false, clock: systemClock }) : [],
    },
    visitors: { base: BASE, contact: "me@example.org", hasBanners },
    assets: assetsOf(),
    access: { hostname: "127.0.0.1", allowedHosts: ["servers.example.org"] },
    trustedProxies: new AddressSet([]),
    now: () => NOW,
    report,
  });
  return requestTo(respond);
}

/** A server with all that visitors must not see. */
const SECRETS = listedServer(1, {
  notes: "SECRET-NOTE",
  players: ["SECRET-PLAYER"],
  flags: ["badUtf8"],
  scan_id: "SECRET-SCAN",
  requested_as: "SECRET-NAME",
  extras: { slp: { secret: "SECRET-FACT", mods: { create: "1.0" } } },
  operator: "SECRET-OPERATOR",
  edition: "java",
  version: "1.21.4",
  country: "DE",
  has_icon: true,
  favicon_hash: ICON,
  motd: "A \u00a7cred MOTD",
  motd_plain: "A red MOTD",
});

const dataOf = (server: typeof SECRETS) =>
  fakeData({
    servers: () =>
      Promise.resolve({
        ...{ servers: [server], previous: null, next: null, total: 1, hidden: 0, others: {} },
      }),
    named: () => Promise.resolve([server]),
    server: async (id) => {
      const details = await fakeData().server(id);
      return details && {
        ...details,
        ...{ server, notes: "SECRET-NOTE", players: ["SECRET-PLAYER"] },
      };
    },
  });

Deno.test("pages show what a list shows, and nothing of the operator or of players", async () => {
  const get = visit(dataOf(SECRETS));
  for (const path of ["/", visitorServerUrl(SECRETS.key), "/stats", "/about", "/sitemap.xml"]) {
    const { status, text } = await get(`GET ${path}`);
    assertEquals(status, 200, path);
    assertFalse(/SECRET|secret|badUtf8|Ann/.test(text), `${path}: ${text}`);
  }
  const { text } = await get(`GET ${visitorServerUrl(SECRETS.key)}`);
  for (const shown of ["Server 1", "10.0.0.1:25565", "1.21.4", "Germany", "create 1.0", "mc-c"]) {
    assertStringIncludes(text, shown);
  }
});

Deno.test("no page of the dashboard exists for visitors", async () => {
  const get = visit();
  const own = new Set(["/", "/icons/{hash}.png"]);
  for (const { path } of ROUTES.filter(({ path }) => !own.has(path))) {
    const asked = path.replace(/\{\w+\}/g, "1");
    assertEquals((await get(`GET ${asked}`)).status, 404, asked);
  }
  const posted = await get("POST /");
  assertEquals([posted.status, posted.text.includes("dashboard")], [405, false]);
  assertEquals((await get("GET /", { host: "other.example" })).status, 421);
  assertEquals((await get("GET /", { host: "servers.example.org" })).status, 200);
});

Deno.test("texts of servers are texts on pages, in facts for search engines, and in codes of banners", async () => {
  const hostile = listedServer(1, {
    ...{ name: HOSTILE, motd: HOSTILE, motd_plain: HOSTILE, version: HOSTILE, software: HOSTILE },
    ...{ edition: HOSTILE, map: HOSTILE, gamemode: HOSTILE, country: HOSTILE, tags: [HOSTILE] },
    plugins: [{ name: HOSTILE, version: HOSTILE }],
  });
  const get = visit(dataOf(hostile), true);
  for (const path of ["/", visitorServerUrl(hostile.key), `/?q=${encodeURIComponent(HOSTILE)}`]) {
    const { text } = await get(`GET ${path}`);
    const found = ["<script>alert", "\u001b", "\u202e"].filter((part) => text.includes(part));
    assertEquals(found, [], path);
    const facts = /<script type="application\/ld\+json">(.*?)<\/script>/.exec(text)?.[1];
    if (path.startsWith("/s/")) assert(JSON.parse(facts!)["@type"] === "GameServer");
  }
});

Deno.test("the list asks for servers that replied in the last day, 30 of a page, one row of a server", async () => {
  const asked: ServersQuery[] = [];
  const data = fakeData();
  const get = visit({
    ...data,
    servers: (query) => {
      asked.push(query);
      return data.servers(query);
    },
  });
  await get("GET /?edition=java&network=10.0.0.0/8&flag=badUtf8&scan=1&utm_source=x&stale=7d");
  assertEquals(asked.map(({ filters, limit, group }) => ({ filters, limit, group })), [{
    filters: {
      ...{ edition: ["java"], network: ["10.0.0.0/8"] },
      ...{ replied: NOW - DAY_MS, noAliases: true },
    },
    limit: 30,
    group: true,
  }]);
});

Deno.test("pages of the list are links, and each has its usual URL; filtered lists have none", async () => {
  const get = visit(fakeData({}, 70));
  const first = await get("GET /");
  assertStringIncludes(first.text, `<link rel="canonical" href="${BASE}/"`);
  assertEquals(first.headers["cache-control"], "public, max-age=30");
  const [, next] = /rel="next" href="([^"]+)"/.exec(first.text)!;
  const second = await get(`GET ${next.replaceAll("&amp;", "&")}`);
  assertStringIncludes(second.text, "Server 31");
  assertStringIncludes(second.text, 'rel="prev"');
  for (const path of [next.replaceAll("&amp;", "&"), "/?edition=java"]) {
    const { text } = await get(`GET ${path}`);
    assertStringIncludes(text, '<meta name="robots" content="noindex"');
    assertFalse(text.includes("canonical"));
  }
  const utm = await get("GET /?utm_source=forum");
  assertStringIncludes(utm.text, `<link rel="canonical" href="${BASE}/"`);
});

Deno.test("an offline server says for how long, a count above the slots is reported and has no bar", async () => {
  const list = async (more: Parameters<typeof listedServer>[1]) =>
    (await visit(dataOf(listedServer(1, more)))("GET /")).text;
  const offline = await list({ online: false, seen_at: NOW - 3 * 3_600_000 });
  assertStringIncludes(offline, "Offline</b> <small>for 3 h");
  const above = await list({ players_online: 49_999, players_max: 500 });
  assertStringIncludes(above, "reported");
  assertFalse(/class="bar/.test(above.replace(/<aside[^]*?<\/aside>/, "")));
  const usual = await list({ players_online: 12, players_max: 100 });
  assertFalse(usual.includes("reported"));
  assert(/class="bar/.test(usual));
});

Deno.test("a server that opted out, and one that is not stored, have no page", async () => {
  const path = visitorServerUrl("10.0.0.1:25565");
  assertEquals((await visit()(`GET ${path}`)).status, 200);
  const optedOut = fakeData({ withoutOptedOut: () => Promise.resolve([]) });
  assertEquals((await visit(optedOut)(`GET ${path}`)).status, 404);
  assertFalse((await visit(optedOut)("GET /")).text.includes("Server 1"));
  assertFalse((await visit(optedOut)("GET /sitemap.xml")).text.includes("10.0.0"));
  for (const other of ["/s/10.0.0.99%3A25565", "/s/%ff", "/s/", "/s/a/b", "/constructor"]) {
    assertEquals((await visit()(`GET ${other}`)).status, 404, other);
  }
});

Deno.test("a name that is no key leads to the page of its server", async () => {
  const { status, headers } = await visit()("GET /s/10.0.0.1");
  assertEquals([status, headers.location], [303, "/s/10.0.0.1%3A25565"]);
});

Deno.test("banners have a code only if the status API is served", async () => {
  const path = visitorServerUrl("10.0.0.1:25565");
  assertFalse((await visit()(`GET ${path}`)).text.includes("/banner/"));
  const { text } = await visit(fakeData(), true)(`GET ${path}`);
  assertStringIncludes(text, `${BASE}/banner/10.0.0.1%3A25565`);
  assertEquals((await visit(fakeData(), true)("GET /banner/10.0.0.1%3A25565")).status, 200);
});

Deno.test("a database that is away is a page with 503", async () => {
  const failing = () => Promise.reject(new DataError("gone", "no file /home/me/secret.db"));
  const { status, text, headers } = await visit(fakeData({ servers: failing }))("GET /");
  assertEquals([status, headers["retry-after"]], [503, "5"]);
  assertFalse(text.includes("secret"));
});

Deno.test("a client gets 60 pages at once; files and icons do not count", async () => {
  const get = visit();
  const statusOf = async (path: string, peer: string) =>
    (await get(`GET ${path}`, {}, "", "127.0.0.1", peer)).status;
  const many = async (peer: string) => {
    const statuses: number[] = [];
    for (let i = 0; i < 62; i++) statuses.push(await statusOf("/about", peer));
    return statuses.filter((one) => one === 429).length;
  };
  assertEquals(await many("192.0.2.1"), 2);
  assertEquals(await statusOf("/about", "192.0.2.2"), 200);
  assertEquals(await statusOf(`/icons/${ICON}.png`, "192.0.2.1"), 200);
  const { headers } = await get("GET /", {}, "", "127.0.0.1", "192.0.2.1");
  assertEquals(headers["retry-after"], "1");
  assertEquals(await many("2001:db8::1"), 2);
  assertEquals(await statusOf("/about", "2001:db8:0:00ff::1"), 429);
  assertEquals(await many("127.0.0.1"), 0, "a proxy that is not trusted");
});

Deno.test("robots.txt names the sitemap, which has the pages of servers", async () => {
  const get = visit();
  assertStringIncludes((await get("GET /robots.txt")).text, `Sitemap: ${BASE}/sitemap.xml`);
  const { text } = await get("GET /sitemap.xml");
  assertEquals(text.match(/<loc>/g)?.length, 3 + 5);
  assertStringIncludes(text, `<loc>${BASE}/s/10.0.0.1%3A25565</loc>`);
});

Deno.test("filters of visitors go to the URL and back; others are ignored", () => {
  const filters = { edition: ["java"], version: ["1.21"], minPlayers: 1, text: ["a b", "c"] };
  const read = (url: string) => readVisitorFilters(new URLSearchParams(url.slice(2)));
  assertEquals(read(listUrl(filters)), filters);
  assertEquals(read("/?operator=64500&saw=lost&down=1h&q=flag:cutShort+sky"), { text: ["sky"] });
  assertEquals(read(listUrl({ full: false })), { full: false });
  assertEquals(read("/?q=full:no"), { full: false });
  assertEquals(read(`/?q=${"x".repeat(101)}`), {});
  assertEquals(read(`/?${"tag=a&".repeat(500)}`).tag?.length, 10);
  assertEquals(listedFilters({}), { replied: -DAY_MS, noAliases: true });
});

Deno.test("the list names the words of a search for which it has no filter", async () => {
  assertEquals(ignoredWords("sky replied:1h named:x players:>1 flag:cutShort replied:2h"), [
    "replied",
    "named",
    "flag",
  ]);
  assertEquals(ignoredWords("wow: <b>"), []);
  const { text } = await visit()("GET /?q=sky+replied:1h");
  assertStringIncludes(text, "Not a filter of this list: replied.");
  assertFalse((await visit()("GET /?q=sky")).text.includes("Not a filter"));
});

Deno.test("a list suggests the filters that words of a search may mean", async () => {
  const { text } = await visit()("GET /?q=sky+Bedrock+1.20.80");
  assertStringIncludes(text, 'href="/?text=sky&amp;edition=bedrock&amp;version=1.20.80"');
  assertFalse((await visit()("GET /?q=sky")).text.includes("Did you mean"));
});

Deno.test("the title of a server has its players and its game", () => {
  const server = listedServer(1, { players_online: 12, players_max: 100, version: "1.21" });
  assertEquals(titleOf({ ...server, edition: "java" }, NOW), "Server 1, 12/100 players, Java 1.21");
  assertEquals(
    titleOf({ ...server, online: false, edition: null, version: null }, NOW),
    "Server 1, offline",
  );
});

Deno.test("a public list of a database shows its servers, and each has a page", () =>
  withDatabase(async (data) => {
    // The servers of the database replied long ago.
    const recent = (query: ServersQuery) =>
      data.servers({ ...query, filters: { ...query.filters, replied: undefined } });
    const get = visit({ ...data, servers: recent });
    const { status, text } = await get("GET /");
    assertEquals(status, 200);
    const pages = [...text.matchAll(/href="(\/s\/[^"]+)"/g)].map(([, url]) => url);
    assert(pages.length > 10);
    for (const page of pages) assertEquals((await get(`GET ${page}`)).status, 200, page);
  }));
