/**
 * Hosts that no scanner wishes to meet. None of them is a server: no row may come of them.
 *
 * @module
 */
import type { Endpoint } from "../../../core/address.ts";
import { encodeQueryChallenge } from "../../../protocols/query/mod.ts";
import { encodePong } from "../../../protocols/raknet/mod.ts";
import type { Random } from "../../random.ts";
import type { Responder } from "../responder.ts";

/** What a hostile host does with a datagram. */
type Trick = (datagram: Uint8Array, random: Random) => Uint8Array[];

const pong = (time: bigint, text: string) =>
  encodePong({ advertise: false, time, guid: 1n, text: new TextEncoder().encode(text) });

const isPing = (datagram: Uint8Array) => datagram[0] === 0x01 && datagram.length === 33;

const timeOf = (ping: Uint8Array) =>
  new DataView(ping.buffer, ping.byteOffset, ping.length).getBigUint64(1);

const sessionOf = (request: Uint8Array) =>
  new DataView(request.buffer, request.byteOffset, request.length).getUint32(3);

/** The tricks, by name. */
export const TRICKS: Record<string, Trick> = {
  /** Random bytes. */
  garbage: (_, random) => [random.bytes(1 + random.below(300))],
  /** What was sent. */
  echo: (datagram) => [datagram],
  /** An answer to somebody else's handshake. */
  wrongSession: (datagram, random) =>
    isPing(datagram) || datagram.length < 7 ? [] : [
      encodeQueryChallenge({
        session: ~sessionOf(datagram) >>> 0,
        token: random.u32(),
        raw: false,
        fill: 0,
      }),
    ],
  /** A pong whose magic is wrong. */
  wrongMagic: (datagram) => {
    if (!isPing(datagram)) return [];
    const bytes = pong(timeOf(datagram), "MCPE;fake;1;1;0;1;1;");
    bytes[20] ^= 1;
    return [bytes];
  },
  /** A pong that ends early. */
  cutPong: (datagram) =>
    isPing(datagram) ? [pong(timeOf(datagram), "MCPE;fake;").subarray(0, 30)] : [],
  /** A token that is no number. */
  wrongToken: (datagram) =>
    datagram.length === 7
      ? [Uint8Array.of(9, ...datagram.subarray(3, 7), ...new TextEncoder().encode("token\0"))]
      : [],
  /** What was sent, a thousand times. */
  reflector: (datagram) => Array.from({ length: 1000 }, () => datagram),
  /** Many datagrams, up to the largest that UDP carries. */
  flood: (_, random) => Array.from({ length: 40 }, (_, i) => random.bytes(i === 0 ? 60_000 : 100)),
};

/** Tricks that a host plays only where it is named: they disturb what other hosts do. */
export const NAMED_TRICKS: readonly string[] = ["reflector"];

/** A host that plays one trick. */
export class HostileHost implements Responder {
  readonly #trick: Trick;
  readonly #random: Random;

  /**
   * @param name The trick: a key of {@linkcode TRICKS}.
   * @param random Where its garbage comes from.
   */
  constructor(readonly name: string, random: Random) {
    this.#trick = TRICKS[name];
    this.#random = random;
  }

  /** Plays the trick. */
  respond(datagram: Uint8Array, _from: Endpoint, _now: number): readonly Uint8Array[] {
    return this.#trick(datagram, this.#random);
  }
}
