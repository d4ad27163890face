/**
 * Completes a record with the columns of an earlier record of the same server.
 *
 * @module
 */
import { classify } from "../../classify/mod.ts";
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
  "players",
] as const satisfies (keyof ServerRecord)[];
/** Columns that any protocol may fill. */
const PROTOCOL_COLUMNS = FIELDS
  .filter(({ name, nullable }) => nullable && name !== "extras" && !isOwn(name))
  .map(({ name }) => name);
/** Columns that are computed from the replies in all protocols together. */
const COMPUTED: readonly (keyof ServerRecord)[] = ["software", "software_confidence", "proxy"];

/** Columns that stay if a reply lacks them and has lost parts of the status, as the earlier reply had. */
export const COLUMNS_KEPT_AT_LOSS: readonly (keyof ServerRecord)[] = PROTOCOL_COLUMNS
  .filter((name) => name !== "players_online" && !COMPUTED.includes(name));

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
  if (isLossy) return withCountOf(earlier, current);
  const absent = [...unqueried, ...missing];
  const filled: Partial<ServerRecord> = Object.fromEntries(
    [...(absent.length > 0 ? PROTOCOL_COLUMNS : []), ...columns]
      .map((name) => [name, current[name] ?? earlier[name]]),
  );
  if (absent.length === 0) return { ...current, ...filled };
  const prevailing = prevailingColumns(current.protocols, absent, allProtocols);
  const merged = {
    ...current,
    ...filled,
    ...pickKnown(earlier, prevailing.filter((name) => !COMPUTED.includes(name))),
    ...protocolsOf([...current.protocols, ...absent], allProtocols),
    extras: { ...pickFacts(earlier, absent), ...current.extras },
  };
  if (isMissing) {
    const computed = pickKnown(earlier, ["edition", ...COMPUTED]);
    return { ...merged, ...computed, flags: earlier.flags };
  }
  const flags = [...current.flags, ...flagsOf(earlier, unqueried, allProtocols)];
  const all = { ...merged, flags: [...new Set(flags)].sort() };
  const isWhole = all.protocols.every((name) => all.extras[name] !== undefined);
  const classification = isWhole ? classify(all) : undefined;
  return classification === undefined || classification.software_confidence === null
    ? { ...all, ...unclassifiedSoftware(earlier, current, prevailing) }
    : { ...all, ...classification };
}

/**
 * The software, if no rule of the classification applies to the replies in all protocols together: the
 * new one, unless it lacks the earlier version or the protocol of the earlier one prevails.
 */
function unclassifiedSoftware(
  earlier: ServerRecord,
  current: ServerRecord,
  prevailing: readonly (keyof ServerRecord)[],
): Partial<ServerRecord> {
  const isUnclassified = (current.software_confidence ?? earlier.software_confidence) === null;
  const stays = current.software === null || addsVersion(earlier.software, current.software) ||
    isUnclassified && earlier.software !== null && prevailing.includes("software");
  return pick(stays ? earlier : current, ["software", "software_confidence"]);
}

/** The earlier flags that only the given protocols have. */
function flagsOf(
  { flags }: ServerRecord,
  names: readonly string[],
  allProtocols: readonly Protocol[],
): string[] {
  const own = allProtocols.filter(({ name }) => names.includes(name));
  return flags.filter((flag) => own.some((one) => Object.hasOwn(one.flags ?? {}, flag)));
}

/** The earlier record with the new one's times and players. */
function withCountOf(earlier: ServerRecord, current: ServerRecord): ServerRecord {
  const { players_online, guid } = current;
  const own = pick(current, OWN_COLUMNS);
  return { ...earlier, ...own, players_online, guid: guid ?? earlier.guid };
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
 * The columns that protocols without a reply fill in preference to the protocols that replied, by the
 * same rule as when replies are merged. Players are those of the reply.
 */
function prevailingColumns(
  replied: readonly string[],
  absent: readonly string[],
  allProtocols: readonly Protocol[],
): (keyof ServerRecord)[] {
  return PROTOCOL_COLUMNS.filter((name) => {
    if (name === "players_online") return false;
    const isFirst = ({ fillsFirst = [] }: Protocol) => fillsFirst.includes(name);
    const fills = allProtocols.filter(({ columns = [name] }) => columns.includes(name));
    const best = [...fills.filter(isFirst), ...fills]
      .find((one) => replied.includes(one.name) || absent.includes(one.name));
    return best !== undefined && absent.includes(best.name);
  });
}

/** Those of a record's columns with the given names that have a value. */
function pickKnown(
  record: ServerRecord,
  names: readonly (keyof ServerRecord)[],
): Partial<ServerRecord> {
  return pick(record, names.filter((name) => record[name] !== null));
}

/** Whether `earlier` is the name in `current` with a version: some protocols publish only the name. */
function addsVersion(earlier: string | null, current: string | null): boolean {
  return current !== null && (earlier?.startsWith(`${current} `) ?? false);
}
