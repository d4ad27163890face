/**
 * Tokens: a keyed hash of the probed endpoint in each probe. A host that has not received the probe
 * cannot compute the token, and the scan needs no state to check it.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import { Endpoints } from "../core/endpoints.ts";

/**
 * HalfSipHash-2-4 with 32 bits of output. Source: the reference implementation by Aumasson and
 * Bernstein.
 *
 * @param k0 The key's first four bytes, little endian.
 * @param k1 The key's last four bytes, little endian.
 * @param words The message as little-endian words; the last contains its length in the highest byte.
 * @param count Number of words in the message.
 * @returns A signed 32-bit number.
 */
export function halfSipHash(k0: number, k1: number, words: Uint32Array, count: number): number {
  let v0 = k0;
  let v1 = k1;
  let v2 = 0x6c796765 ^ k0;
  let v3 = 0x74656462 ^ k1;
  for (let i = 0; i <= count; i++) {
    const last = i === count;
    const word = last ? 0 : words[i];
    if (last) v2 ^= 0xff;
    v3 ^= word;
    for (let round = last ? 4 : 2; round > 0; round--) {
      v0 = v0 + v1 | 0;
      v1 = (v1 << 5 | v1 >>> 27) ^ v0;
      v0 = v0 << 16 | v0 >>> 16;
      v2 = v2 + v3 | 0;
      v3 = (v3 << 8 | v3 >>> 24) ^ v2;
      v0 = v0 + v3 | 0;
      v3 = (v3 << 7 | v3 >>> 25) ^ v0;
      v2 = v2 + v1 | 0;
      v1 = (v1 << 13 | v1 >>> 19) ^ v2;
      v2 = v2 << 16 | v2 >>> 16;
    }
    v0 ^= word;
  }
  return v1 ^ v3;
}

/**
 * {@linkcode halfSipHash} of a message of two words: one loop over all eight rounds takes half the
 * time, and a sweep computes it for every IPv4 target.
 */
function hashOfTwo(k0: number, k1: number, first: number, second: number): number {
  let v0 = k0;
  let v1 = k1;
  let v2 = 0x6c796765 ^ k0;
  let v3 = 0x74656462 ^ k1 ^ first;
  for (let round = 0; round < 8; round++) {
    if (round === 2) {
      v0 ^= first;
      v3 ^= second;
    } else if (round === 4) {
      v0 ^= second;
      v2 ^= 0xff;
    }
    v0 = v0 + v1 | 0;
    v1 = (v1 << 5 | v1 >>> 27) ^ v0;
    v0 = v0 << 16 | v0 >>> 16;
    v2 = v2 + v3 | 0;
    v3 = (v3 << 8 | v3 >>> 24) ^ v2;
    v0 = v0 + v3 | 0;
    v3 = (v3 << 7 | v3 >>> 25) ^ v0;
    v2 = v2 + v1 | 0;
    v1 = (v1 << 13 | v1 >>> 19) ^ v2;
    v2 = v2 << 16 | v2 >>> 16;
  }
  return v1 ^ v3;
}

/**
 * Computes tokens with one key.
 *
 * @example
 * ```ts
 * import { assertEquals, assertNotEquals } from "@std/assert";
 *
 * const tokens = new Tokens(crypto.getRandomValues(new Uint8Array(8)));
 * const endpoint = { address: 0x7f000001, port: 19132 };
 * assertEquals(tokens.of(0, endpoint), tokens.of(0, endpoint));
 * assertNotEquals(tokens.of(0, endpoint), tokens.of(1, endpoint));
 * ```
 */
export class Tokens {
  readonly #k0: number;
  readonly #k1: number;
  readonly #words = new Uint32Array(5);
  readonly #one = new Endpoints(1);

  /**
   * Creates a token generator.
   *
   * @param key Eight random bytes, which differ for every scan.
   */
  constructor(readonly key: Uint8Array) {
    const view = new DataView(key.buffer, key.byteOffset, 8);
    this.#k0 = view.getInt32(0, true);
    this.#k1 = view.getInt32(4, true);
  }

  /**
   * Computes the token of an endpoint: 32 bits, unsigned.
   *
   * @param kind Number of the kind of probe, 0 to 255.
   */
  of(kind: number, endpoint: Endpoint): number {
    this.#one.set(0, endpoint);
    return this.at(kind, this.#one, 0) >>> 0;
  }

  /**
   * Computes the tokens of the first `count` endpoints, as signed numbers.
   *
   * @param mask The bits of each token that are kept.
   */
  fill(
    kind: number,
    mask: number,
    endpoints: Endpoints,
    count: number,
    tokens: Int32Array,
  ): void {
    const { ipv4, ipv6, ports } = endpoints;
    const k0 = this.#k0;
    const k1 = this.#k1;
    for (let i = 0; i < count; i++) {
      const token = ipv6[i] === undefined
        ? hashOfTwo(k0, k1, ipv4[i] | 0, ports[i] | kind << 16 | 7 << 24)
        : this.at(kind, endpoints, i);
      tokens[i] = token & mask;
    }
  }

  /** Computes the token of endpoint `i` as a signed number. Allocates nothing for IPv4. */
  at(kind: number, endpoints: Endpoints, i: number): number {
    const words = this.#words;
    const address = endpoints.ipv6[i];
    const port = endpoints.ports[i];
    if (address === undefined) {
      return hashOfTwo(this.#k0, this.#k1, endpoints.ipv4[i] | 0, port | kind << 16 | 7 << 24);
    }
    for (let word = 0; word < 4; word++) {
      words[word] = Number(address >> BigInt(96 - 32 * word) & 0xffffffffn);
    }
    words[4] = port | kind << 16 | 19 << 24;
    return halfSipHash(this.#k0, this.#k1, words, 5);
  }
}
