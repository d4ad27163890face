/**
 * The text formats of rows by name, and their descriptions, from which another thread makes them.
 *
 * @module
 */
import { type Field, FIELDS, serverId, type ServerRecord } from "../core/record.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { csvFormat } from "./csv.ts";
import { jsonFormat, ndjsonFormat } from "./json.ts";
import type { Format } from "./sink.ts";
import { parseEndpoint } from "../core/address.ts";

type MakeFormat = (fields: readonly Field[], allProtocols: readonly Protocol[]) => Format;

/** Makes each format from the columns of the rows. */
export const TEXT_FORMATS = {
  csv: (fields) => csvFormat(fields),
  "csv-text": (fields) => csvFormat(fields, true),
  ndjson: (fields) => ndjsonFormat(fields),
  json: (fields) => jsonFormat(fields),
  hostport: () => hostPortFormat,
  grep: (_, allProtocols) => grepFormat(allProtocols),
} as const satisfies Readonly<Record<string, MakeFormat>>;

/** The description of a format, which can be sent to another thread. */
export interface FormatSpec {
  readonly name: keyof typeof TEXT_FORMATS;
  /** The names of the columns in their order. */
  readonly columns: readonly (keyof ServerRecord)[];
}

export function formatOf(
  { name, columns }: FormatSpec,
  allProtocols: readonly Protocol[],
): Format {
  const isWhole = columns.join() === FIELDS.map((field) => field.name).join();
  const fields = columns.map((column) => FIELDS.find((field) => field.name === column)!);
  return TEXT_FORMATS[name](isWhole ? FIELDS : fields, allProtocols);
}

const plain = { head: "", tail: "", appendable: true };

/** The format `hostport`, for other programs: one `host:port` or `[v6]:port` per line. */
export const hostPortFormat: Format = {
  ...plain,
  name: "hostport",
  isComplete: (line) => parseEndpoint(line) !== undefined,
  row: (record) => `${serverId(record)}\n`,
};

/** The format `grep`: that of nmap and masscan. The port of a row is the one of its protocol: TCP or UDP. */
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
