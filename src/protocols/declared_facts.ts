/**
 * What the protocols of a list declare, for code that has a record and does not know its protocols.
 *
 * @module
 */
import { INCOMPLETE_FLAGS } from "../core/flags.ts";
import type { Protocol } from "./protocol.ts";

/** Whether a flag means that a record lacks a part of the server's status. */
export function isIncompleteFlag(flag: string, protocols: readonly Protocol[]): boolean {
  return INCOMPLETE_FLAGS.includes(flag) ||
    protocols.some(({ incompleteFlags }) => incompleteFlags?.includes(flag));
}
