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

/** The greppable format of nmap and masscan. The port of a row is the one of its protocol: TCP or UDP. */
export function grepFormat(allProtocols: readonly Protocol[]): Format {
  const overTcp = allProtocols.filter(({ transport }) => transport === "tcp");
  return {
    ...plain,
    name: "grep",
    isComplete: (line) => line.endsWith("//"),
    row: ({ host, port, protocol, seen_at: seenAt }) => {
      const transport = overTcp.some(({ name }) => name === protocol) ? "tcp" : "udp";
      return `Timestamp: ${Math.floor(seenAt / 1000)}\tHost: ${host} ()\t` +
        `Ports: ${port}/open/${transport}//${protocol}//\n`;
    },
  };
}
