/**
 * Addresses in RakNet's messages.
 *
 *     IPv4   04  address 4, each byte complemented  port 2                         7
 *     IPv6   06  family 2 (LE)  port 2  flow info 4  address 16  scope 4           29
 *
 * The family is the constant of the writer's system, 23 on Windows and 10 on Linux. Readers ignore
 * it. "No address" is 04 ffffffff 0000, which decodes to 0.0.0.0:0. go-raknet reads type 00 as
 * IPv4.
 *
 * Sources: RakNet 4.081 (BitStream.h), RakLib (PacketSerializer.php), go-raknet
 * (internal/message/packet.go).
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";
import { concat, Malformed, type Reader, u16, u32, u64 } from "../../core/bytes.ts";

const IPV4 = 4;
const IPV6 = 6;
/** The family constant of Windows, which the game writes. */
const AF_INET6 = 23;

/** Size of an address of this type, in bytes; `undefined` for an unknown type. */
export function addressSize(type: number | undefined): number | undefined {
  if (type === IPV6) return 29;
  return type === IPV4 || type === 0 ? 7 : undefined;
}

/** Encodes an address: 7 or 29 bytes. Port 0 is allowed. */
export function encodeAddress({ address, port }: Endpoint): Uint8Array<ArrayBuffer> {
  if (typeof address === "number") return concat([IPV4], u32(~address), u16(port));
  const bytes = [...u64(address >> 64n), ...u64(address)];
  return concat([IPV6, AF_INET6, 0], u16(port), u32(0), bytes, u32(0));
}

/**
 * Reads an address.
 *
 * @throws Truncated when the message ends inside the address.
 * @throws Malformed when its type is unknown.
 */
export function readAddress(reader: Reader, what: string): Endpoint {
  const start = reader.offset;
  const type = reader.u8(`type of ${what}`);
  if (addressSize(type) === undefined) throw new Malformed(`${what} of type ${type}`, start);
  if (type !== IPV6) return { address: ~reader.u32(what) >>> 0, port: reader.u16(what) };
  reader.take(2, what); // the family
  const port = reader.u16(what);
  reader.take(4, what); // flow info
  const address = reader.u64(what) << 64n | reader.u64(what);
  reader.take(4, what); // scope
  return { address, port };
}
