/** All golden messages, by protocol. */
import type { Golden } from "./golden.ts";
import { LAN } from "./lan.ts";
import { QUERY } from "./query.ts";
import { RAKNET } from "./raknet.ts";
import { SLP } from "./slp.ts";
import { SQP } from "./sqp.ts";

export * from "./golden.ts";
export { LAN, QUERY, RAKNET, SLP, SQP };

export const GOLDEN: readonly Golden[] = [...LAN, ...QUERY, ...RAKNET, ...SLP, ...SQP];
