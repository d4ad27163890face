/**
 * Query, the GameSpy 4 / UT3 protocol of Java servers and of much Bedrock software.
 *
 * All integers are big endian, but for the port in a basic stat.
 *
 *     request    fe fd  type 1  session 4  [token 4  [padding 4 or 8]]
 *                type 09: handshake (7 bytes); type 00: basic stat (11), full stat (15; Nukkit 19)
 *     handshake  09  session 4  token as decimal text  00          (Nukkit: 4 raw bytes  00)
 *     basic      00  session 4  motd 00  gametype 00  map 00  players 00  slots 00  port 2 LE  ip 00
 *     full       00  session 4  "splitnum" 00 80 00  (key 00 value 00)...  00
 *                01 "player_" 00 00  (name 00)...  00
 *
 * Servers tell basic from full by the number of bytes of the request, and not all by the same rule,
 * so a reply is classified by what it holds. No server masks the session id, but old Java servers
 * run it through a String: every byte of it has to be below 0x80.
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
const HEADER = 5; // type and session, in every reply

/** How a stat is asked for: by the number of bytes that follow the token. */
export const PADDING = {
  /** Basic stat: 11 bytes in all. */
  basic: 0,
  /** Full stat: 15 bytes in all. */
  full: 4,
  /** Full stat to a server whose token was raw (Nukkit): 19 bytes in all. */
  fullRaw: 8,
} as const;

/** A request, as a server reads it. */
export type QueryRequest =
  | { readonly type: "handshake"; readonly session: number }
  | {
    readonly type: "stat";
    readonly session: number;
    /** The token, as 32 bits. */
    readonly token: number;
    /** What follows the token: its length says what is asked for, its content nothing. */
    readonly padding: Uint8Array;
  };

/** The 7 bytes that ask for a token. */
export function encodeHandshake(session: number): Uint8Array<ArrayBuffer> {
  return concat(MAGIC, [HANDSHAKE], u32(session));
}

/**
 * The bytes that ask for a stat.
 *
 * @param padding How many zero bytes follow the token: see {@linkcode PADDING}.
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
 * Reads a request.
 *
 * @throws Truncated when it ends inside the session or the token.
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

/** What was odd about a handshake's answer. */
export type ChallengeFlag =
  /** No NUL ends the token. */
  | "unterminated"
  /** More than NULs follows the token; it is not read. */
  | "trailingBytes";

/** A server's answer to a handshake: the token to show with a stat. */
export interface Challenge {
  /** The session that it repeats. */
  readonly session: number;
  /** The token, as 32 bits. */
  readonly token: number;
  /** Whether it came as four raw bytes, as Nukkit sends it. */
  readonly raw: boolean;
  /** NUL bytes beyond the one that ends it: gophertunnel fills the body to 12 bytes. */
  readonly fill: number;
  /** What was odd. */
  readonly flags: readonly ChallengeFlag[];
}

/** The bytes of a handshake's answer; a decimal token is written signed, as servers do. */
export function encodeQueryChallenge(
  { session, token, raw, fill }: Omit<Challenge, "flags">,
): Uint8Array<ArrayBuffer> {
  const text = raw ? u32(token) : encodeLatin1(String(token | 0));
  return concat([HANDSHAKE], u32(session), text, new Uint8Array(1 + fill));
}

/**
 * Reads a handshake's answer.
 *
 * @param session When given, an answer to another session is another message.
 * @throws Truncated when it ends before the token.
 * @throws Malformed when the token is no number of 32 bits.
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
  if (!decimal) throw new Malformed("a token that is no number", HEADER);
  const value = Number(text);
  if (value < -(2 ** 31) || value >= 2 ** 32) throw new Malformed("a token beyond 32 bits", HEADER);
  const fill = end < 0 ? 0 : body.length - end - 1;
  const flags: ChallengeFlag[] = end < 0 ? ["unterminated"] : onlyFill ? [] : ["trailingBytes"];
  return { session: found, token: value >>> 0, raw: false, fill, flags };
}

/** The session in a reply of this type; `undefined` when it is another message. */
export function readHeader(bytes: Uint8Array, type: number, what: string): number | undefined {
  if (bytes[0] !== type) return undefined;
  if (bytes.length < HEADER) throw new Truncated(`${what} reply`, 0, HEADER, bytes.length);
  return new Reader(bytes, 1).u32("session");
}
