/**
 * Simulates Query servers: forms of tokens, recognition of stat requests, and replies.
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
import type { SimulatedIdentity } from "../server_identity.ts";

/** Forms of a token in a handshake response. */
export type TokenForm = "vanilla" | "signed" | "unsigned" | "raw" | "unterminated" | "filled";

/** The Query behaviour of a software. */
export interface QueryStyle {
  readonly token: TokenForm;
  /** Whether a token is bound to the address, or to address and port. */
  readonly binding: "address" | "endpoint";
  /** Whether every handshake of a sender gets the same token. Default: a new one each time. */
  readonly keepsToken?: boolean;
  /**
   * Whether the token is invalid after any stat request, even after a request with a wrong token.
   */
  readonly singleUse?: boolean;
  /** The kind of reply to a stat request, by the number of bytes after its token. */
  readonly form: (padding: number) => "full" | "basic" | "none";
  readonly encode: (text: string) => Uint8Array;
  /** The eight characters at the start of a full stat. Default: `splitnum`. */
  readonly header?: string;
  /** The keys and values of a full stat, in order. */
  readonly pairs: (
    identity: SimulatedIdentity,
  ) => readonly (readonly [key: string, value: string])[];
  /** What a correct scanner reads. */
  readonly truth: (identity: SimulatedIdentity) => Statement;
}

/** Encodes a handshake response with a token. */
export function answerHandshake(style: QueryStyle, session: number, token: number): Uint8Array {
  const header = encodeQueryChallenge({ session, token: 0, raw: false, fill: 0 }).subarray(0, 5);
  const decimal = encodeLatin1(String(style.token === "unsigned" ? token : token | 0));
  switch (style.token) {
    case "raw":
      return encodeQueryChallenge({ session, token, raw: true, fill: 0 });
    case "unterminated":
      return concat(header, decimal);
    case "filled": // padded to twelve bytes after the session
      return concat(header, decimal, new Uint8Array(12 - decimal.length));
    default:
      return concat(header, decimal, [0]);
  }
}

/** Creates a token in the software's range from 32 random bits. */
export function drawToken(style: QueryStyle, bits: number): number {
  return style.token === "vanilla" ? bits & 0xffffff : bits;
}

/** Encodes the reply to a stat request with a valid token. */
export function answerStat(
  style: QueryStyle,
  identity: SimulatedIdentity,
  { session, padding }: Extract<QueryRequest, { type: "stat" }>,
): Uint8Array | undefined {
  const form = style.form(padding.length);
  if (form === "none") return undefined;
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
