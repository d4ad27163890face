import * as query from "../../../src/protocols/query/mod.ts";
import { queryProtocol } from "../../../src/protocols/query/mod.ts";
import { type Decoder, decoder } from "./decoder.ts";

/** The session of the golden messages. */
const SESSION = 0x01020304;

const challenge = { session: SESSION, token: 1, raw: false, fill: 0, flags: [] };

/** Query's decoders. */
export const QUERY_DECODERS: Record<string, Decoder> = {
  request: decoder(
    query.decodeQueryRequest,
    (request) =>
      request.type === "handshake"
        ? query.encodeHandshake(request.session)
        : query.encodeStatRequest(request.session, request.token, request.padding),
  ),
  challenge: decoder(
    (bytes) => query.decodeQueryChallenge(bytes, SESSION),
    query.encodeQueryChallenge,
    {
      partFlags: ["unterminated"],
    },
  ),
  stat: decoder(
    (bytes) => query.decodeStat(bytes, SESSION),
    (value) => value.form === "full" ? query.encodeFullStat(value) : query.encodeBasicStat(value),
    {
      partFlags: ["truncated", "noPlayerSection"],
      statement: (value) => queryProtocol.record({ challenge, fullLost: false, stat: value }),
    },
  ),
};
