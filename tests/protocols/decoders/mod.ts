/** Every decoder with its encoder, by the name in the golden files. */
import type { Decoder } from "./decoder.ts";
import { LAN_DECODERS } from "./lan.ts";
import { NETHERNET_DECODERS } from "./nethernet.ts";
import { QUERY_DECODERS } from "./query.ts";
import { RAKNET_DECODERS } from "./raknet.ts";
import { SLP_DECODERS } from "./slp.ts";
import { SQP_DECODERS } from "./sqp.ts";

export * from "./decoder.ts";

export const DECODERS: Record<string, Decoder> = {
  ...LAN_DECODERS,
  ...NETHERNET_DECODERS,
  ...QUERY_DECODERS,
  ...RAKNET_DECODERS,
  ...SLP_DECODERS,
  ...SQP_DECODERS,
};
