/**
 * The RakNet ping: the probe of the sweep, and the exchange of an interview.
 *
 * @module
 */
import {
  type Exchange,
  type ExchangeContext,
  type Probe,
  type Reply,
  request,
} from "../protocol.ts";
import { decodePong, decodeRefusal, encodePing, readPongTime } from "./codec.ts";
import { pongContent, pongStatus, type RaknetStatus } from "./pong_status.ts";

/**
 * The client GUID of every ping: the ASCII letters "blockswp", by which operators can recognise it.
 */
export const CLIENT_GUID = 0x626c6f636b737770n;

/** The ping of the sweep. */
export const pingProbe: Probe<RaknetStatus> = {
  template: encodePing({ openOnly: false, time: 0n, guid: CLIENT_GUID }),
  macMask: 0x7fffffff, // the top bit stays clear, for servers that read a signed time
  mayLackToken: true, // raknet-node does not repeat the time, and refusals contain no time
  tokenAt: 1,
  clockAt: 5,
  wholeStatus: true, // readToken() and decodePong() accept the same pongs
  read: readToken,
  content: pongContent,
};

/** Reads the token and the clock of a pong; a refusal has none of these. */
function readToken(datagram: Uint8Array): Reply | undefined {
  const time = readPongTime(datagram);
  if (time === undefined) return decodeRefusal(datagram) && { mac: undefined };
  return { mac: time.high, clock: time.low };
}

/** Pings a server until it replies. */
export function* pingExchange(
  { nonce, exclusive }: ExchangeContext,
): Exchange<RaknetStatus> {
  const ping = encodePing({ openOnly: false, time: nonce, guid: CLIENT_GUID });
  return yield* request(ping, (datagram) => accept(datagram, nonce, exclusive), { resend: true });
}

/**
 * Reads a reply to a ping with this time. A reply with another time is accepted only on a socket
 * that serves only this exchange, because no other host has received a datagram from its port.
 */
function accept(datagram: Uint8Array, time: bigint, exclusive: boolean): RaknetStatus | undefined {
  const pong = decodePong(datagram);
  if (pong !== undefined) {
    const echoed = pong.time === time;
    return echoed || exclusive ? pongStatus(pong, echoed) : undefined;
  }
  const refusal = exclusive ? decodeRefusal(datagram) : undefined;
  return refusal && { kind: "refusal", refusal };
}
