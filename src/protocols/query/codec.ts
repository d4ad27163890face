/**
 * Query, the GameSpy 4 / UT3 protocol of Java servers and of much Bedrock software.
 *
 * All integers are big endian, except the port in a basic stat.
 *
 *     request    fe fd  type 1  session 4  [token 4  [padding 4 or 8]]
 *                type 09: handshake (7 bytes); type 00: basic stat (11), full stat (15; Nukkit 19)
 *     handshake  09  session 4  token as decimal text  00          (Nukkit: 4 raw bytes  00)
 *     basic      00  session 4  motd 00  gametype 00  map 00  players 00  slots 00  port 2 LE  ip 00
 *     full       00  session 4  "splitnum" 00 80 00  (key 00 value 00)...  00
 *                01 "player_" 00 00  (name 00)...  00      (Paper 1.17: 01 and single 00 are 4 bytes)
 *
 * Servers choose basic or full by the size of the request, with different rules, so the decoder
 * classifies a stat by its content. No server masks the session id. Old Java servers convert the
 * session id to a String and back, so each of its bytes must be below 0x80.
 *
 * Sources: the Query pages of wiki.vg, vanilla 1.7.10 and 1.16 (QueryThreadGs4), PocketMine-MP
 * (QueryHandler.php), Nukkit (QueryHandler.java), WaterdogPE, BungeeCord, Velocity, Glowstone.
 *
 * @module
 */
import { concat, hasBytes, Malformed, Reader, Truncated, u32 } from "../../core/bytes.ts";
import { decodeLatin1, encodeLatin1 } from "../../core/text.ts";

const MAGIC = Uint8Array.of(0xfe, 0xfd);
const HANDSHAKE = 0x09;
const STAT = 0x00;
const HEADER = 5; // size of type and session, at the start of every reply

/** Number of zero bytes after the token of a stat request, by the kind of stat that it requests. */
export const PADDING = {
  /** Basic stat: 11 bytes in all. */
  basic: 0,
  /** Full stat: 15 bytes in all. */
  full: 4,
  /** Full stat to a server whose token was raw (Nukkit): 19 bytes in all. */
  fullRaw: 8,
} as const;

/** A request of the Query protocol, as a server decodes it. */
export type QueryRequest =
  | { readonly type: "handshake"; readonly session: number }
  | {
    readonly type: "stat";
    readonly session: number;
    /** The token of the handshake, 32 bits. */
    readonly token: number;
    /**
     * The bytes after the token: their number selects the kind of stat, and their values have no
     * meaning.
     */
    readonly padding: Uint8Array;
  };

/** Encodes a handshake: the 7-byte request for a token. */
export function encodeHandshake(session: number): Uint8Array<ArrayBuffer> {
  return concat(MAGIC, [HANDSHAKE], u32(session));
}

/**
 * Encodes a request for a stat.
 *
 * @param padding The bytes after the token, or the number of zero bytes: see {@linkcode PADDING}.
 */
export function encodeStatRequest(
  session: number,
  token: number,
  padding: number | Uint8Array,
): Uint8Array<ArrayBuffer> {
  const tail = typeof padding === "number" ? new Uint8Array(padding) : padding;
  return concat(MAGIC, [STAT], u32(session), u32(token), tail);
}

/**
 * Decodes a request, as a server does.
 *
 * @returns `undefined` for another message.
 * @throws Truncated when the message ends inside the session or the token.
 */
export function decodeQueryRequest(bytes: Uint8Array): QueryRequest | undefined {
  if (!hasBytes(bytes, MAGIC, 0)) return undefined;
  const reader = new Reader(bytes, 2);
  const type = reader.u8("type");
  if (type !== HANDSHAKE && type !== STAT) return undefined;
  const session = reader.u32("session");
  if (type === HANDSHAKE) return { type: "handshake", session };
  return { type: "stat", session, token: reader.u32("token"), padding: reader.rest() };
}

/** A server's reply to a handshake: the token that stat requests must repeat. */
export interface Challenge {
  /** The session of the handshake. */
  readonly session: number;
  /** The token, 32 bits. */
  readonly token: number;
  /** Whether the token is four raw bytes, as in Nukkit, instead of decimal text. */
  readonly raw: boolean;
  /** NUL bytes after the one that ends the token: gophertunnel pads the body to 12 bytes. */
  readonly fill: number;
  /** Anomalies that the decoder found. */
  readonly flags: readonly (
    /** No NUL ends the token. */
    | "unterminated"
    /** Bytes other than NUL follow the token; they are ignored. */
    | "trailingBytes"
  )[];
}

/** An anomaly of the reply to a handshake. */
export type ChallengeFlag = Challenge["flags"][number];

/** Encodes the reply to a handshake. A decimal token is signed, as servers write it. */
export function encodeQueryChallenge(
  { session, token, raw, fill }: Omit<Challenge, "flags">,
): Uint8Array<ArrayBuffer> {
  const text = raw ? u32(token) : encodeLatin1(String(token | 0));
  return concat([HANDSHAKE], u32(session), text, new Uint8Array(1 + fill));
}

/**
 * Decodes the reply to a handshake.
 *
 * @param session The session to accept. Default: any session.
 * @returns `undefined` for another message or another session.
 * @throws Truncated when the message ends before the token.
 * @throws Malformed when the token is not a 32-bit number.
 *
 * @example A negative token
 * ```ts
 * import { query } from "blocksweep/protocols";
 * import { assertEquals } from "@std/assert";
 *
 * const reply = Uint8Array.fromHex("09010203042d3133333700"); // "-1337"
 * assertEquals(query.decodeQueryChallenge(reply)?.token, 0xfffffac7);
 * ```
 */
export function decodeQueryChallenge(bytes: Uint8Array, session?: number): Challenge | undefined {
  const found = readHeader(bytes, HANDSHAKE, "handshake");
  if (found === undefined || (session !== undefined && found !== session)) return undefined;
  const body = bytes.subarray(HEADER);
  if (body.length === 0) throw new Truncated("token", HEADER, 1, 0);
  const end = body.indexOf(0);
  const text = decodeLatin1(end < 0 ? body : body.subarray(0, end));
  const decimal = /^-?[0-9]{1,11}$/.test(text);
  const onlyFill = end >= 0 && body.subarray(end).every((byte) => byte === 0);
  if (bytes.length === 10 && bytes[9] === 0 && !(decimal && onlyFill)) {
    const token = new Reader(bytes, HEADER).u32("token");
    return { session: found, token, raw: true, fill: 0, flags: [] };
  }
  if (!decimal) throw new Malformed("a token that is not a number", HEADER);
  const value = Number(text);
  if (value < -(2 ** 31) || value >= 2 ** 32) throw new Malformed("a token beyond 32 bits", HEADER);
  const fill = end < 0 ? 0 : body.length - end - 1;
  const flags: ChallengeFlag[] = end < 0 ? ["unterminated"] : onlyFill ? [] : ["trailingBytes"];
  return { session: found, token: value >>> 0, raw: false, fill, flags };
}

/** Reads the session of a reply of this type; `undefined` for another message. */
export function readHeader(bytes: Uint8Array, type: number, what: string): number | undefined {
  if (bytes[0] !== type) return undefined;
  if (bytes.length < HEADER) throw new Truncated(`${what} reply`, 0, HEADER, bytes.length);
  return new Reader(bytes, 1).u32("session");
}
