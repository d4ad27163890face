import * as lan from "../../../src/protocols/lan/mod.ts";
import * as nethernet from "../../../src/protocols/nethernet/mod.ts";
import { nethernetProtocol } from "../../../src/protocols/nethernet/mod.ts";
import { type Decoder, decoder } from "./decoder.ts";

const NETWORK_ID = 0x0102030405060708n;
const PORT = 19132;

/** NetherNet's decoders: of discovery on the LAN, and of the status over HTTP. */
export const NETHERNET_DECODERS: Record<string, Decoder> = {
  sealed: decoder(lan.openPacket, lan.sealPacket),
  packet: decoder(lan.decodeNethernetPacket, lan.encodeNethernetPacket),
  serverData: decoder(lan.decodeServerData, lan.encodeServerData, {
    statement: (data) => lan.discoveryStatement({ networkId: NETWORK_ID, data, flags: [] }),
  }),
  joinRequest: decoder(nethernet.decodeStatusRequest, nethernet.encodeStatusRequest),
  joinReply: decoder(
    (bytes) => {
      const reply = nethernet.decodeHttpReply(bytes);
      return { ...reply, game: nethernet.decodeStatus(reply) };
    },
    nethernet.encodeHttpReply,
    {
      partFlags: ["noLength"],
      statement: ({ game, ...reply }) =>
        nethernetProtocol.record({ reply, game, port: PORT, certificate: null }),
    },
  ),
};
