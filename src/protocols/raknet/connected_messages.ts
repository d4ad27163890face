/**
 * RakNet's own messages within a connection. Each message is the body of a frame.
 *
 * All integers are big endian, times in milliseconds; an address has 7 or 29 bytes
 * (wire_address.ts).
 *
 *     ping                        00  time 8                                        9
 *     pong                        03  the ping's time 8  time 8                     17
 *     detect lost connections     04                                                1
 *     connection request          09  client GUID 8  time 8  security 1             18
 *     connection request accepted 10  client's address  system index 2
 *                                     addresses  the request's time 8  time 8       166 with 20 IPv4
 *     new incoming connection     13  server's address
 *                                     addresses  the acceptance's time 8  time 8    164 with 20 IPv4
 *     disconnection               15                                                1
 *
 * The messages contain no count of their addresses. RakNet writes 10 addresses, Minecraft 20, other
 * software fewer. The last 16 bytes are the two times, as in go-raknet.
 *
 * Sources: RakNet 4.081 (RakPeer.cpp), RakLib (protocol/Connect*.php, NewIncomingConnection.php),
 * go-raknet (internal/message).
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { concat, Reader, u16, u64 } from "../../core/bytes.ts";
import { encodeAddress, readAddress } from "./wire_address.ts";

const ID = {
  ping: 0x00,
  pong: 0x03,
  detectLost: 0x04,
  connectionRequest: 0x09,
  accepted: 0x10,
  newIncoming: 0x13,
  disconnect: 0x15,
} as const;

/** Number of addresses in a message of Minecraft. */
const MAX_ADDRESSES = 20;
/** Size of the two times at the end of a message, bytes. */
const TIMES_SIZE = 16;

/** The common end of the two messages that list addresses. */
export interface Addresses {
  /** The addresses of the sender's system; most are 0.0.0.0:0, "no address". */
  readonly addresses: readonly Endpoint[];
  /** The time in the message to which this message replies. */
  readonly pingTime: bigint;
  /** The sender's clock, milliseconds. */
  readonly pongTime: bigint;
  /** Anomalies that the decoder found. */
  readonly flags: readonly (
    /** The list has fewer than Minecraft's 20 addresses. */
    "fewAddresses"
  )[];
}

/** A RakNet message within a connection. */
export type ConnectedMessage =
  | { readonly type: "ping"; readonly time: bigint }
  | { readonly type: "pong"; readonly pingTime: bigint; readonly pongTime: bigint }
  | { readonly type: "detectLost" | "disconnect" }
  | {
    readonly type: "connectionRequest";
    readonly guid: bigint;
    readonly time: bigint;
    readonly secured: boolean;
  }
  | { readonly type: "accepted"; readonly address: Endpoint; readonly index: number } & Addresses
  | { readonly type: "newIncoming"; readonly address: Endpoint } & Addresses;

/** Encodes a message as the body of a frame. */
export function encodeConnected(message: ConnectedMessage): Uint8Array<ArrayBuffer> {
  return concat([ID[message.type]], encodeBody(message));
}

function encodeBody(message: ConnectedMessage): ArrayLike<number> {
  switch (message.type) {
    case "ping":
      return u64(message.time);
    case "pong":
      return [...u64(message.pingTime), ...u64(message.pongTime)];
    case "connectionRequest":
      return [...u64(message.guid), ...u64(message.time), message.secured ? 1 : 0];
    case "accepted":
      return concat(encodeAddress(message.address), u16(message.index), encodeAddresses(message));
    case "newIncoming":
      return concat(encodeAddress(message.address), encodeAddresses(message));
    default:
      return [];
  }
}

function encodeAddresses({ addresses, pingTime, pongTime }: Addresses): Uint8Array {
  return concat(...addresses.map(encodeAddress), u64(pingTime), u64(pongTime));
}

/**
 * Decodes a message. Bytes after it are ignored.
 *
 * @returns `undefined` for another message, for example one of the game.
 * @throws Truncated when the message ends inside a field.
 * @throws Malformed when the type of an address is unknown.
 */
export function decodeConnected(bytes: Uint8Array): ConnectedMessage | undefined {
  const reader = new Reader(bytes, 1);
  switch (bytes[0]) {
    case ID.ping:
      return { type: "ping", time: reader.u64("ping time") };
    case ID.pong:
      return { type: "pong", ...readTimes(reader) };
    case ID.detectLost:
      return { type: "detectLost" };
    case ID.connectionRequest: {
      const guid = reader.u64("client GUID");
      const time = reader.u64("time");
      return { type: "connectionRequest", guid, time, secured: reader.u8("security") !== 0 };
    }
    case ID.accepted: {
      const address = readAddress(reader, "client address");
      const index = reader.u16("system index");
      return { type: "accepted", address, index, ...readAddresses(reader) };
    }
    case ID.newIncoming: {
      const address = readAddress(reader, "server address");
      return { type: "newIncoming", address, ...readAddresses(reader) };
    }
    case ID.disconnect:
      return { type: "disconnect" };
  }
}

function readAddresses(reader: Reader): Addresses {
  const addresses: Endpoint[] = [];
  while (addresses.length < MAX_ADDRESSES && reader.left > TIMES_SIZE) {
    addresses.push(readAddress(reader, "address"));
  }
  const flags: Addresses["flags"][number][] = addresses.length < MAX_ADDRESSES
    ? ["fewAddresses"]
    : [];
  return { addresses, ...readTimes(reader), flags };
}

function readTimes(reader: Reader): { pingTime: bigint; pongTime: bigint } {
  return { pingTime: reader.u64("ping time"), pongTime: reader.u64("pong time") };
}
