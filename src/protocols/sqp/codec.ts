/**
 * SQP, the Server Query Protocol of Unity's game server hosting: challenges, queries and packets.
 *
 * All integers are big endian; a string is a length of one byte and as many bytes of UTF-8.
 *
 *     challenge  00  challenge 4                  its request has challenge 0: both are 5 bytes
 *     query      01  challenge 4  version 2 (1)  chunks 1 (bits)
 *     packet     01  challenge 4  version 2      current 1  last 1  length 2  (length 4  chunk)...
 *                bits, in the order of the chunks: 01 ServerInfo, 02 ServerRules, 04 PlayerInfo,
 *                08 TeamInfo, 10 Metrics
 *
 * A packet does not state which chunks it contains: they are the chunks that the query requested.
 * See chunks.ts for the chunks. Unity's page describes replies of one packet, but the header has
 * packet numbers.
 *
 * A reply of any version is decoded, as in go-svrquery's client. FPSSample and DOTSSample leave
 * their version at 0, and a later version may add fields after the known ones.
 *
 * Sources: Unity's "Server Query Protocol" page; go-svrquery 2024-12 (lib/svrquery/protocol/sqp,
 * lib/svrsample/protocol/sqp); Unity-Technologies/FPSSample (SQPServer).
 *
 * @module
 */
import { concat, Malformed, Reader, Truncated, u16, u32 } from "../../core/bytes.ts";

const CHALLENGE = 0x00;
const QUERY = 0x01;
const CHALLENGE_SIZE = 5;
/** Size of a packet before its chunks, bytes. */
const HEADER = 11;
/** The version of queries, the only one that is documented. */
const VERSION = 1;
/** Maximum number of packets of one reply. */
const MAX_PACKETS = 16;
/** Maximum number of bytes of chunks in the packets of one reply. */
const MAX_BYTES = 65_536;

/** The bit of each chunk in a query. Replies contain chunks in this order. */
export const CHUNKS = {
  info: 0x01,
  rules: 0x02,
  players: 0x04,
  teams: 0x08,
  metrics: 0x10,
} as const;

/** The name of a chunk. */
export type ChunkName = keyof typeof CHUNKS;

/** A request of SQP, as a server decodes it. */
export type SqpRequest =
  | { readonly type: "challenge" }
  | {
    readonly type: "query";
    /** The challenge that the server issued. */
    readonly challenge: number;
    /** The client's protocol version. */
    readonly version: number;
    /** Bits of the requested chunks: see {@linkcode CHUNKS}. */
    readonly chunks: number;
  };

/** Encodes the 5-byte request for a challenge. */
export function encodeChallengeRequest(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(CHALLENGE_SIZE);
}

/** Encodes the 8-byte query for chunks. */
export function encodeQuery(
  { challenge, version = VERSION, chunks }: {
    readonly challenge: number;
    readonly version?: number;
    readonly chunks: number;
  },
): Uint8Array<ArrayBuffer> {
  return concat([QUERY], u32(challenge), u16(version), [chunks]);
}

/**
 * Decodes a request, as a server does. Bytes after it are ignored, as in go-svrquery's sample
 * server.
 *
 * @returns `undefined` for another message.
 * @throws Truncated when the message ends inside a field.
 */
export function decodeSqpRequest(bytes: Uint8Array): SqpRequest | undefined {
  const [type] = bytes;
  if (type !== CHALLENGE && type !== QUERY) return undefined;
  const reader = new Reader(bytes, 1);
  const challenge = reader.u32("challenge");
  if (type === CHALLENGE) return challenge === 0 ? { type: "challenge" } : undefined;
  return { type: "query", challenge, version: reader.u16("version"), chunks: reader.u8("chunks") };
}

/** Encodes a server's reply to a request for a challenge. */
export function encodeSqpChallenge(challenge: number): Uint8Array<ArrayBuffer> {
  return concat([CHALLENGE], u32(challenge));
}

/**
 * Decodes a server's reply to a request for a challenge.
 *
 * @returns The challenge; `undefined` for another message. A stat of the Query protocol has the
 * same first byte, and is longer.
 * @throws Truncated when the message ends inside the challenge.
 * @throws Malformed when the message is an echo of the request.
 *
 * @example
 * ```ts
 * import { sqp } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * assertEquals(sqp.decodeSqpChallenge(Uint8Array.fromHex("0080902348")), 0x80902348);
 * ```
 */
export function decodeSqpChallenge(bytes: Uint8Array): number | undefined {
  if (bytes[0] !== CHALLENGE || bytes.length > CHALLENGE_SIZE) return undefined;
  const challenge = new Reader(bytes, 1).u32("challenge");
  // A genuine challenge of 0 is rejected too; one challenge in 2^32 is 0.
  if (challenge === 0) throw new Malformed("an echo of the request for a challenge", 1);
  return challenge;
}

