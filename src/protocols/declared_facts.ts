/**
 * Properties that the protocols of a list declare, for code that handles records of any protocol.
 *
 * @module
 */
import { INCOMPLETE_FLAGS } from "../core/flags.ts";
import type { Facts, ServerRecord } from "../core/record.ts";
import type { Protocol } from "./protocol.ts";

/** The facts about mods: their protocol, the number of mods, and an object whose keys are their names. */
export const MODS_FACTS = { protocol: "slp", count: "mods_count", names: "mods" } as const;

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

/**
 * The siblings of protocols, in order of rank: those in which a server may reply in place of these.
 * Siblings that are not in the list are left out.
 *
 * @param names Names of protocols. None of these is in the result.
 */
export function siblingsOf(
  names: readonly string[],
  allProtocols: readonly Protocol[],
): readonly Protocol[] {
  const siblings = allProtocols.flatMap(({ name, siblings = [] }) =>
    names.includes(name) ? siblings : []
  );
  return allProtocols.filter(({ name }) => siblings.includes(name) && !names.includes(name));
}

/** Whether a server that is known to speak protocols is known for a protocol: for it or for a sibling. */
export function isKnownFor(
  { name, siblings = [] }: Protocol,
  known: readonly string[],
): boolean {
  return [name, ...siblings].some((one) => known.includes(one));
}

/**
 * The protocols of a server that its reply has replaced. If the server replies in a sibling in which it
 * did not reply before, and not in the old protocol, it has changed its transport. The protocols over
 * the old transport that did not reply either are replaced too: they have used the same socket.
 *
 * @param before Names of the protocols of the earlier reply.
 * @param replied Names of the protocols of the reply.
 * @returns Names in the order of `before`; empty: the server has not changed its transport.
 */
export function replacedProtocols(
  before: readonly string[],
  replied: readonly string[],
  allProtocols: readonly Protocol[],
): readonly string[] {
  const isNew = (name: string) => replied.includes(name) && !before.includes(name);
  const silent = allProtocols.filter(({ name }) =>
    before.includes(name) && !replied.includes(name)
  );
  const replaced = silent.filter(({ siblings }) => siblings?.some(isNew));
  const gone = silent.filter((one) =>
    replaced.some(({ transport }) => transport === one.transport)
  );
  return before.filter((name) => gone.some((one) => one.name === name));
}

/**
 * Whether a reply without a GUID keeps the earlier one: its protocols have none, but a sibling of theirs
 * has GUIDs that show restarts. If the server changes back to the sibling, the two GUIDs are compared.
 *
 * @param replied Names of the protocols of the reply.
 */
export function keepsGuid(replied: readonly string[], allProtocols: readonly Protocol[]): boolean {
  const hasGuid = ({ guidChangesOnRestart }: Protocol) => guidChangesOnRestart !== undefined;
  return siblingsOf(replied, allProtocols).some(hasGuid);
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
