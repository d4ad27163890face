/**
 * The Server List Ping half of simulated servers: bytes of a connection in, bytes out.
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
import type { ServerIdentity } from "../server_identity.ts";

/** How a software answers Server List Ping. */
export interface SlpStyle {
  /**
   * The JSON that answers a request for a status; `closes` and `kicks` are what software does that
   * knows no such request.
   */
  readonly status: ((identity: ServerIdentity, asked: Handshake) => string) | "closes" | "kicks";
  /** A second text in the frame, behind the JSON. Default: none. */
  readonly more?: string;
  /** Protocols on which it closes. Default: none. */
  readonly closesOn?: readonly number[];
  /** With what it kicks whoever asks for a status. Default: a few words. */
  readonly kick?: string;
  /** The status that answers a legacy ping. Default: none, it closes. */
  readonly legacy?: (identity: ServerIdentity) => LegacyStatus;
  /** Whether it is of before 1.4, and answers the first byte of every legacy ping the same. */
  readonly beta?: boolean;
  /** What a reader should make of it who does not say its protocol, and asks `fe01` before `fe`. */
  readonly truth: (identity: ServerIdentity) => Statement;
}

/** What a server does with what came in. */
export interface SlpAnswer {
  /** How many bytes it has dealt with; what follows them is given to it again with what comes. */
  readonly used: number;
  /** What it sends. */
  readonly reply: Uint8Array;
  /** Whether it closes the connection then. */
  readonly close: boolean;
}

const NOTHING = new Uint8Array();
const LEGACY_PING = 0xfe;

/**
 * What a server does.
 *
 * @param received What came over the connection and was not dealt with yet; not empty.
 * @returns `undefined` while it waits for more.
 */
export function answerSlp(
  style: SlpStyle,
  identity: ServerIdentity,
  received: Uint8Array,
): SlpAnswer | undefined {
  const all = (reply: Uint8Array, close: boolean) => ({ used: received.length, reply, close });
  if (received[0] === LEGACY_PING) return answerLegacy(style, identity, received);
  if (style.status === "closes") return all(NOTHING, true);
  if (style.status === "kicks") {
    return all(encodeLegacyReply({ text: style.kick ?? "Protocol error" }), true);
  }
  const answer = reading(() => answerFrame(style, identity, received));
  if (answer instanceof Truncated) return undefined;
  return answer instanceof Malformed ? all(NOTHING, true) : answer;
}

/** What a client's bytes come to: a value, or what is wrong with them. */
function reading<T>(read: () => T): T | Truncated | Malformed {
  try {
    return read();
  } catch (error) {
    if (error instanceof Truncated || error instanceof Malformed) return error;
    throw error;
  }
}

/** A ping, after which vanilla closes, or a request for a status. */
function answerFrame(style: SlpStyle, identity: ServerIdentity, received: Uint8Array): SlpAnswer {
  const end = frameEnd(received) ?? 0;
  const payload = decodeSlpPing(received);
  if (payload !== undefined) return { used: end, reply: encodeSlpPing(payload), close: true };
  const asked = decodeStatusRequest(received);
  if (asked === undefined || style.closesOn?.includes(asked.protocol)) {
    return { used: received.length, reply: NOTHING, close: true };
  }
  const json = (style.status as (identity: ServerIdentity, asked: Handshake) => string)(
    identity,
    asked,
  );
  const reply = encodeStatusResponse({
    json: new TextEncoder().encode(json),
    trailing: style.more === undefined ? NOTHING : encodeVarString(style.more),
  });
  return { used: frameEnd(received, end)!, reply, close: false };
}

/** Servers look at what came first: one byte, two, or the whole of 1.6. They do not close. */
function answerLegacy(
  { legacy, beta }: SlpStyle,
  identity: ServerIdentity,
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