/** Whether a datagram has the form of a challenge or a packet, broken ones included. */
export function hasReplyForm({ 0: type, length }: Uint8Array): boolean {
  return type === QUERY || type === CHALLENGE && length <= CHALLENGE_SIZE;
}

/** A packet of a reply to a query. */
export interface SqpPacket {
  /** The challenge of the query. */
  readonly challenge: number;
  /** The server's protocol version. */
  readonly version: number;
  /** The packet's number, from 0. */
  readonly current: number;
  /** The number of the reply's last packet. */
  readonly last: number;
  /** The packet's part of the chunks. */
  readonly body: Uint8Array;
  /** Anomalies that the decoder found. */
  readonly flags: readonly (
    /** The packet is shorter than its length field. */
    | "lengthMismatch"
    /** Bytes follow the end of the packet; they are ignored. */
    | "trailingBytes"
  )[];
}

/** Encodes a packet of a reply. */
export function encodeSqpPacket(
  { challenge, version, current, last, body }: Omit<SqpPacket, "flags">,
): Uint8Array<ArrayBuffer> {
  return concat([QUERY], u32(challenge), u16(version), [current, last], u16(body.length), body);
}

/**
 * Decodes a packet.
 *
 * @param challenge The challenge to accept. Default: any challenge.
 * @returns `undefined` for another message or another challenge.
 * @throws Truncated when the message ends inside the header.
 * @throws Malformed for a packet number above the last one, and for too many packets.
 */
export function decodeSqpPacket(bytes: Uint8Array, challenge?: number): SqpPacket | undefined {
  if (bytes[0] !== QUERY) return undefined;
  if (bytes.length < HEADER) throw new Truncated("packet header", 0, HEADER, bytes.length);
  const reader = new Reader(bytes, 1);
  const found = reader.u32("challenge");
  if (challenge !== undefined && found !== challenge) return undefined;
  const version = reader.u16("version");
  const [current, last] = [reader.u8("packet"), reader.u8("last packet")];
  if (current > last) throw new Malformed(`packet ${current} after the last, ${last}`, 7);
  if (last >= MAX_PACKETS) throw new Malformed(`more than ${MAX_PACKETS} packets`, 8);
  const length = reader.u16("length");
  const flags: SqpPacket["flags"][number][] = length > reader.left
    ? ["lengthMismatch"]
    : length < reader.left
    ? ["trailingBytes"]
    : [];
  const body = reader.take(Math.min(length, reader.left), "chunks");
  return { challenge: found, version, current, last, body, flags };
}

/**
 * Adds a packet to the earlier packets of the same reply. A duplicate is not added.
 *
 * @returns Whether the reply is complete.
 * @throws Malformed when the packet gives another number of packets, or the reply is too large.
 */
export function addPacket(packets: SqpPacket[], packet: SqpPacket): boolean {
  if (packets.some(({ last }) => last !== packet.last)) {
    throw new Malformed(`a packet of ${packet.last + 1} among those of ${packets[0].last + 1}`, 8);
  }
  if (packets.some(({ current }) => current === packet.current)) return false;
  const size = packets.reduce((sum, { body }) => sum + body.length, packet.body.length);
  if (size > MAX_BYTES) throw new Malformed(`a reply of more than ${MAX_BYTES} bytes`, 9);
  packets.push(packet);
  return packets.length === packet.last + 1;
}

/** The chunks of a reply, joined from its packets. */
export interface JoinedPackets {
  /** A reader at the first chunk. Offsets are those in a single packet with all chunks. */
  readonly reader: Reader;
  /**
   * Whether the end of the reply is missing: a packet is missing, or shorter than its length field.
   */
  readonly cut: boolean;
}

/**
 * Joins the packets of a reply, in order of their numbers, up to the first missing one.
 *
 * @param packets The packets in any order: at least one, each number once.
 */
export function joinPackets(packets: readonly SqpPacket[]): JoinedPackets {
  const parts: ArrayLike<number>[] = [new Uint8Array(HEADER)];
  let cut = false;
  for (let number = 0; number <= packets[0].last && !cut; number++) {
    const packet = packets.find(({ current }) => current === number);
    if (packet !== undefined) parts.push(packet.body);
    cut = packet?.flags.includes("lengthMismatch") ?? true;
  }
  return { reader: new Reader(concat(...parts), HEADER), cut };
}

/**
 * Encodes the packets of a reply.
 *
 * @param size Maximum number of bytes of chunks in each packet. Default: 65,535.
 * @param version The protocol version in the packets. Default: 1.
 */
export function encodePackets(
  challenge: number,
  chunks: Uint8Array,
  size = 65_535,
  version: number = VERSION,
): Uint8Array<ArrayBuffer>[] {
  const last = Math.max(0, Math.ceil(chunks.length / size) - 1);
  return Array.from({ length: last + 1 }, (_, current) => {
    const body = chunks.subarray(current * size, (current + 1) * size);
    return encodeSqpPacket({ challenge, version, current, last, body });
  });
}
