/**
 * Tests all pages of src/web/pages/ and their components of src/web/components/ and src/web/events/, with
 * harmless and with hostile texts.
 */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { PLAYER_FLAGS } from "../../../src/core/flags.ts";
import type { DashboardFilters, Facets } from "../../../src/web/queries/dashboard_data.ts";
import { clientFiles } from "../../../src/web/client_files.ts";
import { breakdownPage } from "../../../src/web/pages/breakdown_page.tsx";
import { eventsPage } from "../../../src/web/pages/events_page.tsx";
import { mapPage } from "../../../src/web/pages/map_page.tsx";
import { overviewPage } from "../../../src/web/pages/overview_page.tsx";
import { scansPage } from "../../../src/web/pages/scans_page.tsx";
import { serversPage } from "../../../src/web/pages/servers_page.tsx";
import { NO_CHANGES } from "../fake_data.ts";
import { elementsOf } from "./html_elements.ts";
import { EVENT_KINDS } from "../../../src/store/events/watch_event.ts";
import type { StoredEvent } from "../../../src/store/events/event_feed.ts";
import { serverPage } from "../../../src/web/pages/server_page.tsx";
import { readFilters } from "../../../src/web/queries/filters.ts";
import { FACETS, type ListedServer } from "../../../src/web/queries/schemas.ts";
import { contextOf, HOSTILE, NOW, pagesWith, serverOf } from "./sample_data.ts";

const HOUR = 3_600_000;

const HARMLESS = pagesWith("Sample");

/** Control characters but line feeds, characters that reorder text, and halves of characters. */
const HARMFUL = /(?!\n)\p{Cc}|[\u200b\u202a-\u202e\u2066-\u2069]|\p{Cs}/u;

/** The data of charts: JSON without the beginning of a tag. */
const CHART_DATA = /<script type="application\/json">(\{[^<]*\})<\/script>/g;

/** The names of elements with those of their attributes: `a[href]`. */
function shapes(html: string): Set<string> {
  return new Set(
    elementsOf(html).flatMap(({ name, attributes }) => [
      name,
      ...[...attributes.keys()].map((key) => `${name}[${key}]`),
    ]),
  );
}

Deno.test("the pages of an empty database say what to do next", () => {
  const overview = {
    ...{ servers: 0, online: 0, players: 0, stale: 0, newestReplyAt: null },
    ...{ newest: [], running: [], changes: NO_CHANGES },
  };
  const page = { servers: [], previous: null, next: null, total: 0, hidden: 0, others: {} };
  const query = { filters: {}, sort: "players", limit: 50 } as const;
  const cells = { square: { address: 0, prefix: 0 }, cells: [], values: [], servers: 0 } as const;
  const map = { layer: "servers", filters: {} } as const;
  const pages = [
    overviewPage({ overview, trend: undefined, days: 7 }, contextOf("/")),
    serversPage({ query, page, facets: undefined }, contextOf("/servers")),
    serversPage(
      { query: { ...query, filters: { port: [1] } }, page, facets: undefined },
      contextOf("/servers"),
    ),
    mapPage({ query: map, cells, page: 1 }, contextOf("/map")),
    breakdownPage(
      { facets: undefined, trends: [], by: "version", days: 7 },
      contextOf("/breakdown"),
    ),
    scansPage({ scans: [] }, contextOf("/scans")),
    eventsPage(
      { query: { limit: 100 }, page: { events: [], next: null, groups: [] } },
      contextOf("/events"),
    ),
  ];
  for (const html of pages) {
    elementsOf(html);
    assert(/class="empty">.*<(code|a|p)/s.test(html), html);
  }
  const caller = { program: "deno task", location: "'my data/a$&.db'" };
  const context = { ...contextOf("/", "a.db"), caller };
  const empty = overviewPage({ overview, trend: undefined, days: 7 }, context);
  assert(empty.includes("<b>a.db has no servers yet.</b>"), empty);
  const command = "deno task scan 192.168.1.0/24 -o &#39;my data/a$&amp;.db&#39;";
  assert(empty.includes(`<code>${command}</code>`), empty);
  assert(empty.includes("<code>deno task demo</code>"));
});

