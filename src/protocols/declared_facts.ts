/**
 * Properties that the protocols of a list declare, for code that handles records of any protocol.
 *
 * @module
 */
import { INCOMPLETE_FLAGS } from "../core/flags.ts";
import type { Facts, ServerRecord } from "../core/record.ts";
import type { Protocol } from "./protocol.ts";

/** Whether a flag means that a record lacks a part of the server's status. */
export function isIncompleteFlag(flag: string, protocols: readonly Protocol[]): boolean {
  return INCOMPLETE_FLAGS.includes(flag) ||
    protocols.some(({ incompleteFlags }) => incompleteFlags?.includes(flag));
}

/** Whether a flag means that values of a record may be shorter than those of the server's status. */
export function isShorteningFlag(flag: string, protocols: readonly Protocol[]): boolean {
  return isIncompleteFlag(flag, protocols) ||
    protocols.some(({ limitFlags }) => limitFlags?.includes(flag));
}

/** The columns that only the checks of `--verify` fill reliably. */
export function verifiedColumns(protocols: readonly Protocol[]): (keyof ServerRecord)[] {
  return protocols.flatMap(({ verify }) => verify?.columns ?? []);
}

/** The columns that scans fill and polls do not: a poll keeps their values. */
export function scanOnlyColumns(protocols: readonly Protocol[]): (keyof ServerRecord)[] {
  return ["alias_of", ...verifiedColumns(protocols)];
}

/** A record without names of players: the column, and the facts that protocols declare. */
export function withoutPlayers(
  record: ServerRecord,
  protocols: readonly Protocol[],
): ServerRecord {
  const declared = new Map(protocols.map(({ name, playerFacts }) => [name, playerFacts]));
  const extras = record.extras && Object.fromEntries(
    Object.entries(record.extras).map(([protocol, facts]) => {
      const names = declared.get(protocol) ?? [];
      return [protocol, names.some((name) => name in facts) ? without(facts, names) : facts];
    }),
  );
  return { ...record, players: null, extras };
}

function without(facts: Facts, names: readonly string[]): Facts {
  return Object.fromEntries(Object.entries(facts).filter(([name]) => !names.includes(name)));
}
