/**
 * Opening a RakNet connection: two requests and their replies, still outside of the connection.
 *
 * All integers are big endian. M is the 16-byte magic; an address has 7 or 29 bytes (wire_address.ts).
 *
 *     request 1   05  M 16  RakNet protocol 1  zeros, up to the size that is tried      18 + n
 *     reply 1     06  M 16  server GUID 8  security 1  MTU 2  [zeros]                   28
 *     ... secured 06  M 16  server GUID 8  01  cookie 4  [key 64]  MTU 2  [zeros]       32, 96
 *     request 2   07  M 16  server's address  MTU 2  client GUID 8                      34, 56
 *     ... secured 07  M 16  cookie 4  wrote challenge 1  address  MTU 2  client GUID 8  39, 61
 *     reply 2     08  M 16  server GUID 8  client's address  MTU 2  security 1          35, 57
 *
 * Protocol 5 (2012) and those of today (6 to 11) differ in the number alone. The page of 2012 counts
 * 39 bytes for request 2 and 30 for reply 2, which are 34 and 35: it lacks the port, the MTU and the
 * security byte. An MTU counts the headers of IPv4 and UDP, 28 bytes, along with the datagram.
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

/** What an MTU counts besides the datagram: headers of IPv4 and UDP. */
export const MTU_HEADERS = 28;
/** The MTUs that RakNet agrees to; go-raknet takes replies with others for those of a filter. */
const LEAST_MTU = 400;
const MOST_MTU = 1500;
/** LIBCAT's public key. */
const KEY_SIZE = 64;
/** Bytes of a request 2 besides the address, without and with a cookie. */
const REQUEST_2_SIZE = 27;
const COOKIE_SIZE = 5;

/** The first request: it tries a protocol and a size. */
export interface OpenRequest1 {
  /** The RakNet protocol. */
  readonly protocol: number;
  /** How many bytes follow it: the datagram has 18 more. */
  readonly padding: number;
}

/** The bytes of a first request. */
export function encodeOpenRequest1(
  { protocol, padding }: OpenRequest1,
): Uint8Array<ArrayBuffer> {
  return concat([ID.request1], MAGIC, [protocol], new Uint8Array(padding));
}

/**
 * Reads a first request, as a server does.
 *
 * @throws Truncated when it ends before the protocol.
 */
export function decodeOpenRequest1(bytes: Uint8Array): OpenRequest1 | undefined {
  const reader = readerAfterMagic(bytes, ID.request1);
  if (reader === undefined) return undefined;
  return { protocol: reader.u8("RakNet protocol"), padding: reader.left };
}

/** What a secured server wants to see again. */
export interface Security {
  /** 32 bits, to be shown in the second request. */
  readonly cookie: number;
  /** RakNet's own security, LIBCAT, sends its key along; Minecraft's servers have none. */
  readonly publicKey: Uint8Array | undefined;
}

/** What was odd about a first reply. */
export type OpenReplyFlag =
  /** An MTU that no RakNet has: below 400, or above 1,500. */
  "foreignMtu";

/** The first reply. */
export interface OpenReply1 {
  /** The server. */
  readonly guid: bigint;
  /** `undefined` when it is not secured. */
  readonly security: Security | undefined;
  /** The MTU. */
  readonly mtu: number;
  /** How many bytes follow: raknet-native fills up with zeros, to the size of the request. */
  readonly fill: number;
  /** What was odd. */
  readonly flags: readonly OpenReplyFlag[];
}

/** The bytes of a first reply. */
export function encodeOpenReply1(
  { guid, security, mtu, fill = 0 }: Omit<OpenReply1, "flags" | "fill"> & { fill?: number },
): Uint8Array<ArrayBuffer> {
  const secured = security === undefined
    ? [0]
    : [1, ...u32(security.cookie), ...security.publicKey ?? []];
  return concat([ID.reply1], MAGIC, u64(guid), secured, u16(mtu), new Uint8Array(fill));
}

