/** Every decoder by name, with its encoder, in the form in which the golden files call them. */
import type { Decoder } from "./decoder.ts";
import { LAN_DECODERS } from "./lan.ts";
import { QUERY_DECODERS } from "./query.ts";
import { RAKNET_DECODERS } from "./raknet.ts";
import { SLP_DECODERS } from "./slp.ts";
import { SQP_DECODERS } from "./sqp.ts";

export * from "./decoder.ts";

export const DECODERS: Record<string, Decoder> = {
  ...LAN_DECODERS,
  ...QUERY_DECODERS,
  ...RAKNET_DECODERS,
  ...SLP_DECODERS,
  ...SQP_DECODERS,
};
