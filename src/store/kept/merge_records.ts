/**
 * Completes a record with the columns of an earlier record of the same server.
 *
 * @module
 */
import { FIELDS, type ServerRecord } from "../../core/record.ts";
import type { Protocol } from "../../protocols/protocol.ts";

/** What a record takes from an earlier one. */
export interface KeptParts {
  /** Names of protocols in which the server was not queried. */
  readonly unqueried: readonly string[];
  /** Names of protocols in which the server was queried, did not reply, and is expected to reply again. */
  readonly missing: readonly string[];
  /** Whether parts of the replies were lost. If so, all columns except those of players stay. */
  readonly isLossy?: boolean;
  /** Further columns that stay if the record does not have them. Default: none. */
  readonly columns?: readonly (keyof ServerRecord)[];
  /** Every protocol of the program. */
  readonly allProtocols: readonly Protocol[];
}

/** Columns that are valid for one reply or scan only. A record never takes them from an earlier one. */
const OWN_COLUMNS = [
  "host",
  "port",
  "seen_at",
  "latency_ms",
  "alias_of",
  "requested_as",
  "scan_id",
] as const satisfies (keyof ServerRecord)[];
/** Columns that any protocol may fill. */
const PROTOCOL_COLUMNS = FIELDS
  .filter(({ name, nullable }) => nullable && name !== "extras" && !isOwn(name))
  .map(({ name }) => name);
/** Columns that are computed from the replies in all protocols together. */
const CLASSIFICATION = ["edition", "software", "software_confidence", "proxy"] as const;

function isOwn(name: keyof ServerRecord): boolean {
  return (OWN_COLUMNS as readonly string[]).includes(name);
}

/** The columns of a record with the given names. */
function pick(
  record: ServerRecord,
  names: readonly (keyof ServerRecord)[],
): Partial<ServerRecord> {
  return Object.fromEntries(names.map((name) => [name, record[name]]));
}

/** The new record, completed with columns of the earlier one. */
export function mergeRecords(
  earlier: ServerRecord,
  current: ServerRecord,
  { unqueried, missing, isLossy = false, columns = [], allProtocols }: KeptParts,
): ServerRecord {
  const isMissing = missing.length > 0 || isLossy;
  const names = isMissing ? playerNames(earlier, current) : {};
  if (isLossy) return withPlayersOf(earlier, { ...current, ...names });
  const absent = [...unqueried, ...missing];
  const filled: Partial<ServerRecord> = Object.fromEntries(
    [...(absent.length > 0 ? PROTOCOL_COLUMNS : []), ...columns]
      .map((name) => [name, current[name] ?? earlier[name]]),
  );
  if (absent.length === 0) return { ...current, ...filled };
  if (addsVersion(earlier.software, current.software)) {
    filled.software = earlier.software;
    filled.software_confidence = earlier.software_confidence;
  }
  const merged = {
    ...current,
    ...filled,
    ...protocolsOf([...current.protocols, ...absent], allProtocols),
    extras: { ...pickFacts(earlier, absent), ...current.extras },
  };
  if (!isMissing) return merged;
  const standing = standingColumns(earlier, current.protocols, missing, allProtocols);
  return { ...merged, ...standing, ...names, flags: earlier.flags };
}

/** The earlier record with the new one's times and players. */
function withPlayersOf(earlier: ServerRecord, current: ServerRecord): ServerRecord {
  const { players_online, players, guid } = current;
  const own = pick(current, OWN_COLUMNS);
  return { ...earlier, ...own, players_online, players, guid: guid ?? earlier.guid };
}

/** The columns `protocol` and `protocols`, in order of rank. */
function protocolsOf(
  names: readonly string[],
  allProtocols: readonly Protocol[],
): Pick<ServerRecord, "protocol" | "protocols"> {
  const protocols = allProtocols.filter(({ name }) => names.includes(name)).map(({ name }) => name);
  return { protocol: protocols[0], protocols };
}

/** The earlier facts of protocols. */
function pickFacts({ extras }: ServerRecord, names: readonly string[]): ServerRecord["extras"] {
  return Object.fromEntries(names.flatMap((name) => {
    const facts = extras?.[name];
    return facts === undefined ? [] : [[name, facts]];
  }));
}

/**
 * The earlier columns that stay: those that a missing protocol fills in preference to the protocols that
 * replied, by the same rule as when replies are merged, and those that are computed from all replies.
 */
function standingColumns(
  earlier: ServerRecord,
  replied: readonly string[],
  missing: readonly string[],
  allProtocols: readonly Protocol[],
): Partial<ServerRecord> {
  const preferred = PROTOCOL_COLUMNS.filter((name) => {
    const isFirst = ({ fillsFirst = [] }: Protocol) => fillsFirst.includes(name);
    const best = [...allProtocols.filter(isFirst), ...allProtocols]
      .find((one) => replied.includes(one.name) || missing.includes(one.name));
    return best !== undefined && missing.includes(best.name);
  });
  const names = [...preferred, ...CLASSIFICATION]
    .filter((name) => name !== "players_online" && name !== "players");
  return pick(earlier, names.filter((name) => earlier[name] !== null));
}

/** The names of players: the earlier ones if the reply has none and the number is the same. */
function playerNames(
  earlier: ServerRecord,
  { players, players_online }: ServerRecord,
): Pick<ServerRecord, "players"> {
  const isSameNumber = players_online === earlier.players_online;
  return { players: players ?? (isSameNumber ? earlier.players : null) };
}

/** Whether `earlier` is the name in `current` with a version: some protocols publish only the name. */
function addsVersion(earlier: string | null, current: string | null): boolean {
  return current !== null && (earlier?.startsWith(`${current} `) ?? false);
}
