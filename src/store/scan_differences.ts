/**
 * Finds the differences between two scans of a database: new, returned, lost and changed servers.
 *
 * @module
 */
import { type Address, parseAddress } from "../core/address.ts";
import { InputError } from "../core/errors.ts";
import { parseTarget, type Target } from "../targets/parse.ts";
import { type Range, RangeSet } from "../targets/ranges.ts";
import {
  type Database,
  isInList,
  listValue,
  type Row,
  timeParameter,
} from "./database/database.ts";
import { rangeOf } from "./compared_scans.ts";
import type { ColumnChange } from "./events/watch_event.ts";
import { readMembers } from "./members/members.ts";
import { readJson } from "./rows/json_cells.ts";
import type { StoredScan } from "./scans/scan_list.ts";

/** The kinds of differences, in the order in which they are shown. */
export const DIFFERENCE_KINDS = ["new", "back", "lost", "changed"] as const;

export type DifferenceKind = typeof DIFFERENCE_KINDS[number];

/** A server that differs between two sides. */
export interface ServerDifference {
  readonly difference: DifferenceKind;
  /** `servers.key`. */
  readonly server: string;
  readonly name: string | null;
  readonly software: string | null;
  readonly version: string | null;
  /** The old and the new value of each changed column; null: it changed, and values are not stored. */
  readonly changes: Readonly<Record<string, ColumnChange>> | null;
}

/** The differences between two sides. */
export interface Differences {
  /** In the order of {@linkcode DIFFERENCE_KINDS}, then of servers. */
  readonly servers: readonly ServerDifference[];
  /** Number of servers that both sides found, and that do not differ. */
  readonly unchanged: number;
  /** Number of servers that one side knows, and that the other one did not ask. */
  readonly notAsked: number;
}

/** A scan, with its number in the database. */
type NumberedScan = StoredScan & { readonly number: number };

/** Number of servers of one query. */
const PAGE = 1000;

/**
 * The differences between two scans that have ended, the earlier one first.
 *
 * A server that the earlier scan did not note is new if that scan asked its endpoint: if its address is
 * in the ranges of that scan, which probed all of them on the same ports.
 */
export async function scanDifferences(
  database: Database,
  before: NumberedScan,
  now: NumberedScan,
): Promise<Differences> {
  const read = async (scan: NumberedScan, kind: "found" | "missed") =>
    new Set(await readMembers(database, scan.number, kind));
  const [found, missed] = [await read(before, "found"), await read(before, "missed")];
  const [foundNow, missedNow] = [await read(now, "found"), await read(now, "missed")];
  const lost = [...found].filter((id) => missedNow.has(id));
  const back = [...foundNow].filter((id) => missed.has(id));
  const both = [...foundNow].filter((id) => found.has(id));
  const unnoted = [...foundNow, ...missedNow].filter((id) => !found.has(id) && !missed.has(id));
  const unasked = [...found, ...missed].filter((id) => !foundNow.has(id) && !missedNow.has(id));
  const unknown = await unknownTo(database, before, now, unnoted);
  const fresh = unknown.filter((id) => foundNow.has(id));
  const changed = await changesOf(database, before, now, both);
  const servers = await describe(database, [
    ...fresh.map((id) => ({ id, difference: "new" as const, changes: {} })),
    ...back.map((id) => ({ id, difference: "back" as const, changes: {} })),
    ...lost.map((id) => ({ id, difference: "lost" as const, changes: {} })),
    ...[...changed].map(([id, changes]) => ({ id, difference: "changed" as const, changes })),
  ]);
  return {
    servers,
    unchanged: both.length - changed.size,
    notAsked: unnoted.length - unknown.length + unasked.length,
  };
}

/** Those of servers whose endpoints the earlier scan asked, when the database did not have them yet. */
async function unknownTo(
  database: Database,
  before: NumberedScan,
  now: NumberedScan,
  ids: readonly number[],
): Promise<number[]> {
  if (ids.length === 0) return [];
  const asked = await endpointsAsked(database, before, now);
  const since = before.started_at ?? Infinity;
  const isNew = ({ address, first_seen: at }: Row) => {
    const parsed = parseAddress(String(address));
    return Number(at) >= since && parsed !== undefined && asked(parsed);
  };
  const rows = await rowsOf(database, ids, "s.id, s.address, s.first_seen");
  return rows.filter(isNew).map(({ id }) => Number(id));
}

