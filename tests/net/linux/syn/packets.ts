/** Packets as they arrive in reply to SYN packets. */

/** An IPv4 header without options, and what follows. */
export function ipv4(
  protocol: number,
  from: number,
  to: number,
  content: Uint8Array,
  change: (header: DataView) => void = () => {},
): Uint8Array<ArrayBuffer> {
  const packet = new Uint8Array(20 + content.length);
  const view = new DataView(packet.buffer);
  view.setUint8(0, 0x45);
  view.setUint16(2, packet.length);
  view.setUint8(8, 64);
  view.setUint8(9, protocol);
  view.setUint32(12, from);
  view.setUint32(16, to);
  packet.set(content, 20);
  change(view);
  return packet;
}

/** The values of a TCP header. */
export interface TcpHeader {
  readonly fromPort: number;
  readonly toPort: number;
  readonly flags: number;
  readonly sequence?: number;
  readonly acknowledgement?: number;
  /** The options, a multiple of four bytes. Default: none. */
  readonly options?: string;
}

/** A TCP header. */
export function tcp(header: TcpHeader): Uint8Array<ArrayBuffer> {
  const { fromPort, toPort, flags, sequence = 0, acknowledgement = 0, options = "" } = header;
  const packet = new Uint8Array(20 + options.length / 2);
  const view = new DataView(packet.buffer);
  view.setUint16(0, fromPort);
  view.setUint16(2, toPort);
  view.setUint32(4, sequence);
  view.setUint32(8, acknowledgement);
  view.setUint8(12, packet.length / 4 << 4);
  view.setUint8(13, flags);
  packet.set(Uint8Array.fromHex(options), 20);
  return packet;
}

/** An ICMP message with the start of a packet. */
export function icmp(type: number, quoted: Uint8Array): Uint8Array<ArrayBuffer> {
  const message = new Uint8Array(8 + quoted.length);
  message[0] = type;
  message[1] = 10;
  message.set(quoted, 8);
  return message;
}

export const OURS = 0x0a4f0001;
export const PEER = 0xf0600107;
export const OUR_PORT = 61_000;
export const SYN = 2;
export const RST = 4;
export const PSH = 8;
export const ACK = 16;
const ENDS = { fromPort: 25565, toPort: OUR_PORT };

/** The options of a SYN-ACK of Linux, whose TSecr is 0xfedcba98. */
const OPTIONS = "020405b4" + "0402080a" + "00001111" + "fedcba98" + "01030307";
export const SYN_ACK = ipv4(
  6,
  PEER,
  OURS,
  tcp({ ...ENDS, flags: SYN | ACK, acknowledgement: 0x8000_0001, options: OPTIONS }),
);
export const RESET = ipv4(
  6,
  PEER,
  OURS,
  tcp({ ...ENDS, flags: RST | ACK, acknowledgement: 0 }),
);
/** Our SYN, of which a router at 9.9.9.9 quotes the IPv4 header and eight bytes. */
const OUR_SYN = ipv4(
  6,
  OURS,
  PEER,
  tcp({ fromPort: OUR_PORT, toPort: 25565, flags: SYN, sequence: 0xdead_beef }),
);
export const UNREACHABLE = ipv4(1, 0x09090909, OURS, icmp(3, OUR_SYN.subarray(0, 28)));

/** An ICMP message that quotes a changed SYN. */
export function quoting(change: (syn: DataView) => void, type = 3): Uint8Array<ArrayBuffer> {
  const quoted = OUR_SYN.slice(0, 28);
  change(new DataView(quoted.buffer));
  return ipv4(1, 0x09090909, OURS, icmp(type, quoted));
}

/** A TCP packet from the peer. */
export function fromPeer(
  header: Partial<TcpHeader>,
  change?: (ip: DataView) => void,
  ends: { from?: number; to?: number } = {},
): Uint8Array<ArrayBuffer> {
  const content = tcp({ ...ENDS, flags: SYN | ACK, ...header });
  return ipv4(6, ends.from ?? PEER, ends.to ?? OURS, content, change);
}
