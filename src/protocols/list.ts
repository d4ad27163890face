/**
 * The protocols that blocksweep speaks, in order of rank: so they are tried, merged and reported. To
 * add one, write its folder and put it here.
 *
 * @module
 */
import { LAN_RANKS } from "./lan/discovery_facts.ts";
import type { Protocol } from "./protocol.ts";
import { queryProtocol } from "./query/mod.ts";
import { raknetProtocol } from "./raknet/mod.ts";
import { slpProtocol } from "./slp/mod.ts";
import { sqpProtocol } from "./sqp/mod.ts";
import { hasUsualPort } from "./usual_ports.ts";

/** All protocols. Their status types differ: whoever asks keeps status and protocol together. */
export const PROTOCOLS: readonly Protocol[] = [
  raknetProtocol as Protocol,
  slpProtocol as Protocol,
  queryProtocol as Protocol,
  sqpProtocol as Protocol,
];

/** All names of protocols that rows may hold, in order of rank. */
export function rankedNames(protocols: readonly Protocol[]): readonly string[] {
  return [...protocols.map(({ name }) => name), ...LAN_RANKS];
}

/** Those of them that are sent where none is named. */
export function usualProtocols(protocols: readonly Protocol[]): readonly Protocol[] {
  return protocols.filter((one) => !one.onlyNamed && hasUsualPort(one));
}

/** The usual ones of PROTOCOLS. */
export const USUAL_PROTOCOLS: readonly Protocol[] = usualProtocols(PROTOCOLS);
