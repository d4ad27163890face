/** Data of all pages, in which each text of strangers is a given one. */
import { emptyRecord } from "../../../src/core/record.ts";
import type {
  Facets,
  History,
  Incident,
  ServerDetails,
} from "../../../src/web/queries/dashboard_data.ts";
import type { ListedServer } from "../../../src/web/queries/schemas.ts";
import type { StoredEvent } from "../../../src/store/events/event_feed.ts";
import { FACETS, MAP_LAYERS } from "../../../src/web/queries/schemas.ts";
import { EVENT_KINDS } from "../../../src/store/events/watch_event.ts";
import type { OtherRows } from "../../../src/store/groups/grouped_rows.ts";
import type { ListedPart, ListedParts } from "../../../src/store/parts/part_list.ts";
import type { StoredScan } from "../../../src/store/scans/scan_list.ts";
import { breakdownPage } from "../../../src/web/pages/breakdown_page.tsx";
import { comparePage } from "../../../src/web/pages/compare_page.tsx";
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

/** The time of all requests. */
export const NOW = Date.UTC(2026, 0, 31, 12);
const HOUR = 3_600_000;

/** Texts that would run or break a page that does not escape them. */
export const HOSTILE = [
  "<script>alert(1)</script>",
  '"><img src=x onerror=alert(1)>',
  "' onmouseover='alert(1)",
  "</title></style></textarea><svg onload=alert(1)>",
  "<!--",
  "]]>&lt;b&gt;&#60;i",
  "javascript:alert(1)",
  "\u202eevil\u2066\u200b",
  "a\u0000b\u0007\u001b[2J\r\n",
  "__proto__",
  "constructor",
  "\ud800 lone",
  "e" + "\u0301".repeat(500),
  "%s%00../../etc/passwd?x=1&y#z",
  `§x§f§f§8§8§0§0<b>§k${"x".repeat(64 * 1024)}`,
];

/** The context of a page. */
export function contextOf(path: string, text = "servers.db"): PageContext {
  return {
    path,
    filters: {},
    now: NOW,
    database: text,
    search: text,
    caller: { program: "blocksweep", location: text },
    assets: "/assets/1/",
    hasGeoip: true,
    attributions: [text],
  };
}

/** A server with the same text in all columns of text, except perhaps its key. */
export function serverOf(text: string, key = text): ListedServer {
  return {
    ...emptyRecord({ address: 0xcb007107, port: 4000 }, NOW),
    ...{ id: 7, key, protocol: text, protocols: [text, text], edition: text, software: text },
    ...{ name: text, motd: `§a${text}§l${text}`, motd_plain: text, version: text, map: text },
    ...{ gamemode: text, players_online: 7, players_max: 20, players: [text], guid: text },
    ...{ plugins: [{ name: text, version: text }], flags: [text, "badUtf8"], proxy: text },
    ...{ extras: JSON.parse(`{"__proto__":{"__proto__":${JSON.stringify(text)}},"a":{"b":1}}`) },
    ...{ software_confidence: text, alias_of: text, requested_as: text, favicon_hash: text },
    ...{ scan_id: text, online: true, missed_scans: 0, first_seen: NOW - HOUR, probed_at: NOW },
    ...{
      changed_at: NOW,
      players_at: NOW,
      player_flags: { playersConstant: { since: NOW - HOUR, replies: 30, players: 7 } },
      uptime_30d: 0.5,
      uptime_watched: 0.84,
      tags: [],
      notes: text,
      country: text,
      asn: 64_500,
      operator: text,
      has_icon: true,
    },
  };
}

/** A scan with the same text in all columns of text. */
export function scanOf(text: string, state: string): StoredScan {
  return {
    ...{ scan_id: text, kind: text, state, started_at: NOW - HOUR, finished_at: null },
    ...{
      heartbeat_at: NOW,
      ends_at: NOW + HOUR,
      runs: 1,
      ...{ campaign: text, shard: text, parts: 300 },
      parts_done: 2,
      parts_running: 287,
      parts_stale: 3,
      parts_poisoned: 1,
      parts_cancelled: 0,
      position: 5,
    },
    ...{ total: 10, probes_sent: 5, replies: 1, found: 1, packet_loss: 0.1, rows_lost: 0 },
    ...{ rate: 1000, rate_reason: text, ranges: [text], excluded: Array(20).fill(text) },
    members: { found: 3, new: 1, back: 1, changed: 1, missed: 2, lost: 1 },
    retries: 1,
    counters: { lost: 1, [text]: text, replies: text, tcp: { timeout: 7, refused: text } },
    widened: true,
    sampled: true,
  };
}

