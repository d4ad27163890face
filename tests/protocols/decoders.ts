/** Every decoder by name, with its encoder, in the form in which the golden files call them. */
import { query, raknet } from "../../src/mod.ts";
import { queryProtocol } from "../../src/protocols/query/mod.ts";
import { raknetProtocol } from "../../src/protocols/raknet/mod.ts";
import type { Statement } from "../../src/protocols/protocol.ts";
import { decodeLatin1 } from "../../src/text.ts";

/** The session of the golden Query messages. */
export const SESSION = 0x01020304;

/** A decoder, its inverse, and what its values say in a record. */
export interface Decoder {
  decode(bytes: Uint8Array): unknown;
  encode(value: unknown): Uint8Array;
  statement?(value: unknown): Statement;
  /** Flags with which a part of a message may be a value. */
  readonly partFlags: readonly string[];
}

function decoder<T>(
  decode: (bytes: Uint8Array) => T | undefined,
  encode: (value: T) => Uint8Array,
  rest: { partFlags?: readonly string[]; statement?: (value: T) => Statement } = {},
): Decoder {
  return {
    decode,
    encode: encode as (value: unknown) => Uint8Array,
    partFlags: [],
    ...rest,
  } as Decoder;
}

const challenge = { session: SESSION, token: 1, raw: false, fill: 0, flags: [] };

export const DECODERS: Record<string, Decoder> = {
  request: decoder(
    query.decodeRequest,
    (request) =>
      request.type === "handshake"
        ? query.encodeHandshake(request.session)
        : query.encodeStatRequest(request.session, request.token, request.padding),
  ),
  challenge: decoder((bytes) => query.decodeChallenge(bytes, SESSION), query.encodeChallenge, {
    partFlags: ["unterminated"],
  }),
  stat: decoder(
    (bytes) => query.decodeStat(bytes, SESSION),
    (value) => value.form === "full" ? query.encodeFullStat(value) : query.encodeBasicStat(value),
    {
      partFlags: ["truncated", "noPlayerSection"],
      statement: (value) => queryProtocol.record({ challenge, fullLost: false, stat: value }),
    },
  ),
  ping: decoder(raknet.decodePing, raknet.encodePing),
  pong: decoder(raknet.decodePong, raknet.encodePong, {
    partFlags: ["lengthMismatch", "noAdvertisement"],
    statement: (pong) =>
      raknetProtocol.record({
        kind: "pong",
        pong,
        bedrock: pong.text && raknet.decodeAdvertisement(pong.text),
        echoed: true,
      }),
  }),
  refusal: decoder(raknet.decodeRefusal, raknet.encodeRefusal, {
    statement: (refusal) => raknetProtocol.record({ kind: "refusal", refusal }),
  }),
  advertiseSystem: decoder(raknet.decodeAdvertiseSystem, raknet.encodeAdvertiseSystem),
};

/** A value as JSON can hold it: bytes as Latin-1 text, big integers as decimal text. */
export function toJson(value: unknown): unknown {
  if (value instanceof Uint8Array) return decodeLatin1(value);
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== "object" || value === null) return value ?? null;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toJson(inner)]));
}
