/**
 * The record of a server, its columns, and the values from which inspection builds it.
 *
 * @module
 */
import type { Endpoint } from "./address.ts";
import { formatHost } from "./address.ts";

/** A plugin in a server's list. */
export interface Plugin {
  /** The plugin's name, as the server writes it. */
  name: string;
  /** The plugin's version; `null`: the list has none. */
  version: string | null;
}

/** Facts of one protocol without a column of their own, by name. */
export type Facts = Readonly<Record<string, FactValue>>;

/** The value of a fact. */
export type FactValue =
  | string
  | number
  | boolean
  | null
  | readonly string[]
  | Readonly<Record<string, string>>
  | readonly Readonly<Record<string, string>>[];

/**
 * The record of one server, which is one `host:port` with all its protocols. An unknown value is
 * `null`, never zero or an empty text. {@linkcode FIELDS} lists the columns in order.
 */
export interface ServerRecord {
  /** The server's IPv4 or IPv6 address in normal form. */
  host: string;
  /** The server's port, 1 to 65535. */
  port: number;
  /** The responding protocol of the highest rank: raknet, nethernet, slp, query, sqp, lan. */
  protocol: string;
  /** All responding protocols in order of rank. */
  protocols: readonly string[];
  /** `bedrock`, `education`, `pocket` or `java`. */
  edition: string | null;
  /** The server software: its name, and its version if the server publishes one. */
  software: string | null;
  /** The server's name: the MOTD's plain text. */
  name: string | null;
  /** The MOTD as sent, formatting codes included. */
  motd: string | null;
  /** The MOTD without formatting codes and control characters. */
  motd_plain: string | null;
  /** The game version, as the server writes it. */
  version: string | null;
  /** The game's protocol number. */
  protocol_version: number | null;
  /** The map or level. */
  map: string | null;
  /** The game mode or game type, as the server writes it. */
  gamemode: string | null;
  /** Number of players online. */
  players_online: number | null;
  /** Number of player slots. */
  players_max: number | null;
  /** Names of players that the server publishes. */
  players: readonly string[] | null;
  /** Plugins that the server publishes. */
  plugins: readonly Plugin[] | null;
  /** RakNet server GUID, unsigned decimal. */
  guid: string | null;
  /** The IPv4 port to join, as the server advertises it. */
  port_v4: number | null;
  /** The IPv6 port to join, as the server advertises it. */
  port_v6: number | null;
  /** Round trip of the first exchange, milliseconds. */
  latency_ms: number | null;
  /** Time of the reply, Unix milliseconds. */
  seen_at: number;
  /** Names of anomalies in the replies. */
  flags: readonly string[];
  /** Each protocol's own facts, by protocol. */
  extras: Readonly<Record<string, Facts>> | null;
  /** Confidence of `software`: `A`, `B` or `C`. */
  software_confidence: string | null;
  /** The proxy in front of the server. */
  proxy: string | null;
  /** The `host:port` of the first row that describes the same server. */
  alias_of: string | null;
  /**
   * The name that the user requested, or `NAME SRV HOST:PORT` if the name's SRV record led here.
   */
  requested_as: string | null;
  /** Whether the server accepts RakNet connections; checked without opening one. */
  joinable: boolean | null;
  /** The RakNet MTU that the server accepts: the largest datagram plus 28 bytes of headers. */
  mtu: number | null;
  /** The RakNet protocol number. */
  raknet_protocol: number | null;
  /** SHA-256 of the icon, hexadecimal. */
  favicon_hash: string | null;
  /** Id of the scan that found the server, UUIDv7. */
  scan_id: string | null;
}

/** The type of a column's values: see {@linkcode Field}. */
export type FieldType =
  | "text"
  | "integer"
  | "number"
  | "boolean"
  | "names"
  | "plugins"
  | "facts";

/** The description of one column of the record. */
export interface Field {
  /** The name: CSV column and NDJSON key. */
  readonly name: keyof ServerRecord;
  /** The type of its values. Lists and facts are JSON text in CSV. */
  readonly type: FieldType;
  /** Whether its value may be `null`. */
  readonly nullable: boolean;
  /** Its meaning in one line. */
  readonly meaning: string;
}

const row = (
  name: keyof ServerRecord,
  type: FieldType,
  nullable: boolean,
  meaning: string,
): Field => ({ name, type, nullable, meaning });

/** The columns in CSV order. New columns are appended; no column is moved or renamed. */
export const FIELDS: readonly Field[] = [
  row(
    "host",
    "text",
    false,
    "address of the server, with the zone of a link-local one (fe80::1%eth0)",
  ),
  row("port", "integer", false, "port of the server"),
  row("protocol", "text", false, "responding protocol of the highest rank"),
  row("protocols", "names", false, "all responding protocols, in order of rank"),
  row("edition", "text", true, "bedrock, education, pocket or java"),
  row("software", "text", true, "server software, and its version if published"),
  row("name", "text", true, "name of the server: the MOTD's plain text"),
  row("motd", "text", true, "MOTD as sent, formatting codes included"),
  row("motd_plain", "text", true, "MOTD without formatting codes and control characters"),
  row("version", "text", true, "game version, as the server writes it"),
  row("protocol_version", "integer", true, "protocol number of the game"),
  row("map", "text", true, "map or level"),
  row("gamemode", "text", true, "game mode or game type, as the server writes it"),
  row("players_online", "integer", true, "players online"),
  row("players_max", "integer", true, "player slots"),
  row("players", "names", true, "names of players that the server publishes"),
  row("plugins", "plugins", true, "plugins (name, version) that the server publishes"),
  row("guid", "text", true, "RakNet server GUID, unsigned decimal"),
  row("port_v4", "integer", true, "IPv4 port to join, as advertised"),
  row("port_v6", "integer", true, "IPv6 port to join, as advertised"),
  row("latency_ms", "number", true, "round trip of the first exchange, milliseconds"),
  row("seen_at", "integer", false, "time of the reply, Unix milliseconds"),
  row("flags", "names", false, "anomalies in the replies"),
  row("extras", "facts", true, "each protocol's own facts"),
  row("software_confidence", "text", true, "confidence of software: A, B or C"),
  row("proxy", "text", true, "proxy in front of the server"),
  row("alias_of", "text", true, "host:port of the first row of the same server"),
  row("requested_as", "text", true, "requested name; with an SRV record: NAME SRV HOST:PORT"),
  row("joinable", "boolean", true, "whether the server accepts RakNet connections"),
  row("mtu", "integer", true, "RakNet MTU that the server accepts"),
  row("raknet_protocol", "integer", true, "RakNet protocol number"),
  row("favicon_hash", "text", true, "SHA-256 of the icon, hexadecimal"),
  row("scan_id", "text", true, "scan that found it, UUIDv7"),
];

