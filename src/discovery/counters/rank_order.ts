/**
 * The order in which the addresses of a /24 are probed, and the hashes that order equal candidates.
 *
 * @module
 */
import { mix } from "../../core/bits.ts";

/** Step from one rank to the next, odd so that it visits all octets. */
const STEP = 157;
/** The inverse of the step modulo 256: 157 * 181 = 111 * 256 + 1. */
const INVERSE_STEP = 181;
/** Distance of the first octets of one port and the next. */
const PORT_STEP = 61;

/**
 * The order of probes in each /24. The last octet of the address with rank r on the port with index
 * p is (offset + 61 p + 157 r) mod 256; the offset is a hash of seed and network.
 */
export class RankOrder {
  readonly #key: number;

  /**
   * Creates the order.
   *
   * @param seed A whole number, at most 2^53.
   */
  constructor(seed: number) {
    this.#key = mix(mix(seed >>> 0) ^ Math.floor(seed / 2 ** 32) >>> 0);
  }

  /** The last octet of an address. */
  octet(network: number, port: number, rank: number): number {
    return mix(network ^ this.#key) + PORT_STEP * port + STEP * rank & 255;
  }

  /** The rank of a last octet: the inverse of {@linkcode octet}. */
  rank(network: number, port: number, octet: number): number {
    return Math.imul(octet - mix(network ^ this.#key) - PORT_STEP * port, INVERSE_STEP) & 255;
  }

  /** A hash of two numbers and the seed, 0 to 2^32 - 1. */
  hash(a: number, b: number): number {
    return mix(mix(a ^ this.#key) + Math.imul(b + 1, 0x9e3779b9) | 0) >>> 0;
  }
}
