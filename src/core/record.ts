/**
 * The one shape in which every server is reported, and the values that lead to it.
 *
 * @module
 */
import type { Endpoint } from "./address.ts";
import { formatAddress } from "./address.ts";

/** A plugin as a server lists it. */
export interface Plugin {
  /** Its name. */
  name: string;
  /** Its version, where the list gives one. */
  version: string | null;
}

/** What one protocol said beyond the columns, by name. */
export type Facts = Readonly<Record<string, FactValue>>;

/** One of those facts. */
export type FactValue =
  | string
  | number
  | boolean
  | null
  | readonly string[]
  | Readonly<Record<string, string>>
  | readonly Readonly<Record<string, string>>[];

/**
 * One server: one `host:port`, whatever it speaks there. What is not known is `null`, never zero
 * or an empty text. {@linkcode FIELDS} holds the same names in column order.
 */
export interface ServerRecord {
  /** The address that answered. */
  host: string;
  /** The port that answered. */
  port: number;
  /** The first of raknet, slp, query, sqp, nethernet, lan that answered. */
  protocol: string;
  /** All protocols that answered, in that order. */
  protocols: readonly string[];
  /** `bedrock`, `education`, `pocket` or `java`. */
  edition: string | null;
  /** The server software: its name, and its version where it tells one. */
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
  /** Players online. */
  players_online: number | null;
  /** Player slots. */
  players_max: number | null;
  /** Names of players, as far as the server publishes them. */
  players: readonly string[] | null;
  /** Plugins, as far as the server publishes them. */
  plugins: readonly Plugin[] | null;
  /** RakNet server GUID, unsigned decimal. */
  guid: string | null;
  /** The IPv4 port to join, as the server advertises it. */
  port_v4: number | null;
  /** The IPv6 port to join, as the server advertises it. */
  port_v6: number | null;
  /** Round trip of the first exchange, milliseconds. */
  latency_ms: number | null;
  /** When it answered, Unix milliseconds. */
  seen_at: number;
  /** What was odd about the answers. */
  flags: readonly string[];
  /** Each protocol's own facts, by protocol. */
  extras: Readonly<Record<string, Facts>> | null;
  /** How sure `software` is: `A`, `B` or `C`. */
  software_confidence: string | null;
  /** The proxy in front of the server. */
  proxy: string | null;
  /** The `host:port` of the first row that describes the same server. */
  alias_of: string | null;
  /** What it was asked for by: a name, or `NAME SRV HOST:PORT` where the name's SRV record led here. */
  requested_as: string | null;
  /** Whether the server offers a RakNet connection, which nobody has then opened. */
  joinable: boolean | null;
  /** The MTU that it agrees to in RakNet: the largest datagram, and 28 bytes of headers. */
  mtu: number | null;
  /** The RakNet protocol number. */
  raknet_protocol: number | null;
  /** SHA-256 of the icon, hexadecimal. */
  favicon_hash: string | null;
  /** The scan that found it, UUIDv7. */
  scan_id: string | null;
}

/** How a field's value is written: see {@linkcode Field}. */
export type FieldType =
  | "text"
  | "integer"
  | "number"
  | "boolean"
  | "names"
  | "plugins"
  | "facts";

/** One column of the record. */
export interface Field {
  /** The name: CSV column and NDJSON key. */
  readonly name: keyof ServerRecord;
  /** What its values are. Lists and facts are JSON text in CSV. */
  readonly type: FieldType;
  /** Whether a row may lack it. */
  readonly nullable: boolean;
  /** What it says, in one line. */
  readonly meaning: string;
}

const row = (
  name: keyof ServerRecord,
  type: FieldType,
  nullable: boolean,
  meaning: string,
): Field => ({ name, type, nullable, meaning });

