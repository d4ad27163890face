/**
 * SQP, the Server Query Protocol of Unity's game server hosting: challenges, queries and packets.
 *
 * All integers are big endian; a string is a length of one byte and as many bytes of UTF-8.
 *
 *     challenge  00  challenge 4                  asked for with challenge 0: both are 5 bytes
 *     query      01  challenge 4  version 2 (1)  chunks 1 (bits)
 *     packet     01  challenge 4  version 2      current 1  last 1  length 2  (length 4  chunk)...
 *                bits, in the order of the chunks: 01 ServerInfo, 02 ServerRules, 04 PlayerInfo,
 *                08 TeamInfo, 10 Metrics
 *
 * Which chunks a packet holds is not written in it: they are those that were asked for. The chunks
 * are in chunks.ts. Unity's page says that there is one packet always; the numbers are there.
 *
 * A reply of any version is read, as go-svrquery's client does: FPSSample and DOTSSample never set
 * theirs, which leaves 0, and a later version may add fields behind those that are known.
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
/** What comes before the chunks of a packet. */
const HEADER = 11;
/** The version that is asked for, the only one with a description. */
const VERSION = 1;
/** Packets that an answer may come in; whoever listens takes no more than these for one answer. */
const MOST_PACKETS = 16;
/** Bytes that the packets of an answer may hold together. */
const MOST_BYTES = 65_536;

/** The chunks that can be asked for, and the bit of each; they come in this order. */
export const CHUNKS = {
  info: 0x01,
  rules: 0x02,
  players: 0x04,
  teams: 0x08,
  metrics: 0x10,
} as const;

/** The name of a chunk. */
export type ChunkName = keyof typeof CHUNKS;

/** A request, as a server reads it. */
export type SqpRequest =
  | { readonly type: "challenge" }
  | {
    readonly type: "query";
    /** The challenge that it shows. */
    readonly challenge: number;
    /** The version that it speaks. */
    readonly version: number;
    /** The chunks that it asks for, as bits. */
    readonly chunks: number;
  };

/** The 5 bytes that ask for a challenge. */
export function encodeChallengeRequest(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(CHALLENGE_SIZE);
}

/** The 8 bytes that ask for chunks. */
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
 * Reads a request. As in go-svrquery's sample server, bytes behind it are not read.
 *
 * @throws Truncated when it ends before its time.
 */
export function decodeSqpRequest(bytes: Uint8Array): SqpRequest | undefined {
  const [type] = bytes;
  if (type !== CHALLENGE && type !== QUERY) return undefined;
  const reader = new Reader(bytes, 1);
  const challenge = reader.u32("challenge");
  if (type === CHALLENGE) return challenge === 0 ? { type: "challenge" } : undefined;
  return { type: "query", challenge, version: reader.u16("version"), chunks: reader.u8("chunks") };
}

/** The bytes that give a challenge out. */
export function encodeSqpChallenge(challenge: number): Uint8Array<ArrayBuffer> {
  return concat([CHALLENGE], u32(challenge));
}

/**
 * Reads a challenge that a server gives out.
 *
 * @returns `undefined` for another message: a stat of Query starts alike, and is longer.
 * @throws Truncated when it ends inside the challenge.
 * @throws Malformed when it is the request itself: an echo.
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
  // A server that draws 0 is refused too, once in four thousand million times.
  if (challenge === 0) throw new Malformed("an echo of the request for a challenge", 1);
  return challenge;
}

/** Whether a datagram may be a challenge or a packet, broken ones included. */
export function hasReplyForm({ 0: type, length }: Uint8Array): boolean {
  return type === QUERY || type === CHALLENGE && length <= CHALLENGE_SIZE;
}

/** What was odd about a packet. */
export type SqpPacketFlag =
  /** It says that it is longer than it is. */
  | "lengthMismatch"
  /** Bytes follow its end; they are not read. */
  | "trailingBytes";

/** A packet of an answer. */
export interface SqpPacket {
  /** The challenge of the query that it answers. */
  readonly challenge: number;
  /** The version that its server writes. */
  readonly version: number;
  /** Its number, from 0. */
  readonly current: number;
  /** The number of the last one. */
  readonly last: number;
  /** Its part of the chunks. */
  readonly body: Uint8Array;
  /** What was odd. */
  readonly flags: readonly SqpPacketFlag[];
}

/** The bytes of a packet. */
export function encodeSqpPacket(
  { challenge, version, current, last, body }: Omit<SqpPacket, "flags">,
): Uint8Array<ArrayBuffer> {
  return concat([QUERY], u32(challenge), u16(version), [current, last], u16(body.length), body);
}

/**
 * Reads a packet.
 *
 * @param challenge When given, an answer to another challenge is another message.
 * @throws Truncated when it ends inside the header.
 * @throws Malformed for numbers that cannot be, and for too many packets.
 */
export function decodeSqpPacket(bytes: Uint8Array, challenge?: number): SqpPacket | undefined {
  if (bytes[0] !== QUERY) return undefined;
  if (bytes.length < HEADER) throw new Truncated("packet header", 0, HEADER, bytes.length);
  const reader = new Reader(bytes, 1);
  const found = reader.u32("challenge");
  if (challenge !== undefined && found !== challenge) return undefined;
  const version = reader.u16("version");
  const [current, last] = [reader.u8("packet"), reader.u8("last packet")];
  if (current > last) throw new Malformed(`packet ${current} behind the last, ${last}`, 7);
  if (last >= MOST_PACKETS) throw new Malformed(`more than ${MOST_PACKETS} packets`, 8);
  const length = reader.u16("length");
  const flags: SqpPacketFlag[] = length > reader.left
    ? ["lengthMismatch"]
    : length < reader.left
    ? ["trailingBytes"]
    : [];
  const body = reader.take(Math.min(length, reader.left), "chunks");
  return { challenge: found, version, current, last, body, flags };
}

/**
 * Adds a packet to those of the same answer that are there.
 *
 * @returns Whether the answer is whole now. What came twice is not taken.
 * @throws Malformed when it says another number of packets than they do, or is too much.
 */
export function addPacket(packets: SqpPacket[], packet: SqpPacket): boolean {
  if (packets.some(({ last }) => last !== packet.last)) {
    throw new Malformed(`a packet of ${packet.last + 1} among those of ${packets[0].last + 1}`, 8);
  }
  if (packets.some(({ current }) => current === packet.current)) return false;
  const size = packets.reduce((sum, { body }) => sum + body.length, packet.body.length);
  if (size > MOST_BYTES) throw new Malformed(`an answer of more than ${MOST_BYTES} bytes`, 9);
  packets.push(packet);
  return packets.length === packet.last + 1;
}

/** The chunks of an answer, one after the other. */
export interface JoinedPackets {
  /** Reads them; offsets count as in one packet that holds all. */
  readonly reader: Reader;
  /** Whether the end is missing: a packet did not come, or came shorter than it says. */
  readonly cut: boolean;
}

/**
 * Puts the packets of an answer together, whatever their order, as far as there is no gap.
 *
 * @param packets At least one, each number once.
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
 * The bytes of an answer's packets.
 *
 * @param size The most bytes of the chunks in each. Default: 65,535.
 * @param version The version to write. Default: 1.
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