/**
 * Reads a first reply.
 *
 * @returns `undefined` when it is another message.
 * @throws Truncated when it ends before the MTU does.
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
  const flags: OpenReplyFlag[] = mtu < LEAST_MTU || mtu > MOST_MTU ? ["foreignMtu"] : [];
  return { guid, security, mtu, fill: reader.left, flags };
}

/** Nothing says whether a key follows the cookie; but behind a MTU there are zeros, or nothing. */
function readSecurity(reader: Reader): Security {
  const cookie = reader.u32("cookie");
  const behindMtu = reader.bytes.subarray(reader.offset + 2);
  const publicKey = behindMtu.some((byte) => byte !== 0)
    ? reader.take(KEY_SIZE, "public key")
    : undefined;
  return { cookie, publicKey };
}

/** The second request: it settles the MTU, and shows the cookie. */
export interface OpenRequest2 {
  /** The cookie; `undefined` when the server is not secured. */
  readonly cookie: number | undefined;
  /** Where the client believes the server to be. */
  readonly address: Endpoint;
  /** The MTU. */
  readonly mtu: number;
  /** The client. */
  readonly guid: bigint;
}

/** The bytes of a second request; behind the cookie it says that it answers no challenge. */
export function encodeOpenRequest2(
  { cookie, address, mtu, guid }: OpenRequest2,
): Uint8Array<ArrayBuffer> {
  const secured = cookie === undefined ? [] : [...u32(cookie), 0];
  return concat([ID.request2], MAGIC, secured, encodeAddress(address), u16(mtu), u64(guid));
}

/**
 * Reads a second request, as a server does.
 *
 * @param secured Whether it holds a cookie, which the server knows, and the message does not say.
 * Default: as its length has it.
 * @throws Truncated when it ends before the GUID does.
 * @throws Malformed when the address is of no known type.
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
    reader.u8("challenge"); // an answer to LIBCAT's challenge is not read
  }
  const address = readAddress(reader, "server address");
  return { cookie, address, mtu: reader.u16("MTU"), guid: reader.u64("client GUID") };
}

/** A cookie may begin as an address does: then what would follow it, and the whole length, decide. */
function holdsCookie(bytes: Uint8Array, at: number): boolean {
  if (addressSize(bytes[at]) === undefined) return true;
  const type = bytes[at + COOKIE_SIZE];
  const size = type === 0 ? undefined : addressSize(type); // 0 is rare, and zeros are not
  return size !== undefined && bytes.length === REQUEST_2_SIZE + COOKIE_SIZE + size;
}

/** The second reply: the door is open. */
export interface OpenReply2 {
  /** The server. */
  readonly guid: bigint;
  /** Where the server sees the client. */
  readonly address: Endpoint;
  /** The MTU that holds. */
  readonly mtu: number;
  /** Whether what follows is encrypted by LIBCAT: never in Minecraft. */
  readonly encrypted: boolean;
}

/** The bytes of a second reply. */
export function encodeOpenReply2(
  { guid, address, mtu, encrypted }: OpenReply2,
): Uint8Array<ArrayBuffer> {
  const end = [...u16(mtu), encrypted ? 1 : 0];
  return concat([ID.reply2], MAGIC, u64(guid), encodeAddress(address), end);
}

/**
 * Reads a second reply. What follows it is ignored.
 *
 * @returns `undefined` when it is another message.
 * @throws Truncated when it ends before the security byte.
 * @throws Malformed when the address is of no known type.
 */
export function decodeOpenReply2(bytes: Uint8Array): OpenReply2 | undefined {
  const reader = readerAfterMagic(bytes, ID.reply2);
  if (reader === undefined) return undefined;
  const guid = reader.u64("server GUID");
  const address = readAddress(reader, "client address");
  return { guid, address, mtu: reader.u16("MTU"), encrypted: reader.u8("security") !== 0 };
}

/** A reader behind the magic of a message with this id; `undefined` when it is another one. */
function readerAfterMagic(bytes: Uint8Array, id: number): Reader | undefined {
  if (bytes[0] !== id) return undefined;
  const reader = new Reader(bytes, 1);
  return skipMagic(reader) ? reader : undefined;
}