Deno.test("pages load existing files, and link to pages and files of the dashboard only", () => {
  const names = clientFiles().map(({ name }) => name);
  const local =
    /^(\/(servers|compare|map|breakdown|scans|events|icons|api|assets)?([/?.][^\s]*)?|#content)$/;
  for (const [path, html] of HARMLESS) {
    assert(html.startsWith('<!doctype html>\n<html lang="en">'), path);
    for (const { attributes } of elementsOf(html)) {
      for (const name of ["href", "src", "action"]) {
        const url = attributes.get(name) ?? "/";
        assert(local.test(url) || url === "/token", `${path}: ${url}`);
        if (url.startsWith("/assets/1/")) assert(names.includes(url.slice(10)), url);
      }
    }
  }
});

Deno.test("pages have no inline script or style, and scripts only of the dashboard", () => {
  for (const [path, html] of HARMLESS) {
    for (const { name, attributes } of elementsOf(html)) {
      assert(!["style", "iframe", "object", "base"].includes(name), `${path}: ${name}`);
      assert(![...attributes.keys()].some((key) => /^(on|style)/.test(key)), path);
      if (name === "script" && attributes.get("type") !== "application/json") {
        assertEquals([...attributes.keys()], ["type", "src"]);
      }
    }
    assert(!/<script[^>]*>[^<]/.test(html.replace(CHART_DATA, "")), path);
    for (const [, data] of html.matchAll(CHART_DATA)) {
      const { from, to, pieces } = JSON.parse(data);
      assert(from < to && Array.isArray(pieces), path);
    }
  }
});

Deno.test("each page has one heading of the first level, and marks itself in the navigation", () => {
  for (const [path, html] of HARMLESS) {
    assertEquals(elementsOf(html).filter(({ name }) => name === "h1").length, 1, path);
    const [page] = path.split("?");
    const marked = elementsOf(html).filter(({ name, attributes }) =>
      name === "a" && attributes.get("aria-current") === "page" &&
      attributes.get("href") === page
    );
    assertEquals(
      marked.length,
      ["/compare", "/token", "/none"].includes(page) || /\/\d/.test(page) ? 0 : 1,
      path,
    );
  }
});

Deno.test("a server with an invisible MOTD is shown by its name", () => {
  const server = { ...serverOf("Lobby"), motd: `§a${"\u3164".repeat(400)}Lobby` };
  const query = { filters: {}, sort: "players", limit: 50 } as const;
  const page = { servers: [server], previous: null, next: null, total: 1, hidden: 0, others: {} };
  const html = serversPage({ query, page, facets: undefined }, contextOf("/servers"));
  assert(/title="Lobby"[^>]*><bdi>Lobby<\/bdi><\/a>/.test(html), html);
});

Deno.test("hostile texts add no element, no attribute and no control character", () => {
  const expected = new Map([...HARMLESS].map(([path, html]) => [path, shapes(html)]));
  for (const text of HOSTILE) {
    for (const [path, html] of pagesWith(text)) {
      const more = [...shapes(html)].filter((shape) => !expected.get(path)!.has(shape));
      assertEquals(
        more.filter((shape) => !/^span(\[class\])?$/.test(shape)),
        [],
        `${path}: ${text.slice(0, 40)}`,
      );
      const shown = html.replace(/ value="[^"]*"/g, ""); // fields repeat the filters of the URL
      assert(
        !HARMFUL.test(shown),
        `${path}: ${JSON.stringify(text.slice(0, 40))}`,
      );
      assert(html.length < 400_000, `${path}: ${html.length} characters`);
    }
  }
});

Deno.test("a server with an invisible name has its key as name", () => {
  const key = "10.0.0.1:25565";
  const found = (html: string, part: RegExp) =>
    [...html.matchAll(part)].map(([, part]) => part.replace(/<[^>]*>/g, ""));
  for (const blank of ["\u115f \u3164", "\u200b\u2060", "\u2800", "\u0007 \r\n", ""]) {
    const pages = pagesWith(blank, key);
    for (const path of ["/", "/servers", "/servers/7", "/compare", "/scans/1", "/events"]) {
      const html = pages.get(path)!;
      const names = [
        ...found(html, /<a href="\/servers\/\d+"[^>]*>(.*?)<\/a>/gs),
        ...found(html, /<a href="\/servers\/\d+" title="([^"]*)"/g),
        ...found(html, /aria-label="(?:Compare|Remove) ([^"]*)"/g),
        ...path === "/compare" ? [JSON.parse(found(html, CHART_DATA)[0]).series[0].name] : [],
        ...path === "/servers/7" ? found(html, /<(?:h1|title)>(.*?)<\/(?:h1|title)>/gs) : [],
      ];
      assert(names.length > 0, path);
      const others = names.filter((name) => name !== key && name !== `${key} · blocksweep`);
      assertEquals(others, [], `${path}: ${JSON.stringify(blank)}`);
    }
  }
});

