/**
 * Acknowledgements of an open RakNet connection: which datagrams arrived (ACK) and which are
 * missing (NAK). The Pocket Minecraft protocol page of 2012 calls an ACK "unknown 0xC0".
 *
 *     c0 ACK | a0 NAK   record count 2 (BE)   record, record, ...
 *     record   01  number 3 (LE)                                       one datagram
 *              00  first 3 (LE)  last 3 (LE)                           all from one to another
 *
 * RakNet can add a float to an ACK after its first byte (e0). No software was seen to do so, and
 * this decoder does not read that form.
 *
 * Sources: RakNet 4.081 (ReliabilityLayer.cpp, DS_RangeList.h), RakLib
 * (protocol/AcknowledgePacket.php), which has the same limits of 512 and 4,096.
 *
 * @module
 */
import { concat, Malformed, Reader, readU24le, u16, u24le } from "../../core/bytes.ts";

const IDS = { ack: 0xc0, nak: 0xa0 } as const;
/** The bits that distinguish ACKs, NAKs and frame sets. */
const KIND = 0xe0;

/** Greatest difference between the two ends of a range. */
const WIDEST = 512;
/** Maximum number of datagrams in all ranges of a message together. */
const MAX_DATAGRAMS = 4096;

/** A range of datagrams with consecutive sequence numbers. */
export interface SequenceRange {
  /** Sequence number of the first datagram. */
  readonly first: number;
  /** Sequence number of the last datagram, not below `first`. */
  readonly last: number;
}

/** A message that acknowledges datagrams (ACK) or reports them missing (NAK). */
export interface Acknowledgement {
  /** `ack`: the datagrams arrived; `nak`: they are missing. */
  readonly kind: "ack" | "nak";
  /** The datagrams, in the order of the message. */
  readonly ranges: readonly SequenceRange[];
}

/** Encodes an ACK or NAK. */
export function encodeAcknowledgement({ kind, ranges }: Acknowledgement): Uint8Array<ArrayBuffer> {
  const records = ranges.map(({ first, last }) =>
    first === last ? [1, ...u24le(first)] : [0, ...u24le(first), ...u24le(last)]
  );
  return concat([IDS[kind]], u16(ranges.length), ...records);
}

/**
 * Decodes an ACK or NAK.
 *
 * @returns `undefined` for another message.
 * @throws Truncated when the message ends before the end of its last record.
 * @throws Malformed when a range ends before it starts or exceeds a limit.
 *
 * @example
 * ```ts
 * import { raknet } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const ranges = [{ first: 1, last: 5 }, { first: 9, last: 9 }];
 * const bytes = raknet.encodeAcknowledgement({ kind: "ack", ranges });
 * assertEquals(bytes.toHex(), "c000020001000005000001090000");
 * assertEquals(raknet.decodeAcknowledgement(bytes), { kind: "ack", ranges });
 * ```
 */
export function decodeAcknowledgement(bytes: Uint8Array): Acknowledgement | undefined {
  const id = bytes[0] & KIND;
  if (id !== IDS.ack && id !== IDS.nak) return undefined;
  const reader = new Reader(bytes, 1);
  const count = reader.u16("record count");
  const ranges: SequenceRange[] = [];
  let left = MAX_DATAGRAMS;
  while (ranges.length < count) {
    const at = reader.offset;
    const range = readRange(reader);
    left -= range.last - range.first + 1;
    if (left < 0) throw new Malformed(`more than ${MAX_DATAGRAMS} datagrams`, at);
    ranges.push(range);
  }
  return { kind: id === IDS.ack ? "ack" : "nak", ranges };
}

function readRange(reader: Reader): SequenceRange {
  const at = reader.offset;
  const single = reader.u8("record") !== 0;
  const first = readU24le(reader, "first number");
  const last = single ? first : readU24le(reader, "last number");
  if (last >= first && last - first <= WIDEST) return { first, last };
  throw new Malformed(`range from ${first} to ${last}`, at);
}
