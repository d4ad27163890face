/**
 * The formats `hostport` and `grep`: one line per server, for other programs.
 *
 * @module
 */
import { parseEndpoint } from "../core/address.ts";
import { serverId } from "../core/record.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Format } from "./sink.ts";

const plain = { head: "", tail: "", appendable: true };

/** The format with one `host:port` or `[v6]:port` per line. */
export const hostPortFormat: Format = {
  ...plain,
  name: "hostport",
  isComplete: (line) => parseEndpoint(line) !== undefined,
  row: (record) => `${serverId(record)}\n`,
};

/**
 * The greppable format of nmap and masscan. The row of a server that replied over TCP names a TCP
 * port.
 */
export function grepFormat(allProtocols: readonly Protocol[]): Format {
  const overTcp = allProtocols.filter(({ transport }) => transport === "tcp");
  return {
    ...plain,
    name: "grep",
    isComplete: (line) => line.endsWith("//"),
    row: (record) => {
      const { host, port, protocol, protocols, seen_at: seenAt } = record;
      const transport = overTcp.some(({ name }) => protocols.includes(name)) ? "tcp" : "udp";
      return `Timestamp: ${Math.floor(seenAt / 1000)}\tHost: ${host} ()\t` +
        `Ports: ${port}/open/${transport}//${protocol}//\n`;
    },
  };
}
