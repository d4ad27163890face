/** All golden messages, by protocol. */
import type { Golden } from "./golden.ts";
import { QUERY } from "./query.ts";
import { RAKNET } from "./raknet.ts";
import { SLP } from "./slp.ts";

export * from "./golden.ts";
export { QUERY, RAKNET, SLP };

export const GOLDEN: readonly Golden[] = [...QUERY, ...RAKNET, ...SLP];
