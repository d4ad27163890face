/**
 * The RakNet half of simulated servers: pongs and refusals.
 *
 * @module
 */
import {
  encodePong,
  encodeRefusal,
  type Ping,
  type RefusalReason,
} from "../../../protocols/raknet/mod.ts";
import type { Statement } from "../../../protocols/protocol.ts";
import type { OpenConnectionStyle } from "./open_connection.ts";
import type { ServerIdentity } from "../server_identity.ts";

/** How a software answers a ping. */
export interface BedrockStyle {
  /** The advertisement; `undefined` when the pong ends behind the magic. */
  readonly text: ((identity: ServerIdentity) => string) | undefined;
  /** Whether a length stands before the text. Default: yes. */
  readonly bare?: boolean;
  /** Whether it puts its own clock where our time belongs. */
  readonly ownClock?: boolean;
  /** What it answers in place of a pong, to whatever arrives. */
  readonly refusal?: RefusalReason;
  /** Seconds for which it ignores a sender of malformed pings. */
  readonly punishes?: number;
  /** Whether it does so too for what it does not know: go-raknet, where bit 7 is clear. */
  readonly punishesUnknown?: boolean;
  /** Whether it answers pings that only servers with free places answer. Default: yes. */
  readonly answersOpen?: boolean;
  /** How it opens connections; `undefined`: it only advertises itself. */
  readonly door?: OpenConnectionStyle;
  /** What a reader should make of it. */
  readonly truth: (identity: ServerIdentity) => Statement;
}

/** The datagram that answers a ping; the clock is in milliseconds. */
export function answerPing(
  style: BedrockStyle,
  identity: ServerIdentity,
  ping: Ping,
  clock: number,
): Uint8Array<ArrayBuffer> | undefined {
  if (ping.openOnly && style.answersOpen === false) return undefined;
  const { guid } = identity;
  const text = style.text && new TextEncoder().encode(style.text(identity));
  const time = style.ownClock ? BigInt(Math.floor(clock)) : ping.time;
  const pong = encodePong({ advertise: false, time, guid, text });
  // Other games append their bytes to the magic, without a length.
  return style.bare ? Uint8Array.from([...pong.subarray(0, 33), ...pong.subarray(35)]) : pong;
}

/** The datagram of a software that refuses. */
export function refuseConnection(reason: RefusalReason, guid: bigint): Uint8Array<ArrayBuffer> {
  return encodeRefusal({
    reason,
    guid,
    protocol: reason === "incompatibleProtocol" ? 11 : undefined,
  });
}