/**
 * A record with only the endpoint and the time of the reply. It has all columns in their order. All
 * records therefore have one hidden class in V8, and are fast to read.
 */
export function emptyRecord(endpoint: Endpoint, seenAt: number): ServerRecord {
  return {
    host: formatHost(endpoint),
    port: endpoint.port,
    protocol: "",
    protocols: [],
    edition: null,
    software: null,
    name: null,
    motd: null,
    motd_plain: null,
    version: null,
    protocol_version: null,
    map: null,
    gamemode: null,
    players_online: null,
    players_max: null,
    players: null,
    plugins: null,
    guid: null,
    port_v4: null,
    port_v6: null,
    latency_ms: null,
    seen_at: seenAt,
    flags: [],
    extras: null,
    software_confidence: null,
    proxy: null,
    alias_of: null,
    requested_as: null,
    joinable: null,
    mtu: null,
    raknet_protocol: null,
    favicon_hash: null,
    scan_id: null,
  };
}

/**
 * The id of a server's row: `host:port` or `[v6]:port`.
 *
 * @example
 * ```ts
 * import { serverId } from "blocksweep";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(serverId({ host: "::1", port: 19133 }), "[::1]:19133");
 * ```
 */
export function serverId({ host, port }: Pick<ServerRecord, "host" | "port">): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Data of a server that is not in its row. */
export interface Attachments {
  /** The unprocessed replies, by protocol. */
  readonly replies: Readonly<Record<string, RawReply>>;
  /** The icon, base64; the row contains its hash. */
  readonly icon?: string;
  /**
   * The sample of players with UUIDs, only in the result of a probe for a client: nothing stores it.
   *
   * @internal
   */
  readonly sample?: readonly { readonly name: string; readonly id: string | null }[];
}

/** An unprocessed reply of a server, or its start. */
export interface RawReply {
  /** Size of the reply, bytes. */
  readonly size: number;
  /** The first bytes of the reply, or all of them, base64. */
  readonly data: string;
}

/**
 * The key of a record's attachments. `JSON.stringify()` ignores symbols and writes only columns.
 */
export const ATTACHMENTS: unique symbol = Symbol("attachments");

/** A row with attachments, for outputs that store them. */
export interface RecordWithAttachments extends ServerRecord {
  /** The attachments; `undefined` if no output stores them. */
  [ATTACHMENTS]?: Attachments;
}

/** A sighting: a reply to a probe of the sweep, which inspection follows up. */
export interface Sighting {
  /** The endpoint that replied. */
  readonly endpoint: Endpoint;
  /** The protocol of the probe. */
  readonly protocol: string;
  /** The status, if the probe's reply contains it. */
  readonly status?: unknown;
  /** The reply that contains the status, unprocessed. Without `status`, it was not decoded yet. */
  readonly raw?: Uint8Array;
  /** State from which an exchange may start, for example a Query token. */
  readonly known?: unknown;
  /** Round trip, milliseconds, if the reply repeats the send time. */
  readonly latencyMs?: number;
  /** Whether the reply repeats the token. If not, a second probe has to confirm the reply. */
  readonly verified: boolean;
  /** Time of arrival, milliseconds of the scan's clock. */
  readonly at: number;
  /** Index of the scan's socket that received it. */
  readonly socket: number;
}

/** How an exchange with one server ended. */
export type Outcome<S> =
  | {
    readonly kind: "replied";
    readonly status: S;
    readonly latencyMs: number;
    /** The longest reply, not decoded. It contains the largest part of the status. */
    readonly raw: Uint8Array;
  }
  | {
    readonly kind: "noReply";
    readonly replies: number;
    /** Why the stream ended, over TCP: `refused`, `closed`, `slow`... */
    readonly why?: string;
  }
  | {
    readonly kind: "malformed";
    readonly error: Error;
    /** Whether the exchange ended because the endpoint speaks another protocol. Default: false. */
    readonly foreign?: true;
  }
  | { readonly kind: "cancelled" };

/** Tests whether a value that is not `null` has a field's type. */
export const IS_TYPE: Readonly<Record<FieldType, (value: unknown) => boolean>> = {
  text: (value) => typeof value === "string",
  integer: Number.isSafeInteger,
  number: Number.isFinite,
  boolean: (value) => typeof value === "boolean",
  names: (value) => Array.isArray(value) && value.every((one) => typeof one === "string"),
  plugins: (value) => Array.isArray(value) && value.every(isPlugin),
  facts: isObject,
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isPlugin(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { name, version } = value;
  return typeof name === "string" && (version === null || typeof version === "string");
}
