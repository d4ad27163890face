/**
 * Hostile UDP hosts. They are not servers, and a scanner must not report them.
 *
 * @module
 */
import type { Endpoint } from "../../../core/address.ts";
import { encodeQueryChallenge } from "../../../protocols/query/mod.ts";
import { encodePong } from "../../../protocols/raknet/mod.ts";
import type { Random } from "../../random.ts";
import type { Responder } from "../responder.ts";

/** The replies of a hostile host to a datagram. */
type HostileBehaviour = (datagram: Uint8Array, random: Random) => Uint8Array[];

const pong = (time: bigint, text: string) =>
  encodePong({ advertise: false, time, guid: 1n, text: new TextEncoder().encode(text) });

const isPing = (datagram: Uint8Array) => datagram[0] === 0x01 && datagram.length === 33;

const timeOf = (ping: Uint8Array) =>
  new DataView(ping.buffer, ping.byteOffset, ping.length).getBigUint64(1);

const sessionOf = (request: Uint8Array) =>
  new DataView(request.buffer, request.byteOffset, request.length).getUint32(3);

/** Tricks of UDP hosts, by name. */
export const HOSTILE_BEHAVIOURS: Record<string, HostileBehaviour> = {
  /** Replies with random bytes. */
  garbage: (_, random) => [random.bytes(1 + random.below(300))],
  /** Replies with the received datagram. */
  echo: (datagram) => [datagram],
  /** A reply to another handshake. */
  wrongSession: (datagram, random) =>
    isPing(datagram) || datagram.length < 7 ? [] : [
      encodeQueryChallenge({
        session: ~sessionOf(datagram) >>> 0,
        token: random.u32(),
        raw: false,
        fill: 0,
      }),
    ],
  /** A pong with a wrong magic. */
  wrongMagic: (datagram) => {
    if (!isPing(datagram)) return [];
    const bytes = pong(timeOf(datagram), "MCPE;fake;1;1;0;1;1;");
    bytes[20] ^= 1;
    return [bytes];
  },
  /** A pong without its last bytes. */
  cutPong: (datagram) =>
    isPing(datagram) ? [pong(timeOf(datagram), "MCPE;fake;").subarray(0, 30)] : [],
  /** A Query token that is not a number. */
  wrongToken: (datagram) =>
    datagram.length === 7
      ? [Uint8Array.of(9, ...datagram.subarray(3, 7), ...new TextEncoder().encode("token\0"))]
      : [],
  /** Replies with a thousand copies of the received datagram. */
  reflector: (datagram) => Array.from({ length: 1000 }, () => datagram),
  /** Many datagrams, up to UDP's maximum size. */
  flood: (_, random) => Array.from({ length: 40 }, (_, i) => random.bytes(i === 0 ? 60_000 : 100)),
};

/** Tricks that a fleet contains only when the user names them: they disturb other hosts. */
export const NAMED_TRICKS: readonly string[] = ["reflector"];

/** A UDP host with one trick. */
export class HostileHost implements Responder {
  readonly #behaviour: HostileBehaviour;
  readonly #random: Random;

  /**
   * @param name The trick: a key of {@linkcode HOSTILE_BEHAVIOURS}.
   * @param random The source of random bytes.
   */
  constructor(readonly name: string, random: Random) {
    this.#behaviour = HOSTILE_BEHAVIOURS[name];
    this.#random = random;
  }

  /** Returns the replies of the trick. */
  respond(datagram: Uint8Array, _from: Endpoint, _now: number): readonly Uint8Array[] {
    return this.#behaviour(datagram, this.#random);
  }
}
