/**
 * The handshake that opens a RakNet connection: two requests and their replies, as offline
 * messages.
 *
 * All integers are big endian. M is the 16-byte magic; an address has 7 or 29 bytes
 * (wire_address.ts).
 *
 *     request 1   05  M 16  RakNet protocol 1  zeros, up to the size under test         18 + n
 *     reply 1     06  M 16  server GUID 8  security 1  MTU 2  [zeros]                   28
 *     ... secured 06  M 16  server GUID 8  01  cookie 4  [key 64]  MTU 2  [zeros]       32, 96
 *     request 2   07  M 16  server's address  MTU 2  client GUID 8                      34, 56
 *     ... secured 07  M 16  cookie 4  wrote challenge 1  address  MTU 2  client GUID 8  39, 61
 *     reply 2     08  M 16  server GUID 8  client's address  MTU 2  security 1          35, 57
 *
 * Protocol 5 (2012) and today's protocols (6 to 11) differ only in the number. The page of 2012
 * gives 39 bytes for request 2 and 30 for reply 2. The messages have 34 and 35 bytes: the page
 * omits the port, the MTU and the security byte. An MTU includes 28 bytes of IPv4 and UDP headers.
 *
 * Sources: RakNet 4.081 (RakPeer.cpp), RakLib (protocol/OpenConnection*.php), go-raknet
 * (internal/message/open_connection_*.go, dial.go), CloudburstMC Network
 * (RakServerOfflineHandler.java), and the Pocket Minecraft protocol page of 2012.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { concat, Reader, u16, u32, u64 } from "../../core/bytes.ts";
import { addressSize, encodeAddress, readAddress } from "./wire_address.ts";
import { MAGIC, skipMagic } from "./codec.ts";

const ID = { request1: 0x05, reply1: 0x06, request2: 0x07, reply2: 0x08 } as const;

/** Bytes of IPv4 and UDP headers, which an MTU includes besides the datagram. */
export const MTU_HEADERS = 28;
/** Bounds of the MTUs that RakNet accepts. go-raknet attributes other MTUs to flood filters. */
const MIN_MTU = 400;
const MAX_MTU = 1500;
/** Size of LIBCAT's public key, bytes. */
const KEY_SIZE = 64;
/**
 * Size of a request 2 without its address, and of its optional cookie and challenge byte, bytes.
 */
const REQUEST_2_SIZE = 27;
const COOKIE_SIZE = 5;

/** The first request: it tests a protocol number and a datagram size. */
export interface OpenRequest1 {
  /** The client's RakNet protocol number. */
  readonly protocol: number;
  /** Number of zero bytes at the end; the datagram has 18 bytes more. */
  readonly padding: number;
}

/** Encodes a first request. */
export function encodeOpenRequest1(
  { protocol, padding }: OpenRequest1,
): Uint8Array<ArrayBuffer> {
  return concat([ID.request1], MAGIC, [protocol], new Uint8Array(padding));
}

/**
 * Decodes a first request, as a server does.
 *
 * @throws Truncated when the message ends before the protocol number.
 */
export function decodeOpenRequest1(bytes: Uint8Array): OpenRequest1 | undefined {
  const reader = readerAfterMagic(bytes, ID.request1);
  if (reader === undefined) return undefined;
  return { protocol: reader.u8("RakNet protocol"), padding: reader.left };
}

/** The security fields of a first reply. */
export interface Security {
  /** 32 bits that the second request must repeat. */
  readonly cookie: number;
  /** The key of RakNet's encryption LIBCAT, 64 bytes; Minecraft servers send none. */
  readonly publicKey: Uint8Array | undefined;
}

/** The first reply: the server accepts the protocol number and the size. */
export interface OpenReply1 {
  /** The server's GUID, 64 bits. */
  readonly guid: bigint;
  /** The security fields; `undefined` when the server is not secured. */
  readonly security: Security | undefined;
  /** The MTU that the server proposes, IPv4 and UDP headers included. */
  readonly mtu: number;
  /** Bytes after the MTU: raknet-native pads its reply with zeros to the size of the request. */
  readonly fill: number;
  /** Anomalies that the decoder found. */
  readonly flags: readonly (
    /** The MTU is outside RakNet's bounds: below 400 or above 1,500. */
    "foreignMtu"
  )[];
}

/** Encodes a first reply. */
export function encodeOpenReply1(
  { guid, security, mtu, fill = 0 }: Omit<OpenReply1, "flags" | "fill"> & { fill?: number },
): Uint8Array<ArrayBuffer> {
  const secured = security === undefined
    ? [0]
    : [1, ...u32(security.cookie), ...security.publicKey ?? []];
  return concat([ID.reply1], MAGIC, u64(guid), secured, u16(mtu), new Uint8Array(fill));
}

/**
 * Decodes a first reply.
 *
 * @returns `undefined` for another message.
 * @throws Truncated when the message ends before the end of the MTU.
 *
 * @example A cookie
 * ```ts
 * import { raknet } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const security = { cookie: 0xcafebabe, publicKey: undefined };
 * const bytes = raknet.encodeOpenReply1({ guid: 7n, security, mtu: 1400 });
 * assertEquals([bytes.length, raknet.decodeOpenReply1(bytes)?.security], [32, security]);
 * ```
 */