const NO_PARTS: ListedParts = { running_parts: [], poisoned_parts: [] };

/** Parts with a text as the names of workers and as the reasons of failures. */
function partsOf(text: string): ListedParts {
  const part: ListedPart = {
    ...{
      part: 7,
      state: "stale",
      worker: text,
      tries: 5,
      position: 5,
      total: 10,
      probes_sent: 5,
      replies: 1,
    },
    ...{ found: 1, why: text, updated_at: NOW },
  };
  return { running_parts: Array(200).fill(part), poisoned_parts: [{ ...part, state: "poisoned" }] };
}

function eventsOf(text: string, key: string): StoredEvent[] {
  const data = JSON.parse(
    `{"__proto__":1,"misses":3,"players_online":[1,2],"joined":[${JSON.stringify(text)}]}`,
  );
  const changes = { motd: [text, text], [text]: [text, { [text]: text }], version: text };
  return [...EVENT_KINDS, text].map((kind, i) => ({
    ...{
      tx: "1",
      seq: i,
      id: text,
      at: NOW - i * HOUR,
      server: key,
      name: i === 1 ? null : text,
      server_id: i === 0 ? null : 7,
    },
    ...{ scan_id: text, kind, data: { ...data, changes } },
  }));
}

function facetsOf(text: string): Facets {
  const value = { value: text, servers: 3, online: 2, players: 1 };
  const values = [value, { ...value, value: null }, { ...value, value: 5, label: text }];
  return {
    ...{ servers: 3, online: 2, players: 1 },
    facets: Object.fromEntries(FACETS.map((name) => [name, values])) as unknown as Facets["facets"],
    totals: Object.fromEntries(FACETS.map((name) => [name, 3])) as Facets["totals"],
  };
}

function historyOf(): History {
  const points = Array.from({ length: 50 }, (_, i) => ({
    ...{ at: NOW - (50 - i) * HOUR, until: NOW - (49 - i) * HOUR, online: i % 10 !== 0 },
    onlineShare: i % 10 === 0 ? 0 : i === 12 ? 0.05 : 1,
    ...{ players: i, slots: 60, playersMost: i, latencyMs: i % 7 === 0 ? null : i / 3 },
    ...{ latencyLeast: i % 7 === 0 ? null : i / 4, latencyMost: i % 7 === 0 ? null : i / 2 },
  }));
  const unwatched = [{ from: NOW - 20 * HOUR, to: NOW - 15 * HOUR }];
  const [from, peak] = [NOW - 50 * HOUR, { players: 49, at: NOW - HOUR }];
  return { from, to: NOW, step: HOUR, points, unwatched, peak };
}

function detailsOf(text: string, key: string): ServerDetails {
  const watched = {
    watchedS: 100,
    onlineS: 50,
    playerS: 1,
    playersMin: 0,
    playersMax: 1,
    polls: 4320,
  };
  const recent = { ...watched, watchedShare: 0.84 };
  const bytes = new TextEncoder().encode(text);
  return {
    ...{ server: serverOf(text, key), tags: [text], notes: text, players: [text] },
    ...{ aliasOf: { id: 1, key }, aliases: [{ id: 2, key }], others: othersWith(key) },
    uptime: { "24h": recent, "7d": recent, "30d": recent },
    days: [{ at: NOW - NOW % 86_400_000, ...watched }],
    replies: [{ protocol: text, seenAt: NOW, size: bytes.length, bytes }],
    events: eventsOf(text, key),
  };
}

/** The other rows of a server, of which not all are named. */
function othersWith(key: string): OtherRows {
  const member = { id: 8, key, endpoint: key, online: false };
  return { members: [{ ...member, rules: ["bridge", "endpoint"] }], count: 30 };
}

/**
 * All pages with a text in place of each text of strangers, except perhaps the keys of servers, by
 * their paths.
 */
