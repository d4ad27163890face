/**
 * The table of `lan` on a terminal.
 *
 * @module
 */
import { serverId, type ServerRecord } from "../../../core/record.ts";
import { type FoundServers, type Listed, worldTitle } from "../../../scan/lan/mod.ts";
import { playersText, type PrintedColumn } from "../../../app/outputs/mod.ts";
import { countOf } from "../../../core/quantities.ts";
import { shownVersion } from "../../../classify/game_versions.ts";
import type { LiveTerminal } from "./live_block.ts";
import { LiveTable, type LiveTableOptions } from "./live_table.ts";

/** The columns in display order at a time, milliseconds of the clock. */
export function lanColumns(now: number): readonly PrintedColumn<Listed>[] {
  return [
    { title: "SERVER", width: 47, rank: 0, text: ({ row }) => serverId(row) },
    { title: "PROTOCOLS", width: 16, rank: 4, text: ({ row }) => row.protocols.join("+") },
    { title: "PLAYERS", width: 11, rank: 1, text: ({ row }) => playersText(row) },
    { title: "MS", width: 7, rank: 2, text: ({ row }) => row.latency_ms?.toFixed(1) ?? "" },
    {
      title: "SEEN",
      width: 5,
      rank: 3,
      text: ({ seenAt }) => `${Math.floor((now - seenAt) / 1000)} s`,
    },
    { title: "VERSION", width: 12, rank: 5, text: ({ row }) => shownVersion(row) ?? "" },
    { title: "NAME", width: 0, rank: 0, text: ({ row }) => nameText(row) },
  ];
}

function nameText(record: ServerRecord): string {
  const { name, software } = record;
  return worldTitle(record) ?? [name, software && `(${software})`].filter(Boolean).join(" ");
}

export interface LanTableOptions extends LiveTerminal, Pick<LiveTableOptions<Listed>, "color"> {
  readonly servers: FoundServers;
  /** The number of searched networks. */
  readonly networks: number;
}

/** Opens the live table of the servers that were found. */
export function openLanTable(options: LanTableOptions): LiveTable<Listed> {
  const { servers, networks, clock } = options;
  return new LiveTable({
    ...options,
    title: (all) => `${countOf(all, "server")} on ${countOf(networks, "network")}`,
    columns: () => lanColumns(clock.now()),
    rows: () => {
      const listed = servers.listed();
      return { first: listed, all: listed.length };
    },
    maxLines: (rows) => rows - 2,
  });
}
