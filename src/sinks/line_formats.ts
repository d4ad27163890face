/**
 * Rows as lines, for other programs.
 *
 * @module
 */
import { parseEndpoint } from "../core/address.ts";
import { serverId } from "../core/record.ts";
import { PROTOCOLS } from "../protocols/list.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Format } from "./sink.ts";

const plain = { head: "", tail: "", appendable: true };

/** `host:port` per line. */
export const hostPortFormat: Format = {
  ...plain,
  name: "hostport",
  whole: (line) => parseEndpoint(line) !== undefined,
  row: (record) => `${serverId(record)}\n`,
};

/** nmap's and masscan's grepable line: its port is a TCP port where some protocol used TCP. */
export function grepFormat(allProtocols: readonly Protocol[] = PROTOCOLS): Format {
  const overTcp = allProtocols.filter(({ transport }) => transport === "tcp");
  return {
    ...plain,
    name: "grep",
    whole: (line) => line.endsWith("//"),
    row: (record) => {
      const { host, port, protocol, protocols, seen_at: seenAt } = record;
      const transport = overTcp.some(({ name }) => protocols.includes(name)) ? "tcp" : "udp";
      return `Timestamp: ${Math.floor(seenAt / 1000)}\tHost: ${host} ()\t` +
        `Ports: ${port}/open/${transport}//${protocol}//\n`;
    },
  };
}
