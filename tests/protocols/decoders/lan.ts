import * as lan from "../../../src/protocols/lan/mod.ts";
import { type Decoder, decoder } from "./decoder.ts";

/** The decoders of the local network. */
export const LAN_DECODERS: Record<string, Decoder> = {
  announcement: decoder(lan.decodeAnnouncement, lan.encodeAnnouncement, {
    statement: lan.announcementStatement,
  }),
};