/** The columns, in CSV order. New ones are appended, none is moved or renamed. */
export const FIELDS: readonly Field[] = [
  row("host", "text", false, "address that answered"),
  row("port", "integer", false, "port that answered"),
  row("protocol", "text", false, "protocol of the highest rank that answered"),
  row("protocols", "names", false, "all protocols that answered, in that order"),
  row("edition", "text", true, "bedrock, education, pocket or java"),
  row("software", "text", true, "server software, and its version where it tells one"),
  row("name", "text", true, "name of the server: the MOTD's plain text"),
  row("motd", "text", true, "MOTD as sent, formatting codes included"),
  row("motd_plain", "text", true, "MOTD without formatting codes and control characters"),
  row("version", "text", true, "game version, as the server writes it"),
  row("protocol_version", "integer", true, "protocol number of the game"),
  row("map", "text", true, "map or level"),
  row("gamemode", "text", true, "game mode or game type, as the server writes it"),
  row("players_online", "integer", true, "players online"),
  row("players_max", "integer", true, "player slots"),
  row("players", "names", true, "names of players, as far as the server publishes them"),
  row("plugins", "plugins", true, "plugins (name, version), as far as published"),
  row("guid", "text", true, "RakNet server GUID, unsigned decimal"),
  row("port_v4", "integer", true, "IPv4 port to join, as advertised"),
  row("port_v6", "integer", true, "IPv6 port to join, as advertised"),
  row("latency_ms", "number", true, "round trip of the first exchange, milliseconds"),
  row("seen_at", "integer", false, "when it answered, Unix milliseconds"),
  row("flags", "names", false, "what was odd about the answers"),
  row("extras", "facts", true, "each protocol's own facts"),
  row("software_confidence", "text", true, "how sure software is: A, B or C"),
  row("proxy", "text", true, "proxy in front of the server"),
  row("alias_of", "text", true, "host:port of the first row of the same server"),
  row("requested_as", "text", true, "name it was asked for by, or: NAME SRV HOST:PORT"),
  row("joinable", "boolean", true, "whether the server offers a RakNet connection"),
  row("mtu", "integer", true, "RakNet MTU that it agrees to: a datagram and 28 bytes"),
  row("raknet_protocol", "integer", true, "RakNet protocol number"),
  row("favicon_hash", "text", true, "SHA-256 of the icon, hexadecimal"),
  row("scan_id", "text", true, "scan that found it, UUIDv7"),
];

/**
 * A record of which nothing is known but where and when it answered. All columns are written down,
 * in their order: so all records have one hidden class, and whatever reads them is fast.
 */
export function emptyRecord(endpoint: Endpoint, seenAt: number): ServerRecord {
  return {
    host: formatAddress(endpoint.address),
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
 * The name of a row: `host:port` or `[v6]:port`.
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

/** What a server sent beside what is in its row. */
export interface Attachments {
  /** Its replies as they came, by protocol. */
  readonly replies: Readonly<Record<string, RawReply>>;
  /** Its icon, whose hash the row has: base64. */
  readonly icon?: string;
}

/** A reply as it came. */
export interface RawReply {
  /** Its length, bytes. */
  readonly size: number;
  /** Its bytes, or the first of them: base64. */
  readonly data: string;
}

/** A row with what else its server sent, for outputs that keep that. */
export interface RecordWithAttachments extends ServerRecord {
  /** It; `undefined` where nobody asked for it. */
  attachments?: Attachments;
}

/** A reply to a sweep's probe: where something answered, and what is known of it so far. */
export interface Sighting {
  /** What answered. */
  readonly endpoint: Endpoint;
  /** The protocol of the probe. */
  readonly protocol: string;
  /** The status, where the probe's reply holds it. */
  readonly status?: unknown;
  /** The reply that holds it, as it came. */
  readonly raw?: Uint8Array;
  /** What an exchange may start from. */
  readonly known?: unknown;
  /** Round trip in milliseconds, where the reply tells it. */
  readonly latencyMs?: number;
  /** False when the reply did not prove that it answers our probe: it has to be confirmed. */
  readonly verified: boolean;
  /** When it arrived, milliseconds of the scan's clock. */
  readonly at: number;
  /** Which of the scan's sockets it came in on. */
  readonly socket: number;
}

/** How an exchange with one server ended. */
export type Outcome<S> =
  | {
    readonly kind: "answered";
    readonly status: S;
    readonly latencyMs: number;
    /** The longest answer, as it came: the one that holds most of the status. */
    readonly raw: Uint8Array;
  }
  | {
    readonly kind: "silent";
    readonly answers: number;
    /** How a stream ended, where it did: `refused`, `closed`, `slow`... */
    readonly why?: string;
  }
  | {
    readonly kind: "malformed";
    readonly error: Error;
    /** Whether the exchange ended because the endpoint speaks something else. Default: no. */
    readonly foreign?: true;
  }
  | { readonly kind: "cancelled" };