Deno.test("names of players are only on the page of a server", () => {
  for (const [path, html] of pagesWith("Steve")) {
    const isShown = /joined: Steve/.test(html);
    assertEquals(isShown, path === "/servers/7", path);
  }
});

Deno.test("a link finds counts that are not believed, and each row has its reason, online or not", () => {
  const listOf = (filters: DashboardFilters, server = serverOf("Lobby")) =>
    serversPage({
      query: { filters, sort: "players", limit: 50 },
      page: { servers: [server], previous: null, next: null, total: 1, hidden: 0, others: {} },
      facets: undefined,
    }, contextOf("/servers"));
  const [, url] = /<a href="([^"]*)"[^>]*><span>Counts not believed/.exec(listOf({}))!;
  const filters = readFilters(new URLSearchParams(url.split("?")[1].replaceAll("&amp;", "&")));
  assertEquals(filters, { flag: Object.keys(PLAYER_FLAGS).sort() });
  const chosen = /aria-current="true"[^>]*><span>Counts not believed/;
  assertEquals([chosen.test(listOf({})), chosen.test(listOf(filters))], [false, true]);
  for (const online of [true, false]) {
    const html = listOf(filters, { ...serverOf("Lobby"), online });
    const [, cell] = /<td[^>]*class="c-players">(.*?)<\/td>/s.exec(html)!;
    assertStringIncludes(cell, ">constant</abbr>");
    assertEquals(cell.includes("<b>7</b>"), online);
  }
});

Deno.test("the page of a campaign's scan has its parts by state, its workers and its failures", () => {
  const html = HARMLESS.get("/scans/1")!;
  const counts = [...html.matchAll(/data-live="parts-(\w+)">([^<]*)</g)]
    .map(([, state, count]) => `${state} ${count}`);
  assertEquals(counts, [
    ...["done 2", "running 287", "stale 3", "queued 7", "poisoned 1", "cancelled 0"],
  ]);
  assertEquals(html.match(/<span class="badge warn">stale</g)?.length, 200);
  assert(!html.includes("Counters of the scan"));
  assertEquals(html.match(/<bdi>Sample<\/bdi><\/td><td class="number">7</g)?.length, 201);
  assert(html.includes("90 more are not shown."));
  assert(html.includes("(campaign Sample), 2026-01-31 11:00 UTC</h1>"));
  assert(HARMLESS.get("/scans")!.includes("<small>campaign Sample</small>"));
  const sweep = HARMLESS.get("/scans/2")!;
  assert(sweep.includes("<h1>Scan of Sample (shard 2/4), 2026-01-31 11:00 UTC</h1>"));
  assert(!sweep.includes("Workers and their parts"));
  assert(sweep.includes("Counters of the scan"));
});

Deno.test("a link removes one filter, and keeps the others and what the page shows", () => {
  const filters = { software: ["Paper", "Spigot"], online: true };
  const square = { address: 0x0a000000, prefix: 8 } as const;
  const query = { square, layer: "online", filters } as const;
  const html = mapPage(
    { query, cells: { square, cells: [1], values: [1], servers: 1 }, page: 1 },
    contextOf("/map"),
  );
  const [chips] = /<ul class="chips".*?<\/ul>/s.exec(html)!;
  const links = elementsOf(chips).filter(({ name }) => name === "a").slice(0, -1); // Clear all
  const kept = "layer=online&amp;prefix=10.0.0.0%2F8";
  assertEquals(links.map(({ attributes }) => attributes.get("href")), [
    `/map?software=Paper&amp;software=Spigot&amp;${kept}`,
    `/map?online=true&amp;software=Spigot&amp;${kept}`,
    `/map?online=true&amp;software=Paper&amp;${kept}`,
  ]);
});

