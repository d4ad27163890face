/**
 * Hostile TCP hosts. They accept connections and are not servers, and a scanner must not report them.
 *
 * @module
 */
import { encodeFrame, encodeVarString } from "../../../protocols/slp/mod.ts";
import type { Random } from "../../random.ts";
import type { StreamAct, StreamResponder, StreamTalk } from "../responder.ts";

/** The behaviour of a hostile host on a connection. */
interface StreamTrick {
  /** Actions at the start of a connection. */
  readonly opening?: (random: Random) => StreamAct[];
  /** Actions after received bytes. */
  readonly reply?: (bytes: Uint8Array, random: Random) => StreamAct[];
}

const text = (line: string): StreamAct => ({ bytes: new TextEncoder().encode(line) });
const status = (json: string): StreamAct => ({ bytes: encodeFrame(0, encodeVarString(json)) });

/** Size of a flood, bytes: more than a scanner reads from a connection. */
const FLOOD = 3 * 1024 * 1024;
const PIECE = 64 * 1024;

/** Tricks of TCP hosts, by name. */
export const STREAM_TRICKS: Readonly<Record<string, StreamTrick>> = {
  /** Replies with random bytes. */
  tcpGarbage: { reply: (_, random) => [{ bytes: random.bytes(1 + random.below(300)) }, "close"] },
  /** Replies with the received bytes. */
  tcpEcho: { reply: (bytes) => [{ bytes }] },
  /** Sends nothing and keeps the connection open. */
  tcpMute: {},
  /** Closes the connection at once. */
  tcpCloses: { opening: () => ["close"] },
  /** Resets the connection: the system does that for a close with unread bytes. */
  tcpResets: { opening: () => [{ waitMs: 20 }, "reset"] },
  /** Replies as an HTTP server does. */
  http: {
    reply: () => [
      text("HTTP/1.1 400 Bad Request\r\nServer: nginx\r\nConnection: close\r\n\r\n"),
      "close",
    ],
  },
  /** An SSH server, which sends its banner first. */
  ssh: { opening: () => [text("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")] },
  /** A frame that is shorter than its length field. */
  shortFrame: { reply: () => [{ bytes: Uint8Array.of(0xff, 0xff, 0x7f, 0, 0x80) }, "close"] },
  /** A frame with a length above the limit. */
  endlessFrame: { reply: () => [{ bytes: new Uint8Array(64).fill(0xff) }] },
  /** A status that is not JSON. */
  noJson: { reply: () => [status('{"version":'), "close"] },
  /** A status with too many nested arrays. */
  nestedJson: { reply: () => [status("[".repeat(100_000)), "close"] },
  /** A packet with an unexpected id. */
  otherPacket: { reply: () => [{ bytes: encodeFrame(0x7a, new Uint8Array(40)) }] },
  /** More bytes than a scanner reads, in a frame with a valid start. */
  tcpFlood: {
    reply: () => [
      { bytes: Uint8Array.of(0xff, 0xff, 0xff, 0x00) },
      ...Array.from({ length: FLOOD / PIECE }, () => ({ bytes: new Uint8Array(PIECE) })),
    ],
  },
  /** A status at one byte per second. */
  tcpDrip: {
    reply: () =>
      Array.from(encodeFrame(0, encodeVarString('{"version":{"name":"1.21.4","protocol":769}}')))
        .flatMap((byte) => [{ bytes: Uint8Array.of(byte) }, { waitMs: 1000 }]),
  },
};

/** Slow tricks, which a fleet contains only when the user names them. */
export const SLOW_TRICKS: readonly string[] = ["tcpDrip"];

/** A TCP host with one trick. */
export class HostileListener implements StreamResponder {
  readonly #behaviour: StreamTrick;
  readonly #random: Random;

  /**
   * @param name The trick: a key of {@linkcode STREAM_TRICKS}.
   * @param random The source of random bytes.
   */
  constructor(name: string, random: Random) {
    this.#behaviour = STREAM_TRICKS[name];
    this.#random = random;
  }

  /** Accepts a connection and returns its hostile behaviour. */
  accept(): StreamTalk {
    const { opening, reply } = this.#behaviour;
    return {
      opening: opening?.(this.#random) ?? [],
      receive: (bytes) => reply?.(bytes, this.#random) ?? [],
    };
  }
}
