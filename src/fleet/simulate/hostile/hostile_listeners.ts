/**
 * Hosts that accept connections and are no servers: no row may come of them.
 *
 * @module
 */
import { encodeFrame, encodeVarString } from "../../../protocols/slp/mod.ts";
import type { Random } from "../../random.ts";
import type { StreamAct, StreamResponder, StreamTalk } from "../responder.ts";

/** What a hostile host does when somebody connects, and with what they say. */
interface StreamTrick {
  /** What it does at once. */
  readonly opening?: (random: Random) => StreamAct[];
  /** What it does with some bytes. */
  readonly answer?: (bytes: Uint8Array, random: Random) => StreamAct[];
}

const text = (line: string): StreamAct => ({ bytes: new TextEncoder().encode(line) });
const status = (json: string): StreamAct => ({ bytes: encodeFrame(0, encodeVarString(json)) });

/** More than a client may be told. */
const FLOOD = 3 * 1024 * 1024;
const PIECE = 64 * 1024;

/** The tricks, by name. */
export const STREAM_TRICKS: Readonly<Record<string, StreamTrick>> = {
  /** Random bytes. */
  tcpGarbage: { answer: (_, random) => [{ bytes: random.bytes(1 + random.below(300)) }, "close"] },
  /** What was sent. */
  tcpEcho: { answer: (bytes) => [{ bytes }] },
  /** Nothing, and no end of it. */
  tcpMute: {},
  /** The end, before anything was said. */
  tcpCloses: { opening: () => ["close"] },
  /** A reset: what is closed with something unread in it ends so. */
  tcpResets: { opening: () => [{ waitMs: 20 }, "reset"] },
  /** A web server. */
  http: {
    answer: () => [
      text("HTTP/1.1 400 Bad Request\r\nServer: nginx\r\nConnection: close\r\n\r\n"),
      "close",
    ],
  },
  /** An SSH server, which speaks first. */
  ssh: { opening: () => [text("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")] },
  /** A frame that is said to be long, and is not. */
  shortFrame: { answer: () => [{ bytes: Uint8Array.of(0xff, 0xff, 0x7f, 0, 0x80) }, "close"] },
  /** A frame of more bytes than any has. */
  endlessFrame: { answer: () => [{ bytes: new Uint8Array(64).fill(0xff) }] },
  /** A status that is no JSON. */
  noJson: { answer: () => [status('{"version":'), "close"] },
  /** A status nested deeper than anybody reads. */
  nestedJson: { answer: () => [status("[".repeat(100_000)), "close"] },
  /** Another packet than a status. */
  otherPacket: { answer: () => [{ bytes: encodeFrame(0x7a, new Uint8Array(40)) }] },
  /** More bytes than a client may be told, of a frame that could be. */
  tcpFlood: {
    answer: () => [
      { bytes: Uint8Array.of(0xff, 0xff, 0xff, 0x00) },
      ...Array.from({ length: FLOOD / PIECE }, () => ({ bytes: new Uint8Array(PIECE) })),
    ],
  },
  /** A status, a byte a second. */
  tcpDrip: {
    answer: () =>
      Array.from(encodeFrame(0, encodeVarString('{"version":{"name":"1.21.4","protocol":769}}')))
        .flatMap((byte) => [{ bytes: Uint8Array.of(byte) }, { waitMs: 1000 }]),
  },
};

/** Tricks that take their time: no fleet holds such a host that did not ask for it by name. */
export const SLOW_TRICKS: readonly string[] = ["tcpDrip"];

/** A host that plays one trick on everybody who connects. */
export class HostileListener implements StreamResponder {
  readonly #trick: StreamTrick;
  readonly #random: Random;

  /**
   * @param name The trick: a key of {@linkcode STREAM_TRICKS}.
   * @param random Where its garbage comes from.
   */
  constructor(name: string, random: Random) {
    this.#trick = STREAM_TRICKS[name];
    this.#random = random;
  }

  /** Accepts everybody. */
  accept(): StreamTalk {
    const { opening, answer } = this.#trick;
    return {
      opening: opening?.(this.#random) ?? [],
      receive: (bytes) => answer?.(bytes, this.#random) ?? [],
    };
  }
}
