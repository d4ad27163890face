/**
 * The protocols that blocksweep speaks, in order of rank. Probing, merging and reporting follow
 * this order. "How to add" in docs/architecture.md lists the steps for a new protocol.
 *
 * @module
 */
import { LAN_RANKS } from "./lan/discovery_facts.ts";
import { nethernetProtocol } from "./nethernet/mod.ts";
import type { Protocol } from "./protocol.ts";
import { queryProtocol } from "./query/mod.ts";
import { raknetProtocol } from "./raknet/mod.ts";
import { slpProtocol } from "./slp/mod.ts";
import { sqpProtocol } from "./sqp/mod.ts";
import { hasUsualPort } from "./usual_ports.ts";

/** All protocols. Their status types differ, so callers keep status and protocol together. */
export const PROTOCOLS: readonly Protocol[] = [
  raknetProtocol as Protocol,
  nethernetProtocol as Protocol,
  slpProtocol as Protocol,
  queryProtocol as Protocol,
  sqpProtocol as Protocol,
];

/** Whether a protocol has its own port beside the game's, as Query has, and so adds to a status of the game. */
export function hasOwnPort(protocol: string): boolean {
  return PROTOCOLS.some(({ name, reportsGamePort }) => name === protocol && reportsGamePort);
}

/** The protocols of a program, and those of them that it uses. */
export interface ProtocolSelection {
  /** The protocols to use, in order of rank. */
  readonly protocols: readonly Protocol[];
  /** Every protocol of the program, in order of rank. */
  readonly allProtocols: readonly Protocol[];
}

/** All protocol names that rows may contain, those of LAN discovery included, in order of rank. */
export function rankedNames(protocols: readonly Protocol[]): readonly string[] {
  return [...protocols.map(({ name }) => name), ...LAN_RANKS];
}

/** The protocols of a list that a scan uses if `--protocol` names none. */
export function usualProtocols(protocols: readonly Protocol[]): readonly Protocol[] {
  return protocols.filter((one) => !one.onlyNamed && hasUsualPort(one));
}

/**
 * The protocols of a list that the passes of an adaptive scan probe. The others only follow up: a few
 * guesses of a forger match the tokens of their replies, and passes are planned from replies.
 */
export function sweptProtocols(protocols: readonly Protocol[]): readonly Protocol[] {
  return protocols.filter(({ probe }) => !probe?.guessable);
}

/** The protocols of PROTOCOLS that a scan uses if `--protocol` names none. */
export const USUAL_PROTOCOLS: readonly Protocol[] = usualProtocols(PROTOCOLS);
