/**
 * The Server List Ping protocol: one connection, one question, and the status is there.
 *
 * @module
 */
import { formatAddress } from "../../core/address.ts";
import { Malformed, Truncated } from "../../core/bytes.ts";
import type { Exchange, ExchangeContext, Protocol } from "../protocol.ts";
import { listedPorts } from "../usual_ports.ts";
import { Closed, NoReply, request } from "../protocol.ts";
import {
  ANY_PROTOCOL,
  decodeSlpPing,
  decodeStatusResponse,
  encodeSlpPing,
  encodeStatusRequest,
  frameEnd,
  peekId,
} from "./codec.ts";
import { StreamBuffer } from "./stream_buffer.ts";
import { decodeLegacyReply, encodeLegacyPing, legacyReplyEnd } from "./legacy_ping.ts";
import { slpStatement, type SlpStatus } from "./columns.ts";
import { parseStatus } from "./status_json.ts";

export * from "./codec.ts";
export type { JsonFlag } from "./bounded_json.ts";
export type { SlpStatus } from "./columns.ts";
export * from "./forge_mods.ts";
export * from "./legacy_ping.ts";
export * from "./packed_mods.ts";
export * from "./status_json.ts";

/**
 * Protocol numbers to ask with, one after the other while the peer closes: none, for most need none;
 * that of 1.20.4; that of 1.8, for software that knows the number of its client (quarry knows 47 and
 * not 765).
 */
const CLIENT_PROTOCOLS = [ANY_PROTOCOL, 765, 47];
/** Letters of the longest kick in place of a status: the game writes some hundreds. */
const MOST_KICK = 4095;
/** Bytes that a server may send in place of a pong. */
const MOST_BEFORE_PONG = 65_536;

/** Server List Ping, as Java servers speak it. */
export const slpProtocol: Protocol<SlpStatus> = {
  name: "slp",
  finds: "Minecraft Java servers, by Server List Pings over TCP",
  probeText: "Server List Pings over TCP",
  transport: "tcp",
  ports: listedPorts("slp"),
  hasServiceRecords: true,
  *exchange(context: ExchangeContext): Exchange<SlpStatus> {
    let answer: SlpStatus | undefined;
    for (const protocol of CLIENT_PROTOCOLS) {
      answer = yield* requestStatus(context, protocol, protocol !== ANY_PROTOCOL);
      if (answer !== undefined) break;
    }
    if (answer !== undefined && !isKick(answer)) return answer;
    // Only now: a modern server shows less of itself to a legacy ping, or waits for the rest of it.
    const legacy = (yield* requestLegacyStatus("01")) ?? (yield* requestLegacyStatus("none"));
    if (legacy?.reply.status !== undefined) return legacy;
    const known = answer ?? legacy;
    if (known === undefined) throw new Closed();
    return checkedKick(known);
  },
  record: slpStatement,
};

type Legacy = Extract<SlpStatus, { kind: "legacy" }>;

function isKick(status: SlpStatus): status is Legacy {
  return status.kind === "legacy";
}

/** A long kick that is not all there may be anything else that begins with `ff`. */
function checkedKick(status: Legacy): Legacy {
  const { text, flags } = status.reply;
  if (text.length > 255 && flags.includes("lengthMismatch")) {
    throw new Malformed("neither a status nor a kick", 0);
  }
  return status;
}

/**
 * Asks for a status, and, with the status there, for a pong: a ping sent along with the request can
 * overtake it, and servers close after the pong.
 *
 * @returns `undefined` when the peer closed without a byte.
 */
function* requestStatus(
  context: ExchangeContext,
  protocol: number,
  fresh: boolean,
): Exchange<SlpStatus | undefined> {
  const { endpoint, requestedAs, statusOnly, nonce } = context;
  const host = requestedAs ?? formatAddress(endpoint.address);
  const bytes = encodeStatusRequest({ protocol, host, port: endpoint.port });
  const inbox = new StreamBuffer();
  const size = yield* requestBytes({ bytes, fresh }, inbox, replySize);
  if (size === undefined) return undefined;
  if (isKickStart(inbox.bytes)) return legacyStatus(inbox.bytes.subarray(0, size), "status");
  const response = decodeStatusResponse(inbox.bytes)!;
  const java = parseStatus(response.json);
  if (java.kind === "disconnect") return java;
  const more = response.more.length;
  inbox.drop(size);
  const pong = statusOnly ? nonce : yield* requestPong(nonce, inbox);
  return { kind: "status", java, more, pongDiffers: pong !== undefined && pong !== nonce };
}

