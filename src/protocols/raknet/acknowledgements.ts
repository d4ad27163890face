/**
 * Receipts of an open RakNet connection: which datagrams came (ACK), and which did not (NAK). What
 * the page of 2012 calls "unknown 0xC0" is an ACK.
 *
 *     c0 ACK | a0 NAK   record count 2 (BE)   record, record, ...
 *     record   01  number 3 (LE)                                       one datagram
 *              00  first 3 (LE)  last 3 (LE)                           all from one to another
 *
 * RakNet can put a float behind an ACK's first byte (e0): nobody was seen to, and it is not read.
 *
 * Sources: RakNet 4.081 (ReliabilityLayer.cpp, DS_RangeList.h), RakLib
 * (protocol/AcknowledgePacket.php), which takes no more than 512 and 4,096 either.
 *
 * @module
 */
import { concat, Malformed, Reader, readU24le, u16, u24le } from "../../core/bytes.ts";

const IDS = { ack: 0xc0, nak: 0xa0 } as const;
/** The bits that tell them from each other, and from frame sets. */
const KIND = 0xe0;

/** How far the ends of a range may lie apart. */
const WIDEST = 512;
/** Datagrams in all ranges together, and so ranges. */
const MOST_DATAGRAMS = 4096;

/** Datagrams with consecutive numbers. */
export interface SequenceRange {
  /** The first number. */
  readonly first: number;
  /** The last one: the same, or more. */
  readonly last: number;
}

/** An ACK or a NAK. */
export interface Acknowledgement {
  /** Whether the datagrams came, or did not. */
  readonly kind: "ack" | "nak";
  /** Which ones, as they are listed. */
  readonly ranges: readonly SequenceRange[];
}

/** The bytes of a receipt. */
export function encodeAcknowledgement({ kind, ranges }: Acknowledgement): Uint8Array<ArrayBuffer> {
  const records = ranges.map(({ first, last }) =>
    first === last ? [1, ...u24le(first)] : [0, ...u24le(first), ...u24le(last)]
  );
  return concat([IDS[kind]], u16(ranges.length), ...records);
}

/**
 * Reads a receipt.
 *
 * @returns `undefined` when it is another message.
 * @throws Truncated when it ends before its last record does.
 * @throws Malformed when a range ends before it starts, or they hold more than a list may.
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
  let left = MOST_DATAGRAMS;
  while (ranges.length < count) {
    const at = reader.offset;
    const range = readRange(reader);
    left -= range.last - range.first + 1;
    if (left < 0) throw new Malformed(`more than ${MOST_DATAGRAMS} datagrams`, at);
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
