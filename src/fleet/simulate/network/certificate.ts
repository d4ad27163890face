/**
 * Self-signed certificates of simulated servers. The private key of a certificate follows from its
 * serial number, so it protects nothing. Equal arguments give an equal certificate, and so an equal
 * fleet has equal fingerprints.
 *
 * @module
 */
import { concat } from "../../../core/bytes.ts";
import { nodeCrypto } from "../../../core/node_modules.ts";

/** A certificate with its private key. */
export interface Certificate {
  /** The certificate, X.509 in DER. */
  readonly der: Uint8Array;
  /** The private key, PKCS #8 in DER. */
  readonly key: Uint8Array;
  /** SHA-256 of the certificate: 64 hexadecimal digits, lower case. */
  readonly sha256: string;
}

/** Tags of DER. */
const TAG = { integer: 0x02, bits: 0x03, oid: 0x06, text: 0x0c, time: 0x17, sequence: 0x30 };
const SET = 0x31;
/** The tag of the version field. */
const EXPLICIT_0 = 0xa0;
/** X.509 of version 3. */
const VERSION_3 = Uint8Array.of(TAG.integer, 1, 2);
/** The identifiers of Ed25519 (1.3.101.112) and of a common name (2.5.4.3). */
const [ED25519, COMMON_NAME] = [Uint8Array.of(0x2b, 0x65, 0x70), Uint8Array.of(0x55, 4, 3)];
/** An Ed25519 key in PKCS #8, up to its 32 bytes (RFC 8410). */
const KEY_HEAD = Uint8Array.fromHex("302e020100300506032b657004220420");
const VALID = ["260101000000Z", "460101000000Z"];

/**
 * Makes a certificate.
 *
 * @param name The common name, ASCII.
 * @param serial The serial number, below 2^64. The key is its SHA-256, and the certificate
 * contains it without its two highest bits.
 */
export function makeCertificate(name: string, serial: bigint): Certificate {
  const { createHash, createPrivateKey, createPublicKey, sign } = nodeCrypto();
  const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();
  const number = new Uint8Array(8);
  new DataView(number.buffer).setBigUint64(0, serial);
  const der = concat(KEY_HEAD, sha256(number));
  const key = createPrivateKey(pemOf("PRIVATE KEY", der));
  number[0] = number[0] & 0x3f | 0x40; // DER: positive, without a leading zero
  const spki = createPublicKey(key).export({ format: "der", type: "spki" });
  const algorithm = node(TAG.sequence, node(TAG.oid, ED25519));
  const who = nameOf(name);
  const signed = node(
    TAG.sequence,
    node(EXPLICIT_0, VERSION_3),
    node(TAG.integer, number),
    algorithm,
    who,
    node(TAG.sequence, ...VALID.map((time) => node(TAG.time, ascii(time)))),
    who,
    spki,
  );
  const signature = node(TAG.bits, Uint8Array.of(0), sign(null, signed, key));
  const certificate = node(TAG.sequence, signed, algorithm, signature);
  return { der: certificate, key: der, sha256: sha256(certificate).toString("hex") };
}

/** A name with one part, the common name. */
function nameOf(name: string): Uint8Array {
  const bytes = node(TAG.sequence, node(TAG.oid, COMMON_NAME), node(TAG.text, ascii(name)));
  return node(TAG.sequence, node(SET, bytes));
}

const ascii = (text: string) => new TextEncoder().encode(text);

/** A value of DER: tag, length and content. */
function node(tag: number, ...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const content = concat(...parts);
  const size = content.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >>> 8, size & 0xff];
  return concat([tag, ...length], content);
}

/** A block of PEM. */
export function pemOf(label: string, der: Uint8Array): string {
  const lines = der.toBase64().replace(/.{64}(?=.)/g, "$&\n");
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}