/** Options on which it depends which endpoints of a range a scan probes. */
const PROBING_OPTIONS = ["ports", "protocol", "no-follow"];

/** Tests whether a scan probed an address as another scan did. */
async function endpointsAsked(
  database: Database,
  scan: NumberedScan,
  other: NumberedScan,
): Promise<(address: Address) => boolean> {
  const rows = await database.rows(
    `select id, config from scans where ${isInList(database, "id", "integer")}`,
    [listValue(database, [scan.number, other.number])],
  );
  const configs = new Map(
    rows.map(({ id, config }) => [Number(id), Object(readJson(String(config), "facts"))]),
  );
  const [own, others] = [configs.get(scan.number), configs.get(other.number)];
  const isComplete = scan.kind === "lan" || scan.parts_done >= scan.parts; // not ended early
  const isWhole = isComplete && scan.kind === other.kind && !scan.sampled &&
    !scan.widened && scan.shard === null;
  const isSame = (name: string) => JSON.stringify(own[name]) === JSON.stringify(others[name]);
  const named = namedRanges(own);
  const isAlike = ["targets", "input-file"].every(isSame) && own.rescan === undefined;
  if (!isWhole || named === undefined && !isAlike || !PROBING_OPTIONS.every(isSame)) {
    return () => false;
  }
  const ranges = await database.rows(
    "select excluded, first, last from scan_ranges where scan = ?",
    [scan.number],
  );
  if (ranges.length === 0) return () => isSame("targets"); // lan stores no ranges
  const setOf = (isExcluded: number) =>
    RangeSet.of<Address>(ranges.filter((one) => one.excluded === isExcluded).flatMap(rangeOf));
  const [requested, excluded] = [setOf(0), setOf(1)];
  return (address) =>
    requested.has(address) && !excluded.has(address) && (isAlike || named!.has(address));
}

/**
 * The ranges that are the targets of a scan, in which it probes all of its ports; `undefined`: it may have
 * other targets, such as endpoints and names.
 */
function namedRanges({ targets }: { readonly targets?: unknown }): RangeSet<Address> | undefined {
  if (!Array.isArray(targets)) return undefined;
  const ranges: Range[] = [];
  for (const word of targets) {
    const target = parsed(String(word));
    if (target === undefined || !("range" in target) || target.port !== undefined) return undefined;
    ranges.push(target.range);
  }
  return RangeSet.of(ranges);
}

function parsed(word: string): Target | undefined {
  try {
    return parseTarget(word);
  } catch (error) {
    if (error instanceof InputError) return undefined;
    throw error;
  }
}

/**
 * The changes of servers between their replies to two scans, from events. null: a scan saw a change of
 * which there is no event, because it was removed, or there were too many.
 */
async function changesOf(
  database: Database,
  before: NumberedScan,
  now: NumberedScan,
  ids: readonly number[],
): Promise<Map<number, Record<string, ColumnChange> | null>> {
  const [from, to] = [before.started_at ?? 0, now.finished_at ?? database.now()];
  const time = timeParameter(database);
  const rows = await database.rows(
    `select e.server, e.kind, e.at, e.data from events e where e.at >= ${time} and e.at <= ${time} ` +
      "and e.kind in ('changed', 'restarted') order by e.at, e.tx, e.seq",
    [from, to],
  );
  const wanted = new Set(ids);
  const own = rows.filter(({ server }) => wanted.has(Number(server)));
  const eventful = [...new Set(own.map(({ server }) => Number(server)))];
  const [repliedAt, repliesNow] = [
    await replyTimes(database, before.number, eventful),
    await replyTimes(database, now.number, eventful),
  ];
  const found = new Map<number, Record<string, ColumnChange>>();
  for (const { server, at, kind, data } of own) {
    const id = Number(server);
    const isBetween = Number(at) > (repliedAt.get(id) ?? before.finished_at ?? from) &&
      Number(at) <= (repliesNow.get(id) ?? to);
    if (isBetween) found.set(id, merged(found.get(id) ?? {}, kind, String(data)));
  }
  const changed = new Map<number, Record<string, ColumnChange> | null>();
  for (const [id, changes] of found) {
    const lasting = Object.entries(changes)
      .filter(([, [a, b]]) => JSON.stringify(a) !== JSON.stringify(b));
    if (lasting.length > 0) changed.set(id, Object.fromEntries(lasting));
  }
  for (const id of await seenChanged(database, before, now)) {
    if (wanted.has(id) && !found.has(id)) changed.set(id, null);
  }
  return changed;
}

