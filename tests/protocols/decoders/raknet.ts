import * as raknet from "../../../src/protocols/raknet/mod.ts";
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
  openRequest1: decoder(raknet.decodeOpenRequest1, raknet.encodeOpenRequest1),
  openReply1: decoder(raknet.decodeOpenReply1, raknet.encodeOpenReply1, {
    partFlags: ["foreignMtu"],
  }),
  openRequest2: decoder(raknet.decodeOpenRequest2, raknet.encodeOpenRequest2),
  openReply2: decoder(raknet.decodeOpenReply2, raknet.encodeOpenReply2),
  frameSet: decoder(raknet.decodeFrameSet, raknet.encodeFrameSet),
  receipt: decoder(raknet.decodeAcknowledgement, raknet.encodeAcknowledgement),
  connected: decoder(raknet.decodeConnected, raknet.encodeConnected, {
    partFlags: ["fewAddresses"],
  }),
};
