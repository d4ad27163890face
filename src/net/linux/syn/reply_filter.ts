/**
 * The packet filter of replies to SYN packets, as a program of the classic Berkeley Packet Filter. Offsets
 * count from the IPv4 header. A program may read only inside of the packet; it drops packets that are
 * too short.
 *
 * An instruction, sizes and offsets in bytes: 8 code 0 (2) if true 2 (1) if false 3 (1) operand 4 (4)
 *
 * @module
 */

/** Codes of instructions: load a word, half word or byte at an offset, or at X plus an offset. */
const LOAD_WORD = 0x20;
const LOAD_HALF = 0x28;
const LOAD_BYTE = 0x30;
const LOAD_WORD_AT_X = 0x40;
const LOAD_HALF_AT_X = 0x48;
const LOAD_BYTE_AT_X = 0x50;
/** X becomes the length of the IPv4 header. */
const LOAD_X_HEADER = 0xb1;
const AND = 0x54;
const JUMP_EQUAL = 0x15;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;
const INSTRUCTION = 8;

/** Offsets in the IPv4 header. */
const FRAGMENT = 6;
const PROTOCOL = 9;
const DESTINATION = 16;
/** Offsets in the TCP header. */
const TO_PORT = 2;
const FLAGS = 13;
/** Offsets from the start of an ICMP message: its type, and in the quoted packet without IP options. */
const ICMP_TYPE = 0;
const QUOTED = 8;
const QUOTED_PROTOCOL = QUOTED + 9;
const QUOTED_SOURCE = QUOTED + 12;
const QUOTED_PORT = QUOTED + 20;

const ICMP = 1;
const TCP = 6;
const UNREACHABLE = 3;
const HEADER_OF_5_WORDS = 0x45;
/** Bits of the fragment field: more fragments follow, and the offset. */
const IS_FRAGMENT = 0x3fff;
const SYN = 2;
const RST = 4;
const ACK = 16;

/** Bytes of a packet that are kept: the longest IPv4 and TCP headers. */
export const KEPT = 120;

/** An instruction, or a label. A jump continues at a label, or at the next instruction. */
type Line =
  | string
  | readonly [code: number, operand: number, ifTrue?: string, ifFalse?: string];

/**
 * The filter of replies to SYN packets of one local endpoint: SYN-ACKs, RSTs with ACK, and ICMP messages
 * "destination unreachable" that quote such a SYN. Fragments are dropped.
 *
 * @param address The local IPv4 address.
 * @param port The local port.
 * @returns The instructions.
 */
export function replyFilter(address: number, port: number): Uint8Array<ArrayBuffer> {
  const isEqual = (value: number): Line => [JUMP_EQUAL, value, undefined, "drop"];
  return assemble([
    [LOAD_HALF, FRAGMENT],
    [JUMP_ANY_BIT, IS_FRAGMENT, "drop"],
    [LOAD_WORD, DESTINATION],
    isEqual(address),
    [LOAD_X_HEADER, 0],
    [LOAD_BYTE, PROTOCOL],
    [JUMP_EQUAL, TCP, undefined, "icmp"],
    [LOAD_HALF_AT_X, TO_PORT],
    isEqual(port),
    [LOAD_BYTE_AT_X, FLAGS],
    [AND, SYN | RST | ACK],
    [JUMP_EQUAL, SYN | ACK, "keep"],
    [AND, RST | ACK],
    [JUMP_EQUAL, RST | ACK, "keep", "drop"],
    "icmp",
    isEqual(ICMP),
    [LOAD_BYTE_AT_X, ICMP_TYPE],
    isEqual(UNREACHABLE),
    [LOAD_BYTE_AT_X, QUOTED],
    isEqual(HEADER_OF_5_WORDS),
    [LOAD_BYTE_AT_X, QUOTED_PROTOCOL],
    isEqual(TCP),
    [LOAD_WORD_AT_X, QUOTED_SOURCE],
    isEqual(address),
    [LOAD_HALF_AT_X, QUOTED_PORT],
    isEqual(port),
    "keep",
    [RETURN, KEPT],
    "drop",
    [RETURN, 0],
  ]);
}

/** Converts lines into instructions. */
function assemble(lines: readonly Line[]): Uint8Array<ArrayBuffer> {
  const instructions: Exclude<Line, string>[] = [];
  const labels = new Map<string, number>();
  for (const line of lines) {
    if (typeof line === "string") labels.set(line, instructions.length);
    else instructions.push(line);
  }
  const view = new DataView(new ArrayBuffer(INSTRUCTION * instructions.length));
  instructions.forEach(([code, operand, ifTrue, ifFalse], i) => {
    const skipped = (label?: string) => label === undefined ? 0 : labels.get(label)! - i - 1;
    view.setUint16(INSTRUCTION * i, code, true);
    view.setUint8(INSTRUCTION * i + 2, skipped(ifTrue));
    view.setUint8(INSTRUCTION * i + 3, skipped(ifFalse));
    view.setUint32(INSTRUCTION * i + 4, operand, true);
  });
  return new Uint8Array(view.buffer);
}