export function pagesWith(text: string, key = text): Map<string, string> {
  const [server, facets, events] = [serverOf(text, key), facetsOf(text), eventsOf(text, key)];
  const filter = text.slice(0, 100); // longer queries are refused
  const filters = {
    ...{ edition: [filter], software: [filter], version: [filter], text: [filter], online: true },
    ...{ port: [4000], network: ["203.0.113.0/24"], operator: [64_500], minPlayers: 1 },
  };
  const running = [scanOf(text, "running"), scanOf(text, text)];
  const sweep = {
    ...{ ...running[0], scan_id: "2", kind: "sweep", campaign: null, shard: "2/4", parts: 1 },
  };
  const changes = {
    counts: { found: 3, new: 1, back: 1, changed: 1, missed: 2, lost: 1 },
    servers: { new: [server], back: [server], lost: [server], changed: [server] },
  };
  const points = [0, 1, 5].map((i) => ({
    ...{ at: NOW - i * HOUR, servers: 3, online: 2, players: 1 },
    watched_share: i === 1 ? 0.5 : 1,
  }));
  const trend = { value: text, points: points.toReversed() };
  const incident: Incident = {
    ...{ at: NOW - HOUR, until: NOW - HOUR + 5000, backAt: null, network: "203.0.113.0/24" },
    ...{ operator: text, down: 3, back: 1, server: null },
  };
  const ofOne = { ...incident, down: 1, server: { id: 7, key, name: text } };
  const counts = { new: [0, 2], back: [0, 0], lost: [1, 0], offline: [0, 3], online: [0, 1] };
  const dayChanges = {
    ...{ since: NOW - 24 * HOUR, counts, others: 2, isCut: true },
    incidents: [incident, ofOne, { ...incident, network: null, down: 0 }],
  };
  const overview = { servers: 3, online: 2, players: 1, stale: 1, newestReplyAt: NOW };
  const previous = { direction: "before", position: [1, 2, 3] } as const;
  const next = { direction: "after", position: [1, 2, 1] } as const;
  const others = { [server.id]: othersWith(key) };
  const rows = [server, { ...server, online: false }];
  const page = { servers: rows, total: 2, hidden: 30, others };
  const query = { filters, sort: "players", limit: 50, group: true } as const;
  const square = { address: 0xcb000000, prefix: 8 } as const;
  const cells = { square, cells: [0, 9, 65_535], values: [1, 2, 3], servers: 6 };
  const rates = [[NOW - HOUR, NOW - 5000, 9, 1], [NOW - 5000, NOW, 7, 2]] as const;
  const context = (path: string) => contextOf(path, text);
  const data = {
    overview: { ...overview, changes: dayChanges, newest: [server], running },
    trend,
    days: 7,
  } as const;
  const breakdown = { facets, trends: [trend], by: "version", days: 7 } as const;
  const list = { query, page: { ...page, previous, next }, facets };
  const maps = MAP_LAYERS.map((layer) =>
    [
      `/map?layer=${layer}`,
      mapPage({ query: { square, filters, layer }, cells, page: 1 }, context("/map")),
    ] as const
  );
  return new Map([
    ["/", overviewPage(data, context("/"))],
    ["/servers", serversPage(list, { ...context("/servers"), filters })],
    [
      "/servers/7",
      serverPage({ details: detailsOf(text, key), history: historyOf() }, context("/servers/7")),
    ],
    [
      "/compare",
      comparePage({
        servers: [{ details: detailsOf(text, key), history: historyOf() }],
        ambiguous: [{ name: text, matching: [{ id: 1, key }, { id: 2, key }] }],
        ...{ missing: [text], from: NOW - 50 * HOUR, to: NOW },
      }, context("/compare")),
    ],
    ...maps,
    ["/breakdown", breakdownPage(breakdown, context("/breakdown"))],
    ["/scans", scansPage({ scans: running }, context("/scans"))],
    [
      "/scans/1",
      scanPage(
        { scan: running[0], finds: [server], parts: partsOf(text), rates, changes, before: sweep },
        context("/scans/1"),
      ),
    ],
    [
      "/scans/2",
      scanPage(
        { scan: sweep, finds: [], parts: NO_PARTS, rates: [], changes, before: undefined },
        context("/scans/2"),
      ),
    ],
    [
      "/events",
      eventsPage({
        query: {
          ...{ limit: 9, kinds: [filter], server: filter, from: NOW - HOUR, to: NOW },
          network: ["203.0.113.0/24"],
        },
        page: {
          ...{ events, next: { at: NOW, tx: "1", seq: 2 } },
          groups: [{ incident, events: [0, 1] }],
        },
      }, context("/events")),
    ],
    ["/token", tokenPage({ to: filter, isWrong: true }, context("/token"))],
    ["/none", errorPage({ status: 400, message: text, wanted: text }, context("/none"))],
  ]);
}
