/**
 * The table of `watch` on a terminal.
 *
 * @module
 */
import { formatEndpoint } from "../../../core/address.ts";
import { countOf, withCommas } from "../../../core/quantities.ts";
import { shownVersion } from "../../../classify/game_versions.ts";
import { playersText, type PrintedColumn } from "../../../app/outputs/mod.ts";
import type { WatchCounts, WatchedServer } from "../../../watch/mod.ts";
import type { LiveTerminal } from "./live_block.ts";
import { type FirstRows, LiveTable, type LiveTableOptions } from "./live_table.ts";

/** The columns in display order at a time, Unix milliseconds. */
export function watchColumns(now: number): readonly PrintedColumn<WatchedServer>[] {
  return [
    { title: "SERVER", width: 47, rank: 0, text: serverText },
    { title: "STATUS", width: 10, rank: 0, text: statusText },
    { title: "PLAYERS", width: 11, rank: 1, text: ({ row }) => row ? playersText(row) : "" },
    { title: "MS", width: 7, rank: 3, text: ({ row }) => row?.latency_ms?.toFixed(1) ?? "" },
    {
      title: "SEEN",
      width: 9,
      rank: 2,
      text: ({ row }) => row === undefined ? "" : ageText(now - row.seen_at),
    },
    {
      title: "VERSION",
      width: 12,
      rank: 4,
      text: ({ row }) => row === undefined ? "" : shownVersion(row) ?? "",
    },
    { title: "NAME", width: 0, rank: 0, text: ({ row }) => row?.name ?? "" },
  ];
}

function serverText({ endpoint, name }: WatchedServer): string {
  return name === null ? formatEndpoint(endpoint) : `${name}:${endpoint.port}`;
}

/** `online`, `offline` by the reported events; the number of failed polls in a row before `offline`. */
function statusText({ reportedOnline: online, misses }: WatchedServer): string {
  if (online === false) return "offline";
  if (misses > 0) return `${countOf(misses, "miss", "misses")}`;
  return online ? "online" : "";
}

/** The time since a reply: `5 s`, `3 min`, `2 h`, `4 d`. */
function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  if (seconds < 100) return `${seconds} s`;
  if (seconds < 6000) return `${Math.floor(seconds / 60)} min`;
  const hours = Math.floor(seconds / 3600);
  return hours < 100 ? `${hours} h` : `${withCommas(Math.floor(hours / 24))} d`;
}

/** Offline servers, then those whose last poll failed, then the others; each in the given order. */
export function firstServers(
  servers: readonly WatchedServer[],
  most: number,
): FirstRows<WatchedServer> {
  const classes: readonly WatchedServer[][] = [[], [], []];
  for (const server of servers) {
    const group = classes[server.reportedOnline === false ? 0 : server.misses > 0 ? 1 : 2];
    if (group.length < most) group.push(server);
  }
  return { first: classes.flat().slice(0, most), all: servers.length };
}

export interface WatchTableOptions
  extends LiveTerminal, Pick<LiveTableOptions<WatchedServer>, "color"> {
  /** The servers. Their number may grow. */
  readonly servers: readonly WatchedServer[];
  /** The counts of polls and events. */
  readonly counts: WatchCounts;
}

/** Opens the live table of the watched servers. Half of the terminal is left for events. */
export function openWatchTable(options: WatchTableOptions): LiveTable<WatchedServer> {
  const { servers, counts, clock } = options;
  return new LiveTable({
    ...options,
    title: (all) => {
      const online = servers.reduce((sum, one) => sum + Number(one.reportedOnline === true), 0);
      return `${withCommas(online)} of ${countOf(all, "endpoint")} online; ` +
        `${countOf(counts.polls, "poll")}, ${countOf(counts.events, "event")}`;
    },
    columns: () => watchColumns(clock.wall()),
    rows: (most) => firstServers(servers, most),
    maxLines: (rows) => Math.floor(rows / 2),
  });
}
