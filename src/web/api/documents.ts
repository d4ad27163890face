/**
 * The documents of the JSON API, made of the data that pages show too.
 *
 * @module
 */
import { formatAddress } from "../../core/address.ts";
import type { EventsPage, StoredEvent, Uptime, WatchedUptime } from "../../store/mod.ts";
import type {
  History,
  MapCells,
  MapQuery,
  ServerDetails,
  ServersPage,
  ServersQuery,
} from "../queries/dashboard_data.ts";
import { eventCursor, serversCursor } from "../queries/cursors.ts";
import { withoutPlayersColumn } from "./live_feed.ts";

export function serversDocument(
  { query: { sort }, page: { servers, total, others, next, previous } }: {
    readonly query: ServersQuery;
    readonly page: ServersPage;
  },
) {
  return {
    total,
    servers: servers.map(withoutPlayersColumn),
    others: Object.entries(others).map(([id, rows]) => ({ id: Number(id), ...rows })),
    next: next && serversCursor(sort, next),
    previous: previous && serversCursor(sort, previous),
  };
}

export function eventsDocument(
  { page: { events, next } }: { readonly page: EventsPage },
) {
  return { events: events.map(eventOf), next: next && eventCursor(next) };
}

/** An event, with its position as `history --events --json` prints it, for `--after`. */
function eventOf({ tx, seq, ...event }: StoredEvent) {
  return { position: `${tx}-${seq}`, ...event };
}

export function detailsDocument({ details }: { readonly details: ServerDetails }) {
  const { server, tags, notes, players, aliasOf, aliases, others } = details;
  const { uptime, days, replies, events } = details;
  return {
    server: withoutPlayersColumn(server),
    tags,
    notes,
    players,
    alias_of: aliasOf,
    aliases,
    others,
    uptime: {
      "24h": recentUptimeOf(uptime["24h"]),
      "7d": recentUptimeOf(uptime["7d"]),
      "30d": recentUptimeOf(uptime["30d"]),
    },
    uptime_days: days.map(({ at, ...day }) => ({ at, ...uptimeOf(day) })),
    replies: replies && replies.map(({ protocol, seenAt, size, bytes }) => ({
      protocol,
      seen_at: seenAt,
      size,
      hex: bytes.toHex(),
    })),
    events: events.map(eventOf),
  };
}

function recentUptimeOf({ watchedShare, ...uptime }: WatchedUptime) {
  return { ...uptimeOf(uptime), watched_share: watchedShare };
}

function uptimeOf({ watchedS, onlineS, playerS, playersMin, playersMax, polls }: Uptime) {
  return {
    watched_s: watchedS,
    online_s: onlineS,
    player_s: playerS,
    players_min: playersMin,
    players_max: playersMax,
    polls,
  };
}

export function historyDocument({ from, to, step, points, unwatched, peak }: History) {
  return {
    from,
    to,
    step,
    points: points.map((
      { onlineShare, playersMost, latencyMs, latencyLeast, latencyMost, ...point },
    ) => ({
      ...point,
      online_share: onlineShare,
      players_most: playersMost,
      latency_ms: latencyMs,
      latency_least_ms: latencyLeast,
      latency_most_ms: latencyMost,
    })),
    unwatched,
    peak,
  };
}

/** The cells of a map, with the distances of indexes: a third of the size of the indexes, compressed. */
export function mapDocument(
  { query: { layer }, cells: { square: { address, prefix }, cells, values, servers } }: {
    readonly query: MapQuery;
    readonly cells: MapCells;
  },
) {
  return {
    network: `${formatAddress(address)}/${prefix}`,
    layer,
    servers,
    gaps: cells.map((cell, i) => cell - (i === 0 ? -1 : cells[i - 1])),
    values,
  };
}
