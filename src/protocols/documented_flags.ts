/**
 * All flags that a record may have, with their meanings.
 *
 * @module
 */
import { type FlagMeanings, GENERAL_FLAGS, PLAYER_FLAGS } from "../core/flags.ts";
import { LAN_FLAGS } from "./lan/discovery_facts.ts";
import { PROTOCOLS } from "./list.ts";
import type { Protocol } from "./protocol.ts";

/** A flag of a record. */
export interface DocumentedFlag {
  readonly name: string;
  /** What sets the flag: the name of a protocol, `any` protocol, `LAN worlds`, or `databases`. */
  readonly setBy: string;
  /** Whether only a scan with `--verify` sets the flag. */
  readonly isOfVerify: boolean;
  /** What the flag means, in one line. */
  readonly meaning: string;
}

/** The flags of all protocols, then those of each protocol in order of rank. */
export function documentedFlags(protocols: readonly Protocol[] = PROTOCOLS): DocumentedFlag[] {
  return [
    ...flagsOf("any", GENERAL_FLAGS),
    ...protocols.flatMap(({ name, flags, verify }) => [
      ...flagsOf(name, flags),
      ...flagsOf(name, verify?.flags, true),
    ]),
    ...flagsOf("LAN worlds", LAN_FLAGS),
    ...flagsOf("databases", PLAYER_FLAGS),
  ];
}

function flagsOf(
  setBy: string,
  meanings: FlagMeanings = {},
  isOfVerify = false,
): DocumentedFlag[] {
  return Object.entries(meanings).map(([name, meaning]) => ({ name, setBy, isOfVerify, meaning }));
}
