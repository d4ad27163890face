import * as sqp from "../../../src/protocols/sqp/mod.ts";
import { sqpProtocol } from "../../../src/protocols/sqp/mod.ts";
import { type Decoder, decoder } from "./decoder.ts";

const partFlags = ["lengthMismatch", "truncated"];

/** A decoder of a reply in one packet to a query for these chunks. */
function reply(...names: sqp.ChunkName[]): Decoder {
  const queried = names.reduce((bits, name) => bits | sqp.CHUNKS[name], 0);
  return decoder(
    (bytes) => {
      const packet = sqp.decodeSqpPacket(bytes);
      return packet &&
        { challenge: packet.challenge, last: packet.last, ...sqp.decodeReply([packet], queried) };
    },
    ({ challenge, version, ...chunks }) =>
      sqp.encodePackets(challenge, sqp.encodeChunks(chunks), undefined, version)[0],
    { partFlags, statement: (value) => sqpProtocol.record({ ...value, broken: false }) },
  );
}

/** SQP's decoders. Decoders of replies have the requested chunks as an argument. */
export const SQP_DECODERS: Record<string, Decoder> = {
  sqpRequest: decoder(
    sqp.decodeSqpRequest,
    (request) => request.type === "query" ? sqp.encodeQuery(request) : sqp.encodeChallengeRequest(),
  ),
  sqpChallenge: decoder(sqp.decodeSqpChallenge, sqp.encodeSqpChallenge),
  sqpPacket: decoder(sqp.decodeSqpPacket, sqp.encodeSqpPacket, { partFlags }),
  sqpInfo: reply("info"),
  sqpInfoMetrics: reply("info", "metrics"),
  sqpRules: reply("rules"),
  sqpPlayers: reply("players"),
  sqpTeams: reply("teams"),
  sqpMetrics: reply("metrics"),
};
