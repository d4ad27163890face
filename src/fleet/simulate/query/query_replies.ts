/**
 * The Query half of simulated servers: tokens, and what is taken for a request of which stat.
 *
 * @module
 */
import { concat } from "../../../core/bytes.ts";
import {
  encodeBasicStat,
  encodeFullStat,
  encodeQueryChallenge,
  type QueryRequest,
} from "../../../protocols/query/mod.ts";
import type { Statement } from "../../../protocols/protocol.ts";
import { encodeLatin1 } from "../../../core/text.ts";
import type { ServerIdentity } from "../server_identity.ts";

/** How a token is written. */
export type TokenForm = "vanilla" | "signed" | "unsigned" | "raw" | "unterminated" | "filled";

/** How a software answers Query. */
export interface QueryStyle {
  /** How it writes tokens. */
  readonly token: TokenForm;
  /** Whether a token counts for the address alone, or for address and port. */
  readonly binding: "address" | "endpoint";
  /** Whether the first stat uses a token up, even a wrong one. */
  readonly singleUse?: boolean;
  /** What it answers to a stat request with so many bytes behind the token. */
  readonly form: (padding: number) => "full" | "basic" | "silent";
  /** How it writes text. */
  readonly encode: (text: string) => Uint8Array;
  /** The eight letters at the start of a full stat. Default: `splitnum`. */
  readonly header?: string;
  /** Keys and values of a full stat. */
  readonly pairs: (identity: ServerIdentity) => readonly (readonly [key: string, value: string])[];
  /** What a reader should make of it. */
  readonly truth: (identity: ServerIdentity) => Statement;
}

/** The datagram that answers a handshake with this token. */
export function answerHandshake(style: QueryStyle, session: number, token: number): Uint8Array {
  const header = encodeQueryChallenge({ session, token: 0, raw: false, fill: 0 }).subarray(0, 5);
  const decimal = encodeLatin1(String(style.token === "unsigned" ? token : token | 0));
  switch (style.token) {
    case "raw":
      return encodeQueryChallenge({ session, token, raw: true, fill: 0 });
    case "unterminated":
      return concat(header, decimal);
    case "filled": // to twelve bytes behind the session
      return concat(header, decimal, new Uint8Array(12 - decimal.length));
    default:
      return concat(header, decimal, [0]);
  }
}

/** The token that a software may hand out, from 32 random bits. */
export function drawToken(style: QueryStyle, bits: number): number {
  return style.token === "vanilla" ? bits & 0xffffff : bits;
}

/** The datagram that answers a stat request whose token was accepted. */
export function answerStat(
  style: QueryStyle,
  identity: ServerIdentity,
  { session, padding }: Extract<QueryRequest, { type: "stat" }>,
): Uint8Array | undefined {
  const form = style.form(padding.length);
  if (form === "silent") return undefined;
  const pairs = style.pairs(identity);
  const value = (key: string) => style.encode(pairs.find(([other]) => other === key)?.[1] ?? "");
  if (form === "basic") {
    return encodeBasicStat({
      session,
      motd: value("hostname"),
      gametype: value("gametype"),
      map: value("map"),
      online: value("numplayers"),
      max: value("maxplayers"),
      port: Number(pairs.find(([key]) => key === "hostport")![1]),
      ip: value("hostip"),
    });
  }
  return encodeFullStat({
    session,
    header: style.header ?? "splitnum",
    pairs: pairs.map(([key, text]) => [key, style.encode(text)]),
    players: identity.players.map(style.encode),
  });
}
