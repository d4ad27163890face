/** A database for tests of the dashboard without a database: five servers in memory. */
import { emptyRecord } from "../../src/core/record.ts";
import { type UsualOrder, usualOrder } from "../../src/store/queries/orders.ts";
import type { ListedPart } from "../../src/store/parts/part_list.ts";
import type { StoredScan } from "../../src/store/scans/scan_list.ts";
import type { Changes, DashboardData } from "../../src/web/queries/dashboard_data.ts";
import type { ListedServer } from "../../src/web/queries/schemas.ts";

/** The hash of the only icon. */
export const ICON = "a".repeat(64);
/** The identity of the only scan. */
export const SCAN_ID = "0198c0de-0000-7000-8000-000000000001";
/** The time of the newest rows, Unix milliseconds. */
export const NOW = Date.UTC(2026, 0, 2);

/** A server with a number. */
export function listedServer(id: number, more: Partial<ListedServer> = {}): ListedServer {
  const record = emptyRecord({ address: 0x0a000000 + id, port: 25565 }, NOW);
  return {
    ...record,
    ...{
      id,
      seen_at: NOW,
      key: `10.0.0.${id}:25565`,
      name: `Server ${id}`,
      players_online: id,
      online: true,
      players: ["Ann"],
    },
    ...{ missed_scans: 0, first_seen: NOW, probed_at: NOW, changed_at: NOW },
    ...{
      players_at: null,
      player_flags: null,
      uptime_30d: null,
      uptime_watched: null,
      tags: [],
      notes: null,
    },
    ...{ country: null, asn: null, operator: null, has_icon: false },
    ...more,
  } as ListedServer;
}

/** A scan that runs. */
export const SCAN: StoredScan = {
  ...{ scan_id: SCAN_ID, kind: "sweep", state: "running", started_at: NOW, finished_at: null },
  ...{
    heartbeat_at: NOW,
    ends_at: null,
    runs: 1,
    ...{ campaign: null, shard: null, parts: 1 },
    parts_done: 0,
    parts_running: 0,
    parts_stale: 0,
    parts_poisoned: 0,
    parts_cancelled: 0,
    position: 1,
  },
  ...{ total: 8, probes_sent: 1000, replies: 5, found: 4, packet_loss: 0.015, rows_lost: 0 },
  ...{
    rate: null,
    rate_reason: null,
    widened: false,
    sampled: false,
    excluded: [],
    ranges: ["10.0.0.0-10.0.0.9"],
  },
  counters: { lost: 1, replies: { valid: 5, forged: 2 } },
  members: null,
  retries: null,
};

/** A part of that scan. */
const PART: ListedPart = {
  ...{
    part: 1,
    state: "running",
    worker: "w1",
    tries: 1,
    position: 1,
    total: 8,
    probes_sent: 1,
    replies: 1,
  },
  ...{ found: 1, why: null, updated_at: NOW },
};

/** A day in which nothing changed. */
export const NO_CHANGES: Changes = {
  since: NOW - 86_400_000,
  counts: { new: [0], back: [0], lost: [0], offline: [0], online: [0] },
  incidents: [],
  others: 0,
  isCut: false,
};

/** The sort keys that all servers have in common, by order. */
const POSITIONS: Readonly<Record<UsualOrder, readonly (string | number)[]>> = {
  players: [1, 1, 5],
  average: [1, 1, 5],
  latency: [20],
  seen: [NOW],
  new: [NOW],
  changed: [NOW],
  name: ["server"],
  version: [""],
  address: ["40a000001", 25565],
};

const UPTIME = {
  watchedS: 10,
  onlineS: 5,
  playerS: 5,
  playersMin: 0,
  playersMax: 1,
  watchedShare: 0.84,
  polls: 4320,
};

/**
 * A database.
 *
 * @param more Functions in place of the usual ones.
 * @param count Number of servers.
 */
