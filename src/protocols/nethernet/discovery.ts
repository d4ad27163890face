/**
 * NetherNet's LAN discovery, by which recent Bedrock clients find worlds: UDP port 7551. A client
 * broadcasts a request, and worlds send a response to the client.
 *
 * Packets are encrypted. The key is public: SHA-256 of 0xdeadbeef as eight bytes, little endian. The
 * encryption therefore keeps nothing secret; it only shows that the sender implements the protocol.
 *
 *     HMAC-SHA256(key, packet) 32   AES-256-ECB(key, packet, padded as PKCS#7) 16, 32...
 *
 * All integers are little endian. The plaintext of a packet:
 *
 *     packet     length 2  id 2  sender 8  zeros 8  body
 *     request    id 0, no body
 *     response   id 1, length 4  server data as hexadecimal text
 *     message    id 2, recipient 8  length 4  text
 *
 * The length counts the whole packet. Older software does not count the two bytes of the length
 * field itself, so readers ignore the length. Messages carry the signalling of connections.
 * blocksweep decodes them and never sends one.
 *
 * Source: df-mc/go-nethernet, discovery/packet*.go and discovery/crypto.go.
 *
 * @module
 */
import { bytesOfHex, concat, hasBytes, hexOf, Malformed, Reader } from "../../core/bytes.ts";
import { decodeLatin1, encodeLatin1 } from "../../core/text.ts";
import { nodeCrypto } from "../../core/node_modules.ts";

/** The UDP port on which worlds listen. */
export const DISCOVERY_PORT = 7551;

const REQUEST = 0;
const RESPONSE = 1;
const MESSAGE = 2;
const HEADER = 20;

/** The type of a packet with its body. */
export type PacketBody =
  | { readonly type: "request" }
  | {
    readonly type: "response";
    /** The server data: see {@linkcode decodeServerData}. */
    readonly data: Uint8Array;
  }
  | {
    readonly type: "message";
    /** The network id of the recipient. */
    readonly recipient: bigint;
    /** The text of the message, UTF-8. */
    readonly text: Uint8Array;
  };

/** A packet with its sender and anomalies. */
export type NethernetPacket = PacketBody & {
  /** The network id of the sender. */
  readonly sender: bigint;
  /** Anomalies that the decoder found. */
  readonly flags: readonly (
    /** The length field matches neither of the two known rules. */
    | "lengthMismatch"
    /** Bytes follow the packet; they are ignored. */
    | "trailingBytes"
  )[];
};

/** A packet to encode. */
export type NewPacket = PacketBody & { readonly sender: bigint };

/** Encodes a packet, without encryption. */
export function encodeNethernetPacket(packet: NewPacket): Uint8Array<ArrayBuffer> {
  const body = encodeBody(packet);
  const bytes = concat(new Uint8Array(HEADER), body);
  const view = new DataView(bytes.buffer);
  view.setUint16(0, bytes.length, true);
  view.setUint16(2, { request: REQUEST, response: RESPONSE, message: MESSAGE }[packet.type], true);
  view.setBigUint64(4, packet.sender, true);
  return bytes;
}

function encodeBody(packet: NewPacket): Uint8Array {
  if (packet.type === "request") return new Uint8Array();
  const text = packet.type === "response" ? encodeLatin1(hexOf(packet.data)) : packet.text;
  const size = packet.type === "response" ? 4 : 12;
  const head = new DataView(new ArrayBuffer(size));
  if (packet.type === "message") head.setBigUint64(0, packet.recipient, true);
  head.setUint32(size - 4, text.length, true);
  return concat(new Uint8Array(head.buffer), text);
}

/**
 * Decodes a decrypted packet.
 *
 * @returns `undefined` for a packet with an unknown id.
 * @throws Truncated when the packet ends inside a field.
 * @throws Malformed when the data of a response is not hexadecimal text.
 */