Deno.test("the breakdown has no bars of a property that a filter chooses", () => {
  const values = [{ value: "a", servers: 1, online: 1, players: 0 }];
  const names = [
    "edition",
    "software",
    "version",
    "protocol",
    "port",
    "flag",
    "country",
    "operator",
  ];
  const facets = { servers: 1, online: 1, players: 0, facets: {}, totals: {} } as unknown as Facets;
  Object.assign(facets.facets, Object.fromEntries(names.map((name) => [name, values])));
  const titles = (filters: DashboardFilters) => {
    const data = { facets, trends: [], by: "version", days: 7 } as const;
    const html = breakdownPage(data, { ...contextOf("/breakdown"), filters });
    return [...html.matchAll(/<h2>([^<]*)<\/h2>/g)].map(([, title]) => title);
  };
  assert(titles({}).includes("Software"));
  assertEquals(titles({}).filter((title) => !titles({ software: ["a"] }).includes(title)), [
    "Software",
  ]);
});

Deno.test("the bars of the breakdown are shares of all servers", () => {
  const values = [{ value: "Paper", servers: 30, online: 1, players: 0 }];
  const totals = { software: 120 };
  const facets = { servers: 30, online: 1, players: 0, facets: {}, totals } as unknown as Facets;
  const names = Object.keys({
    edition: 0,
    version: 0,
    protocol: 0,
    port: 0,
    operator: 0,
    country: 0,
  });
  Object.assign(facets.facets, Object.fromEntries(names.map((name) => [name, []])));
  Object.assign(facets.facets, { software: [...values, { ...values[0], value: null }] });
  const data = { facets, trends: [], by: "version", days: 7 } as const;
  const html = breakdownPage(data, contextOf("/breakdown"));
  assert(html.includes('class="fill" width="25%"'), html);
  assert(html.includes('<a href="/servers?unknown=software"><span class="none">unknown'), html);
});

Deno.test("bars of filters are shares of the servers that other filters match, and unknown is a link", () => {
  const values = [[" Paper", 30], [null, 12], ["Spigot", 6]].map(([value, servers]) => {
    return { value, servers, online: 1, players: 0 };
  });
  const facets = {
    ...{ servers: 30, online: 1, players: 0 },
    facets: Object.fromEntries(FACETS.map((name) => [name, name === "software" ? values : []])),
    totals: { software: 60 },
  } as unknown as Facets;
  const page = { servers: [], previous: null, next: null, total: 0, hidden: 0, others: {} };
  const html = (filters: DashboardFilters) =>
    serversPage(
      { query: { filters, sort: "players", limit: 50 }, page, facets },
      contextOf("/servers"),
    );
  const all = html({ software: ["Spigot"] });
  for (const share of ["50%", "20%", "10%"]) {
    assert(all.includes(`class="fill" width="${share}"`), all);
  }
  assert(all.includes('href="/servers?unknown=software"'), all);
  assert(html({ unknown: ["edition", "software"] }).includes('href="/servers?unknown=edition"'));
  assert(html({ unknown: ["software"] }).includes('href="/servers?software=Spigot"'));
});

Deno.test("the reader of elements finds what is wrong", () => {
  assertEquals(elementsOf('<p class="a" hidden><img src="b"/></p>').map(({ name }) => name), [
    ...["p", "img"],
  ]);
  for (
    const html of ["<p>a < b</p>", "<p><b></p></b>", "<p", "<p a=b></p>", "<p>", '<p a="<"></p>']
  ) {
    assertThrows(() => elementsOf(html), Error);
  }
});

Deno.test("each time of a server is a date, not a number of milliseconds", () => {
  const texts = HARMLESS.get("/servers/7")!.replace(/<(script|pre)\b.*?<\/\1>/gs, "")
    .replace(/<[^>]*>/g, " ");
  assertEquals(texts.match(/\b\d{13}\b/g), null);
  assert(/players_at *2026-01-31 12:00:00 UTC/.test(texts.replace(/\s+/g, " ")));
});

Deno.test("uptime stands beside the share that was watched", () => {
  const html = HARMLESS.get("/servers/7")!.replace(/<[^>]*>/g, "");
  assert(html.includes("Uptime, 30 d + today50 %of the 84 % watched (4,320 polls)"));
  assert(!html.includes("uptime 30d"));
});

