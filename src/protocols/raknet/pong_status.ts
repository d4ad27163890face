/**
 * The status of a server in its reply to a ping.
 *
 * @module
 */
import type { ReplyContent } from "../protocol.ts";
import { type BedrockStatus, decodeAdvertisement } from "./advertisement.ts";
import { decodePong, type Pong, type Refusal } from "./codec.ts";

/** A server's reply to a ping. */
export type RaknetStatus =
  | {
    readonly kind: "pong";
    readonly pong: Pong;
    /** The advertisement, if it is one of Bedrock. */
    readonly bedrock: BedrockStatus | undefined;
    /** Whether the pong repeats the ping's time; raknet-node writes its own clock instead. */
    readonly echoed: boolean;
  }
  | { readonly kind: "refusal"; readonly refusal: Refusal };

/** Reads a pong that repeats the ping's time. */
export function pongContent(datagram: Uint8Array): ReplyContent<RaknetStatus> {
  const pong = decodePong(datagram);
  return pong === undefined ? {} : { status: pongStatus(pong, true) };
}

/**
 * The status in a pong.
 *
 * @param echoed Whether the pong repeats the ping's time.
 */
export function pongStatus(pong: Pong, echoed: boolean): RaknetStatus {
  return { kind: "pong", pong, bedrock: pong.text && decodeAdvertisement(pong.text), echoed };
}
