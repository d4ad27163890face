/** Events for the tests of webhooks. */
import { emptyRecord } from "../../../src/core/record.ts";
import type { ServerEvent, WatchEvent } from "../../../src/store/events/watch_event.ts";
import { newWatcherEvent } from "../../../src/store/events/watch_event.ts";

/** 14:05 UTC on 22 November 2026. */
export const NOW = Date.UTC(2026, 10, 22, 14, 5);

/** The start of the events' ids. */
const ID = "0193a1b2-0001-7000-8000-00000000000";

const BASE = {
  at: NOW,
  host: "192.0.2.7",
  port: 25565,
  requested_as: "mc.example.org",
  scan_id: "0193a1b2-0000-7000-8000-000000000000",
  name: "Hypixel",
} as const;

const SERVER = {
  ...emptyRecord({ address: 0xc0000207, port: 25565 }, NOW),
  ...{ name: "Hypixel", players_online: 1200, players_max: 2000, version: "1.21" },
};

/** One event of each kind, with changed members. */
export function eachKind(over: Partial<ServerEvent> = {}): WatchEvent[] {
  const servers = ([
    { event: "online", server: SERVER, offline_ms: 300_000 },
    { event: "offline", misses: 3, replied_at: NOW - 120_000 },
    { event: "changed", changes: { version: ["1.20", "1.21"], map: ["world", null] } },
    { event: "players", players_online: [1, 2], joined: ["Ann"], left: [] },
    { event: "restarted", guid: ["1", "2"] },
    { event: "opted_out" },
  ] as const).map((own, i) => ({ ...BASE, id: `${ID}${i}`, ...own, ...over }) as WatchEvent);
  const { at, scan_id } = BASE;
  const watcher = ([
    { event: "watcher_offline", since: NOW - 60_000, reason: "no_route" },
    { event: "watcher_online", offline_ms: 70_000 },
  ] as const).map((body, i) => newWatcherEvent({ at, scan_id, id: `${ID}${6 + i}` }, body));
  return [...servers, ...watcher];
}

/** An `offline` event. */
export function offline(over: Partial<ServerEvent> = {}): WatchEvent {
  return eachKind(over)[1];
}