/** The visible texts of the page of a server. */
function textOf(server: Partial<ListedServer>, events: readonly StoredEvent[] = []): string {
  const details = {
    ...{ server: { ...serverOf("Sample", "203.0.113.7:25565"), ...server }, events },
    ...{ tags: [], notes: null, players: [], aliasOf: null, aliases: [], others: null, days: [] },
    replies: [],
    uptime: { "24h": WATCHED, "7d": WATCHED, "30d": WATCHED },
  };
  const history = { from: NOW - 1, to: NOW, step: 0, points: [], unwatched: [], peak: null };
  const html = serverPage({ details, history }, contextOf("/servers/7"));
  return html.replace(/<(script|pre|title)\b.*?<\/\1>/gs, "").replace(/<[^>]*>/g, "")
    .replace(/\s+/g, " ");
}

const WATCHED = {
  watchedS: 1000,
  onlineS: 991,
  playerS: 1,
  playersMin: 0,
  playersMax: 1,
  watchedShare: 0.84,
  polls: 4320,
};
const MINUTE = 60_000;
const OFFLINE: StoredEvent = {
  ...{ tx: "1", seq: 1, id: "1", at: NOW - 29 * MINUTE, server: "203.0.113.7:25565" },
  ...{ server_id: 7, name: null, scan_id: null, kind: "offline", data: { misses: 3 } },
};

Deno.test("the page of a server says in one sentence what it is, and how it is", () => {
  const paper = { software: "Paper 1.21.4", version: "1.21.4", gamemode: "survival" };
  const text = textOf({ ...paper, players_online: 12, players_max: 100, seen_at: NOW - 5000 });
  const sentence =
    "Paper 1.21.4, survival, 12 of 100 players, up 99.1 % of the 84 % watched (4,320 polls), " +
    "first found 11:00 UTC.";
  assert(text.includes(sentence), text);
  assert(text.includes("Players12 of 100"), text);
});

Deno.test("an offline server does not look alive", () => {
  const text = textOf({
    ...{ online: false, players_online: 100, players_max: 100, probed_at: NOW - 5000 },
    ...{ seen_at: NOW - 30 * MINUTE, changed_at: NOW - 29 * MINUTE, software: "Paper" },
  }, [OFFLINE]);
  assert(text.includes("Offline since 11:31 UTC (29 min), last reply 11:30 UTC."), text);
  assert(text.includes("Players, last known100"), text);
  assert(!text.includes("100 of 100 players"), text);
  const stale = textOf({ players_online: 100, seen_at: NOW - 40 * 24 * HOUR });
  assert(stale.includes("Last reply 40 d ago."), stale);
  assert(!stale.includes("of 20 players"), stale);
});

Deno.test("the page of a server shows no codes of MOTDs and no JSON", () => {
  const text = textOf({
    motd: "§a§uHi §lyou",
    extras: { slp: { mods_count: 2, mods: { create: "0.5", jei: "19" }, list: ["a", "b"] } },
  });
  assert(text.includes("Hi you"), text);
  assert(!/§|\{|\[\{/.test(text), text);
  assert(text.includes("Mods (2)"), text);
  assert(text.includes("create 0.5"), text);
});

Deno.test("events show lists as words", () => {
  const changes = {
    plugins: [[{ name: "Vault", version: "1.0" }, { name: "A", version: null }], [{ name: "A" }]],
    protocols: [["slp"], ["slp", "query"]],
    joinable: [null, true],
  };
  const text = textOf({}, [{ ...OFFLINE, kind: "changed", data: { changes } }]);
  assert(text.includes("plugins − Vault 1.0"), text);
  assert(text.includes("protocols + query"), text);
  assert(text.includes("joinable unknown→yes"), text);
});

Deno.test("incidents of a page of events contain their events once", () => {
  const html = HARMLESS.get("/events")!;
  assert(html.includes("3 down, 1 back"));
  assert(html.includes("<summary>2 events</summary>"));
  assertEquals(html.match(/<tr role="row">/g)?.length, 1 + EVENT_KINDS.length + 1 - 1);
});

Deno.test("the overview begins with what changed, and its numbers lead to servers and events", () => {
  const html = HARMLESS.get("/")!;
  assert(html.indexOf("Last 24 hours") < html.indexOf("Trends of watched servers"));
  for (
    const url of [
      "/servers?online=true&amp;min_players=1",
      "/servers?stale=24h",
      "/events?kind=offline&amp;period=24h",
      "/servers?online=false&amp;network=203.0.113.0%2F24",
    ]
  ) {
    assert(html.includes(`href="${url}"`), url);
  }
});
