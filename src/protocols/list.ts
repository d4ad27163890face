/**
 * The protocols that blocksweep speaks, in the order in which they are tried and reported. To add
 * one, write its folder and put it here.
 *
 * @module
 */
import type { Protocol } from "./protocol.ts";
import { queryProtocol } from "./query/mod.ts";
import { raknetProtocol } from "./raknet/mod.ts";
import { slpProtocol } from "./slp/mod.ts";
import { sqpProtocol } from "./sqp/mod.ts";

/** All protocols. Their status types differ: whoever asks keeps status and protocol together. */
export const PROTOCOLS: readonly Protocol[] = [
  raknetProtocol as Protocol,
  slpProtocol as Protocol,
  queryProtocol as Protocol,
  sqpProtocol as Protocol,
];

/** Those that are asked where none is named. */
export const USUAL_PROTOCOLS: readonly Protocol[] = PROTOCOLS.filter(({ onlyNamed }) => !onlyNamed);