export function fakeData(more: Partial<DashboardData> = {}, count = 5): DashboardData {
  const servers = Array.from({ length: count }, (_, i) => listedServer(i + 1));
  const facets = Object.fromEntries(
    ["edition", "software", "version", "protocol", "port", "flag", "country", "operator"]
      .map((name) => [name, []]),
  );
  const totals = Object.fromEntries(Object.keys(facets).map((name) => [name, count]));
  const counts = { servers: count, online: count, players: 15 };
  return {
    overview: () =>
      Promise.resolve({
        ...counts,
        stale: 0,
        newestReplyAt: NOW,
        newest: servers,
        running: [SCAN],
        changes: NO_CHANGES,
      }),
    servers({ sort, limit, cursor }) {
      const all = cursor?.direction === "before" ? servers.toReversed() : servers;
      const start = all.findIndex(({ id }) => id === cursor?.position.at(-1)) + 1;
      const found = all.slice(start, start + limit);
      const isBackwards = cursor?.direction === "before";
      if (isBackwards) found.reverse();
      const [before, after] = [start > 0, start + limit < all.length];
      const at = (direction: "after" | "before", server: ListedServer) => ({
        direction,
        position: [...POSITIONS[usualOrder(sort)], server.id],
      });
      return Promise.resolve({
        servers: found,
        previous: (isBackwards ? after : before) ? at("before", found[0]) : null,
        next: (isBackwards ? before : after) ? at("after", found.at(-1)!) : null,
        ...{ total: count, hidden: 0, others: {} },
      });
    },
    facets: () => Promise.resolve({ ...counts, facets, totals } as never),
    hourlyPlayers: (ids) => Promise.resolve(new Map(ids.map((id) => [id, [null, id]]))),
    withoutOptedOut: (ids) => Promise.resolve(ids),
    named: (name) =>
      Promise.resolve(servers.filter(({ key, host }) => key === name || host === name)),
    server: (wanted) => {
      const server = servers.find(({ id }) => id === wanted);
      return Promise.resolve(
        server && {
          ...{ server, tags: [], notes: null, players: ["Ann"], aliasOf: null, days: [] },
          ...{
            aliases: [],
            others: null,
            uptime: { "24h": UPTIME, "7d": UPTIME, "30d": UPTIME },
            events: [],
          },
          replies: [{ protocol: "slp", seenAt: NOW, size: 2, bytes: new Uint8Array([1, 255]) }],
        },
      );
    },
    history: (_, from, to) =>
      Promise.resolve({ from, to, step: 0, points: [], unwatched: [], peak: null }),
    observedSince: () => Promise.resolve(null),
    icon: (hash) =>
      Promise.resolve(hash === ICON ? new Uint8Array([0x89, 0x50, 0x4e, 0x47]) : undefined),
    status: ({ host, port }) => {
      const server = servers.find((one) => one.host === host && one.port === port);
      return Promise.resolve(server && { server, icon: null });
    },
    isOptedOut: () => Promise.resolve(false),
    map: ({ square = { address: 0, prefix: 0 } }) =>
      Promise.resolve({ square, cells: [3, 10, 256], values: [1, 2, 3], servers: 6 }),
    trends: () =>
      Promise.resolve({
        days: 7,
        trends: [{
          value: null,
          points: [{ at: NOW, servers: 5, online: 4, players: 9, watched_share: 1 }],
        }],
      }),
    events: () =>
      Promise.resolve({
        events: [{
          ...{ tx: "812", seq: 40, id: SCAN_ID, at: NOW, server: "10.0.0.1:25565", server_id: 1 },
          ...{ name: "Lobby", scan_id: null, kind: "online", data: {} },
        }],
        next: null,
        groups: [],
      }),
    scans: () => Promise.resolve([SCAN]),
    runningScans: () => Promise.resolve([SCAN]),
    scan: (id) => Promise.resolve(id === SCAN_ID ? SCAN : undefined),
    parts: () => Promise.resolve({ running_parts: [PART], poisoned_parts: [] }),
    scanBefore: () => Promise.resolve(undefined),
    members: () =>
      Promise.resolve({
        counts: { found: 4, new: 1, back: 0, changed: 0, missed: 2, lost: 1 },
        servers: { new: servers.slice(0, 1), lost: servers.slice(1, 2) },
      }),
    finds: (_, limit) => Promise.resolve(servers.slice(0, limit)),
    ...more,
  };
}