export function decodeOpenReply1(bytes: Uint8Array): OpenReply1 | undefined {
  const reader = readerAfterMagic(bytes, ID.reply1);
  if (reader === undefined) return undefined;
  const guid = reader.u64("server GUID");
  const security = reader.u8("security") === 0 ? undefined : readSecurity(reader);
  const mtu = reader.u16("MTU");
  const flags: OpenReply1["flags"][number][] = mtu < MIN_MTU || mtu > MAX_MTU ? ["foreignMtu"] : [];
  return { guid, security, mtu, fill: reader.left, flags };
}

/**
 * Reads the cookie, and the key if one follows. The message does not state whether a key
 * follows. Without a key, only zeros follow the MTU.
 */
function readSecurity(reader: Reader): Security {
  const cookie = reader.u32("cookie");
  const afterMtu = reader.bytes.subarray(reader.offset + 2);
  const publicKey = afterMtu.some((byte) => byte !== 0)
    ? reader.take(KEY_SIZE, "public key")
    : undefined;
  return { cookie, publicKey };
}

/** The second request: it repeats the cookie and fixes the MTU. */
export interface OpenRequest2 {
  /** The cookie of the first reply; `undefined` when the server is not secured. */
  readonly cookie: number | undefined;
  /** The server's endpoint to which the client sent the request. */
  readonly address: Endpoint;
  /** The MTU of the connection, IPv4 and UDP headers included. */
  readonly mtu: number;
  /** The client's GUID, 64 bits. */
  readonly guid: bigint;
}

/**
 * Encodes a second request. With a cookie, the challenge byte is 0: no reply to a LIBCAT challenge.
 */
export function encodeOpenRequest2(
  { cookie, address, mtu, guid }: OpenRequest2,
): Uint8Array<ArrayBuffer> {
  const secured = cookie === undefined ? [] : [...u32(cookie), 0];
  return concat([ID.request2], MAGIC, secured, encodeAddress(address), u16(mtu), u64(guid));
}

/**
 * Decodes a second request, as a server does.
 *
 * @param secured Whether the message contains a cookie. The message itself does not state it.
 * Default: derived from the length.
 * @throws Truncated when the message ends before the end of the GUID.
 * @throws Malformed when the type of the address is unknown.
 */
export function decodeOpenRequest2(
  bytes: Uint8Array,
  secured?: boolean,
): OpenRequest2 | undefined {
  const reader = readerAfterMagic(bytes, ID.request2);
  if (reader === undefined) return undefined;
  let cookie: number | undefined;
  if (secured ?? holdsCookie(bytes, reader.offset)) {
    cookie = reader.u32("cookie");
    reader.u8("challenge"); // replies to LIBCAT's challenge are not supported
  }
  const address = readAddress(reader, "server address");
  return { cookie, address, mtu: reader.u16("MTU"), guid: reader.u64("client GUID") };
}

/**
 * Whether a cookie is at an offset. If the bytes could also be an address, the bytes after them and
 * the length decide.
 */
function holdsCookie(bytes: Uint8Array, at: number): boolean {
  if (addressSize(bytes[at]) === undefined) return true;
  const type = bytes[at + COOKIE_SIZE];
  // addresses of type 0 are rare, and zero bytes are common
  const size = type === 0 ? undefined : addressSize(type);
  return size !== undefined && bytes.length === REQUEST_2_SIZE + COOKIE_SIZE + size;
}

/** The second reply: the server has opened the connection. */
export interface OpenReply2 {
  /** The server's GUID, 64 bits. */
  readonly guid: bigint;
  /** The client's endpoint as the server sees it. */
  readonly address: Endpoint;
  /** The MTU of the connection, IPv4 and UDP headers included. */
  readonly mtu: number;
  /** Whether LIBCAT encrypts the connection; never in Minecraft. */
  readonly encrypted: boolean;
}

/** Encodes a second reply. */
export function encodeOpenReply2(
  { guid, address, mtu, encrypted }: OpenReply2,
): Uint8Array<ArrayBuffer> {
  const end = [...u16(mtu), encrypted ? 1 : 0];
  return concat([ID.reply2], MAGIC, u64(guid), encodeAddress(address), end);
}

/**
 * Decodes a second reply. Bytes after it are ignored.
 *
 * @returns `undefined` for another message.
 * @throws Truncated when the message ends before the security byte.
 * @throws Malformed when the type of the address is unknown.
 */
export function decodeOpenReply2(bytes: Uint8Array): OpenReply2 | undefined {
  const reader = readerAfterMagic(bytes, ID.reply2);
  if (reader === undefined) return undefined;
  const guid = reader.u64("server GUID");
  const address = readAddress(reader, "client address");
  return { guid, address, mtu: reader.u16("MTU"), encrypted: reader.u8("security") !== 0 };
}

/**
 * A reader positioned after the magic of a message with this id; `undefined` for another message.
 */
function readerAfterMagic(bytes: Uint8Array, id: number): Reader | undefined {
  if (bytes[0] !== id) return undefined;
  const reader = new Reader(bytes, 1);
  return skipMagic(reader) ? reader : undefined;
}
