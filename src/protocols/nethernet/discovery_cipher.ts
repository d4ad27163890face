/**
 * The encryption of NetherNet's discovery packets. Its key is public. The encryption therefore
 * keeps nothing secret; it only shows that the sender implements the protocol.
 *
 *     HMAC-SHA256(key, packet) 32   AES-256-ECB(key, packet, padded as PKCS#7) 16, 32...
 *
 * The key is SHA-256 of 0xdeadbeef as eight bytes, little endian. Source: df-mc/go-nethernet,
 * discovery/crypto.go.
 *
 * @module
 */
import { nodeCrypto } from "../../core/node_modules.ts";
import { bytesOfHex, concat, hasBytes } from "../../core/bytes.ts";

const KEY = bytesOfHex("eed4c37861936c6ebb91ab9d195c1b489de46362d3bb8e30d8aab08bf217e6f3");
const CIPHER = "aes-256-ecb";
const MAC = 32;
const BLOCK = 16;

/** Encrypts a packet and prepends its MAC. */
export function seal(packet: Uint8Array): Uint8Array<ArrayBuffer> {
  const cipher = nodeCrypto().createCipheriv(CIPHER, KEY, null);
  return concat(macOf(packet), cipher.update(packet), cipher.final());
}

/** Decrypts a packet; `undefined` when its size, padding or MAC is wrong. */
export function openSealed(datagram: Uint8Array): Uint8Array | undefined {
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
