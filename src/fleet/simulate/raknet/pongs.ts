/**
 * Simulates RakNet servers: pongs and refusals.
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
import type { SimulatedIdentity } from "../server_identity.ts";

/** The RakNet behaviour of a software. */
export interface BedrockStyle {
  /** The advertisement; `undefined`: the pong ends after the magic. */
  readonly text: ((identity: SimulatedIdentity) => string) | undefined;
  /** Whether the advertisement has no length field before it. Default: no. */
  readonly bare?: boolean;
  /** Whether the pong has the server's clock in place of the ping's time. Default: no. */
  readonly ownClock?: boolean;
  /** A refusal that replaces every reply. Default: none. */
  readonly refusal?: RefusalReason;
  /** Seconds for which the sender of a malformed ping is ignored. Default: 0. */
  readonly punishes?: number;
  /**
   * Whether the sender of an unknown datagram is ignored too, as in go-raknet if bit 7 of the first
   * byte is 0. Default: no.
   */
  readonly punishesUnknown?: boolean;
  /** Whether the server responds to "unconnected ping open connections". Default: yes. */
  readonly answersOpen?: boolean;
  /** Behaviour for open connection requests; `undefined`: no reply. */
  readonly openConnection?: OpenConnectionStyle;
  /** What a correct scanner reads. */
  readonly truth: (identity: SimulatedIdentity) => Statement;
}

/** Encodes the reply to a ping; `now` is in milliseconds. */
export function answerPing(
  style: BedrockStyle,
  identity: SimulatedIdentity,
  ping: Ping,
  clock: number,
): Uint8Array<ArrayBuffer> | undefined {
  if (ping.openOnly && style.answersOpen === false) return undefined;
  const { guid } = identity;
  const text = style.text && new TextEncoder().encode(style.text(identity));
  const time = style.ownClock ? BigInt(Math.floor(clock)) : ping.time;
  const pong = encodePong({ advertise: false, time, guid, text });
  // Other games append bytes to the magic without a length field.
  return style.bare ? Uint8Array.from([...pong.subarray(0, 33), ...pong.subarray(35)]) : pong;
}

/** Encodes the refusal of a connection. */
export function refuseConnection(reason: RefusalReason, guid: bigint): Uint8Array<ArrayBuffer> {
  return encodeRefusal({
    reason,
    guid,
    protocol: reason === "incompatibleProtocol" ? 11 : undefined,
  });
}
