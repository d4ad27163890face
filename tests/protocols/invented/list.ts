/** The protocols of blocksweep and two invented ones, which take one line each. */
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import type { Protocol } from "../../../src/protocols/protocol.ts";
import { heraldProtocol } from "./herald/mod.ts";
import { ledgerProtocol } from "./ledger/mod.ts";

export const WITH_INVENTED: readonly Protocol[] = [
  ...PROTOCOLS,
  heraldProtocol as Protocol,
  ledgerProtocol as Protocol,
];
