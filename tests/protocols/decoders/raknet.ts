import { raknet } from "../../../src/mod.ts";
import { raknetProtocol } from "../../../src/protocols/raknet/mod.ts";
import { type Decoder, decoder } from "./decoder.ts";

/** RakNet's decoders. */
export const RAKNET_DECODERS: Record<string, Decoder> = {
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
