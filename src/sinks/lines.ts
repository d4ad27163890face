/**
 * Rows as lines for eyes and for grep.
 *
 * @module
 */
import { parseEndpoint } from "../address.ts";
import { serverId, type ServerRecord } from "../record.ts";
import { harmlessText } from "../text.ts";
import type { Format } from "./sink.ts";

const plain = { head: "", tail: "", appendable: true };

/** `host:port` per line. */
export const listFormat: Format = {
  ...plain,
  name: "list",
  whole: (line) => parseEndpoint(line) !== undefined,
  row: (record) => `${serverId(record)}\n`,
};

/** nmap's and masscan's grepable line. */
export const grepFormat: Format = {
  ...plain,
  name: "grep",
  whole: (line) => line.endsWith("//"),
  row: (record) => {
    const { host, port, protocol, protocols, seen_at: seenAt } = record;
    const transport = protocols.includes("slp") ? "tcp" : "udp";
    return `Timestamp: ${Math.floor(seenAt / 1000)}\tHost: ${host} ()\t` +
      `Ports: ${port}/open/${transport}//${protocol}//\n`;
  },
};

/** A column of the table: its title, width, and text. */
type Column = readonly [title: string, width: number, text: (record: ServerRecord) => string];

const COLUMNS: readonly Column[] = [
  ["SERVER", 21, serverId],
  ["PROTOCOLS", 13, ({ protocols }) => protocols.join("+")],
  [
    "PLAYERS",
    9,
    ({ players_online, players_max }) => `${players_online ?? "?"}/${players_max ?? "?"}`,
  ],
  ["MS", 6, ({ latency_ms }) => latency_ms === null ? "" : latency_ms.toFixed(1)],
  ["VERSION", 12, ({ version }) => version ?? ""],
  // Names come last: whatever their width on the screen, they move nothing.
  [
    "NAME",
    0,
    ({ name, software }) => [name, software && `(${software})`].filter(Boolean).join(" "),
  ],
];

/** Aligned columns, for a terminal. */
export const tableFormat: Format = {
  ...plain,
  name: "table",
  head: tableLine(COLUMNS.map(([title]) => title)),
  row: (record) => tableLine(COLUMNS.map(([, , text]) => text(record))),
};

function tableLine(cells: readonly string[]): string {
  const padded = cells.map((cell, i) => fit(harmlessText(cell), COLUMNS[i][1]));
  return `${padded.join(" ").trimEnd()}\n`;
}

/** Text of at least this width; a text that is longer is cut, unless it is a server's name. */
function fit(text: string, width: number): string {
  if (width === 0 || text.length <= width || text.includes(":")) return text.padEnd(width);
  return `${text.slice(0, width - 1)}…`;
}
