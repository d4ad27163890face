import { lan } from "../../../src/entry/protocols.ts";
import { type Decoder, decoder } from "./decoder.ts";

const NETWORK_ID = 0x0102030405060708n;

/** The decoders of the local network. */
export const LAN_DECODERS: Record<string, Decoder> = {
  announcement: decoder(lan.decodeAnnouncement, lan.encodeAnnouncement, {
    statement: lan.announcementStatement,
  }),
  sealed: decoder(lan.openPacket, lan.sealPacket),
  packet: decoder(lan.decodeNethernetPacket, lan.encodeNethernetPacket),
  serverData: decoder(lan.decodeServerData, lan.encodeServerData, {
    statement: (data) => lan.nethernetStatement({ networkId: NETWORK_ID, data, flags: [] }),
  }),
};