/**
 * Writes a question and gathers the answer, of which `sizeOf` tells the size as soon as it can be
 * told. A peer that stops in the middle is done, too.
 *
 * @returns The answer's size; `undefined` when the peer closed without a byte.
 */
function* requestBytes(
  { bytes: question, fresh }: { bytes: Uint8Array; fresh: boolean },
  inbox: StreamBuffer,
  sizeOf: (bytes: Uint8Array) => number | undefined,
): Exchange<number | undefined> {
  const accept = (chunk: Uint8Array) => {
    inbox.push(chunk);
    const size = sizeOf(inbox.bytes);
    return size !== undefined && size <= inbox.bytes.length ? size : undefined;
  };
  try {
    return yield* request(question, accept, fresh ? { resend: false, fresh } : { resend: false });
  } catch (silence) {
    if (!(silence instanceof NoReply)) throw silence;
    if (inbox.bytes.length > 0) return inbox.bytes.length;
    if (silence instanceof Closed) return undefined;
    throw silence;
  }
}

/**
 * How long the kick or the status that has begun to come in will be, if that can be told yet. Who
 * speaks something else (HTTP, SSH) is known by its first bytes, and not waited for.
 */
function replySize(bytes: Uint8Array): number | undefined {
  const isKick = isKickStart(bytes);
  if (isKick !== false) return isKick ? legacyReplyEnd(bytes) : undefined;
  const end = frameEnd(bytes);
  const id = peekId(bytes);
  if (id) throw new Malformed(`packet ${id} in place of a status`, 0);
  return end;
}

/**
 * Whether a kick has begun: `undefined` while that cannot be told. `ff 00` is one, for the length of
 * a frame never starts so: it would take a byte too many. `ff 01 ...` is a frame of 255 bytes or more
 * where the id of a status follows, and a length of two bytes, or a `{`; else it is a kick of 256
 * letters or more.
 */
function isKickStart(bytes: Uint8Array): boolean | undefined {
  const [first, high, low, next, fifth] = bytes;
  if (first !== 0xff || high > MOST_KICK >> 8) return false;
  if (high === 0) return true;
  if (fifth === undefined) return undefined;
  const isStatus = low === 0 && (next >= 0x80 || next > 0 && fifth === 0x7b);
  return !isStatus;
}

/** The first pong; `undefined` when there is none, which takes nothing from the status. */
function* requestPong(payload: bigint, inbox: StreamBuffer): Exchange<bigint | undefined> {
  let bytes = 0;
  const accept = (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes > MOST_BEFORE_PONG) throw new Malformed("more than a pong", 0);
    inbox.push(chunk);
    return firstPong(inbox);
  };
  try {
    const early = firstPong(inbox); // one that nobody asked for
    return early ?? (yield* request(encodeSlpPing(payload), accept, { resend: false }));
  } catch (error) {
    const broken = error instanceof Malformed || error instanceof Truncated;
    if (!broken && !(error instanceof NoReply)) throw error;
    return undefined;
  }
}

/** The pong among the frames that are whole; the others are dropped. */
function firstPong(inbox: StreamBuffer): bigint | undefined {
  for (;;) {
    const end = frameEnd(inbox.bytes);
    if (end === undefined || end > inbox.bytes.length) return undefined;
    const pong = decodeSlpPing(inbox.bytes);
    inbox.drop(end);
    if (pong !== undefined) return pong;
  }
}

/**
 * Asks as clients before 1.7 did.
 *
 * @returns `undefined` when the peer closed without a byte, or said nothing.
 */
function* requestLegacyStatus(data: "01" | "none"): Exchange<Legacy | undefined> {
  const inbox = new StreamBuffer();
  try {
    const question = { bytes: encodeLegacyPing({ data }), fresh: true };
    const size = yield* requestBytes(question, inbox, kickSize);
    if (size === undefined) return undefined;
    return legacyStatus(inbox.bytes.subarray(0, size), data === "none" ? "fe" : "fe01");
  } catch (error) {
    if (error instanceof NoReply) return undefined;
    throw error;
  }
}

/** How long a kick will be, if that can be told yet. */
function kickSize(bytes: Uint8Array): number | undefined {
  if (bytes.length > 0 && bytes[0] !== 0xff) {
    throw new Malformed("no kick in answer to a legacy ping", 0);
  }
  return legacyReplyEnd(bytes);
}

function legacyStatus(bytes: Uint8Array, asked: string): Legacy {
  return { kind: "legacy", reply: decodeLegacyReply(bytes)!, asked };
}
