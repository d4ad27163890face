/**
 * Simulates Server List Ping: computes the reply to the received bytes of a connection.
 *
 * @module
 */
import { Malformed, Truncated } from "../../../core/bytes.ts";
import type { Statement } from "../../../protocols/protocol.ts";
import {
  decodeLegacyPing,
  decodeSlpPing,
  decodeStatusRequest,
  encodeLegacyReply,
  encodeSlpPing,
  encodeStatusResponse,
  encodeVarString,
  formatLegacyStatus,
  frameEnd,
  type Handshake,
  type LegacyStatus,
} from "../../../protocols/slp/mod.ts";
import type { SimulatedIdentity } from "../server_identity.ts";

/** The Server List Ping behaviour of a software. */
export interface SlpStyle {
  /**
   * The JSON of the status; `closes` and `kicks` are the reactions of software that does not support
   * status requests.
   */
  readonly status:
    | ((identity: SimulatedIdentity, request: Handshake) => string)
    | "closes"
    | "kicks";
  /** A second text in the frame, after the JSON. Default: none. */
  readonly more?: string;
  /** Protocol numbers for which the server closes the connection. Default: none. */
  readonly closesOn?: readonly number[];
  /** The kick message in reply to a status request. Default: a short text. */
  readonly kick?: string;
  /** The reply to a legacy ping. Default: none, the server closes the connection. */
  readonly legacy?: (identity: SimulatedIdentity) => LegacyStatus;
  /** Whether the version is before 1.4, which responds to the first byte of any legacy ping. */
  readonly beta?: boolean;
  /**
   * What a correct scanner reads. It sends protocol number -1, and the legacy ping of 1.6 before the
   * older ones.
   */
  readonly truth: (identity: SimulatedIdentity) => Statement;
}

/** A server's reaction to received bytes. */
export interface SlpAnswer {
  /** Number of processed bytes. The rest is passed again together with later bytes. */
  readonly used: number;
  /** The bytes to send. */
  readonly reply: Uint8Array;
  /** Whether the server closes the connection afterwards. */
  readonly close: boolean;
}

const NOTHING = new Uint8Array();
const LEGACY_PING = 0xfe;

/**
 * Computes a server's reaction to received bytes.
 *
 * @param received Received bytes that are not processed yet; not empty.
 * @returns `undefined` while a request is incomplete.
 */
export function answerSlp(
  style: SlpStyle,
  identity: SimulatedIdentity,
  received: Uint8Array,
): SlpAnswer | undefined {
  const all = (reply: Uint8Array, close: boolean) => ({ used: received.length, reply, close });
  if (received[0] === LEGACY_PING) return answerLegacy(style, identity, received);
  if (style.status === "closes") return all(NOTHING, true);
  if (style.status === "kicks") {
    return all(encodeLegacyReply({ text: style.kick ?? "Protocol error" }), true);
  }
  const response = reading(() => answerFrame(style, identity, received));
  if (response instanceof Truncated) return undefined;
  return response instanceof Malformed ? all(NOTHING, true) : response;
}

/** The result of a decoder, with its errors as values. */
function reading<T>(read: () => T): T | Truncated | Malformed {
  try {
    return read();
  } catch (error) {
    if (error instanceof Truncated || error instanceof Malformed) return error;
    throw error;
  }
}

/**
 * The reaction to a frame with a ping or a status request. Vanilla closes the connection after a
 * ping.
 */
function answerFrame(
  style: SlpStyle,
  identity: SimulatedIdentity,
  received: Uint8Array,
): SlpAnswer {
  const end = frameEnd(received) ?? 0;
  const payload = decodeSlpPing(received);
  if (payload !== undefined) return { used: end, reply: encodeSlpPing(payload), close: true };
  const request = decodeStatusRequest(received);
  if (request === undefined || style.closesOn?.includes(request.protocol)) {
    return { used: received.length, reply: NOTHING, close: true };
  }
  const json = (style.status as (identity: SimulatedIdentity, request: Handshake) => string)(
    identity,
    request,
  );
  const reply = encodeStatusResponse({
    json: new TextEncoder().encode(json),
    trailing: style.more === undefined ? NOTHING : encodeVarString(style.more),
  });
  return { used: frameEnd(received, end)!, reply, close: false };
}

/**
 * The reaction to a legacy ping of one byte, two bytes, or the form of 1.6. Servers do not close
 * the connection.
 */
function answerLegacy(
  { legacy, beta }: SlpStyle,
  identity: SimulatedIdentity,
  received: Uint8Array,
): SlpAnswer | undefined {
  const used = received.length;
  if (legacy === undefined) return { used, reply: NOTHING, close: true };
  const ping = reading(() => decodeLegacyPing(beta ? received.subarray(0, 1) : received));
  if (ping === undefined || ping instanceof Error) return undefined;
  const form = ping.data === "none" ? "beta" : "1.4";
  const text = formatLegacyStatus({ ...legacy(identity), form });
  return { used, reply: encodeLegacyReply({ text }), close: beta ?? false };
}