/** Changes, and those of a later event: the first old value, and the last new one of each column. */
function merged(
  earlier: Readonly<Record<string, ColumnChange>>,
  kind: unknown,
  text: string,
): Record<string, ColumnChange> {
  const { changes, guid } = Object(readJson(text, "facts"));
  const later: Readonly<Record<string, unknown>> = kind === "restarted"
    ? { guid }
    : Object(changes);
  const all: Record<string, ColumnChange> = { ...earlier };
  for (const [column, change] of Object.entries(later)) {
    if (!Array.isArray(change) || change.length !== 2) continue; // another program wrote it
    all[column] = [Object.hasOwn(earlier, column) ? earlier[column][0] : change[0], change[1]];
  }
  return all;
}

/** When servers replied to a scan, by `servers.id`, as far as observations are stored. */
async function replyTimes(
  database: Database,
  scan: number,
  ids: readonly number[],
): Promise<Map<number, number>> {
  const times = new Map<number, number>();
  for (let i = 0; i < ids.length; i += PAGE) {
    const rows = await database.rows(
      "select o.server, max(o.at) as at from observations o where o.scan = ? and o.online = true " +
        `and ${isInList(database, "o.server", "integer")} group by o.server`,
      [scan, listValue(database, ids.slice(i, i + PAGE))],
    );
    for (const { server, at } of rows) times.set(Number(server), Number(at));
  }
  return times;
}

/** The servers that a scan after the first one, up to the second one, saw changed. */
async function seenChanged(
  database: Database,
  before: NumberedScan,
  now: NumberedScan,
): Promise<Set<number>> {
  const time = timeParameter(database);
  const scans = await database.rows(
    `select id from scans where started_at > ${time} and started_at <= ${time} ` +
      "and members is not null order by id",
    [before.started_at, now.started_at],
  );
  const ids = new Set<number>();
  for (const { id } of scans) {
    for (const server of await readMembers(database, Number(id), "changed")) ids.add(server);
  }
  return ids;
}

async function rowsOf(
  database: Database,
  ids: readonly number[],
  columns: string,
): Promise<Row[]> {
  const rows: Row[] = [];
  for (let i = 0; i < ids.length; i += PAGE) {
    rows.push(
      ...await database.rows(
        `select ${columns} from servers s where ${isInList(database, "s.id", "integer")}`,
        [listValue(database, ids.slice(i, i + PAGE))],
      ),
    );
  }
  return rows;
}

/** Adds what is shown of servers. */
async function describe(
  database: Database,
  differences: readonly (Pick<ServerDifference, "difference" | "changes"> & {
    readonly id: number;
  })[],
): Promise<ServerDifference[]> {
  const ids = differences.map(({ id }) => id);
  const columns = "s.id, s.key, s.name, s.software, s.version";
  const rows = new Map(
    (await rowsOf(database, ids, columns)).map((row) => [Number(row.id), row]),
  );
  const textOf = (value: unknown) => value === null ? null : String(value);
  return sortDifferences(differences.flatMap(({ id, ...one }) => {
    const row = rows.get(id);
    if (row === undefined) return []; // it was removed meanwhile
    const [name, software, version] = [row.name, row.software, row.version].map(textOf);
    return [{ ...one, server: String(row.key), name, software, version }];
  }));
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** Differences by kind, then by server. */
export function sortDifferences(differences: readonly ServerDifference[]): ServerDifference[] {
  const rank = ({ difference }: ServerDifference) => DIFFERENCE_KINDS.indexOf(difference);
  return differences.toSorted((a, b) =>
    rank(a) - rank(b) || COLLATOR.compare(a.server, b.server) || (a.server < b.server ? -1 : 1)
  );
}