export function decodeNethernetPacket(bytes: Uint8Array): NethernetPacket | undefined {
  const reader = new Reader(bytes);
  const length = reader.u16le("length");
  const id = reader.u16le("id");
  if (id > MESSAGE) return undefined;
  const sender = u64le(reader, "sender");
  reader.take(8, "zeros"); // not checked, as in all known readers
  const body = readBody(reader, id);
  const flags: NethernetPacket["flags"][number][] = [];
  if (length !== bytes.length && length !== bytes.length - 2) flags.push("lengthMismatch");
  if (reader.left > 0) flags.push("trailingBytes");
  return { ...body, sender, flags };
}

function readBody(reader: Reader, id: number): PacketBody {
  if (id === REQUEST) return { type: "request" };
  if (id === RESPONSE) {
    return { type: "response", data: readHex(reader) };
  }
  const recipient = u64le(reader, "recipient");
  return { type: "message", recipient, text: reader.take(u32le(reader, "length"), "text") };
}

function readHex(reader: Reader): Uint8Array {
  const size = u32le(reader, "length of the server data");
  const at = reader.offset;
  const text = decodeLatin1(reader.take(size, "server data"));
  if (/^([0-9a-f]{2})*$/i.test(text)) return bytesOfHex(text);
  throw new Malformed("server data that is not hexadecimal", at);
}

function u32le(reader: Reader, what: string): number {
  return reader.u16le(what) + reader.u16le(what) * 0x10000;
}

function u64le(reader: Reader, what: string): bigint {
  return BigInt(u32le(reader, what)) | BigInt(u32le(reader, what)) << 32n;
}

/** Encodes and encrypts a packet. */
export function sealPacket(packet: NewPacket): Uint8Array<ArrayBuffer> {
  return seal(encodeNethernetPacket(packet));
}

/**
 * Decrypts and decodes a packet.
 *
 * @returns `undefined` when decryption fails, and for a packet with an unknown id.
 * @throws Truncated, Malformed for the reasons of {@linkcode decodeNethernetPacket}; offsets are
 * those in the plaintext.
 *
 * @example
 * ```ts
 * import { lan } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const request = lan.sealPacket({ type: "request", sender: 7n });
 * assertEquals(request.length, 64);
 * assertEquals(lan.openPacket(request)?.sender, 7n);
 * ```
 */
export function openPacket(datagram: Uint8Array): NethernetPacket | undefined {
  const bytes = openSealed(datagram);
  return bytes && decodeNethernetPacket(bytes);
}

const KEY = bytesOfHex("eed4c37861936c6ebb91ab9d195c1b489de46362d3bb8e30d8aab08bf217e6f3");
const CIPHER = "aes-256-ecb";
const MAC = 32;
const BLOCK = 16;

/** Encrypts a packet and prepends its MAC. */
function seal(packet: Uint8Array): Uint8Array<ArrayBuffer> {
  const cipher = nodeCrypto().createCipheriv(CIPHER, KEY, null);
  return concat(macOf(packet), cipher.update(packet), cipher.final());
}

/** Decrypts a packet; `undefined` when its size, padding or MAC is wrong. */
function openSealed(datagram: Uint8Array): Uint8Array | undefined {
  const size = datagram.length - MAC;
  if (size < BLOCK || size % BLOCK !== 0) return undefined;
  const decipher = nodeCrypto().createDecipheriv(CIPHER, KEY, null);
  // Automatic padding would throw for a datagram of another protocol.
  decipher.setAutoPadding(false);
  const padded = concat(decipher.update(datagram.subarray(MAC)), decipher.final());
  const padding = padded.at(-1)!;
  if (padding < 1 || padding > BLOCK) return undefined;
  // Only the last padding byte is checked; the MAC covers the packet.
  const packet = padded.subarray(0, -padding);
  return hasBytes(datagram, macOf(packet), 0) ? packet : undefined;
}

function macOf(packet: Uint8Array): Uint8Array {
  return nodeCrypto().createHmac("sha256", KEY).update(packet).digest();
}
