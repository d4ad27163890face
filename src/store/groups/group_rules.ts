/**
 * The rules by which several rows of a database certainly belong to one server, and the groups that they
 * make. Names, MOTDs, icons and numbers of slots are copied, so none of them is a rule by itself.
 *
 * @module
 */
import { serverId } from "../../core/record.ts";
import { bridgeSide, isDefaultMotd } from "../../classify/software_facts.ts";

/** The rules, and what each says of two rows, for people. */
export const GROUP_RULES = {
  endpoint: "same address and port under another name",
  guid: "same GUID at another endpoint",
  bridge: "Geyser: Bedrock and Java side of one server",
  counts: "alias on the same address with the same numbers of players over time",
  ports: "the address shows one server with players on more than 100 ports",
} as const;
export type GroupRule = keyof typeof GROUP_RULES;

/** What the rules compare of a server. */
export interface GroupRow {
  /** `servers.id`. */
  readonly id: number;
  readonly key: string;
  readonly hostname: string | null;
  /** The address in canonical form, with its zone if it has one. */
  readonly host: string;
  readonly port: number;
  readonly protocol: string;
  readonly edition: string | null;
  readonly proxy: string | null;
  readonly software: string | null;
  readonly version: string | null;
  readonly map: string | null;
  readonly motd: string | null;
  /** The MOTD without formatting codes. */
  readonly plain: string | null;
  /** The GUID; null: none, or one that is no random number of one server. */
  readonly guid: string | null;
  readonly slots: number | null;
  readonly players: number | null;
  readonly online: boolean;
  /** When the server last replied, Unix milliseconds; null: never. */
  readonly repliedAt: number | null;
  /** The endpoint of the first row of the same server in a scan; null: none. */
  readonly aliasOf: string | null;
}

/** Two rows that a rule may join. */
export type Pair = readonly [GroupRow, GroupRow];

/** Two rows that belong to one server, and the rule that says so. */
export interface Join {
  readonly pair: Pair;
  readonly rule: GroupRule;
}

/** The number of players of a server at a time, Unix milliseconds. */
export interface Count {
  readonly at: number;
  readonly players: number;
}

/** A row of a group, and the rules that join it with others. */
export interface GroupMember {
  readonly id: number;
  readonly key: string;
  /** Its address and port. */
  readonly endpoint: string;
  readonly online: boolean;
  readonly rules: readonly GroupRule[];
}

/** Rows of one server, the best known first. */
export type ServerGroup = readonly GroupMember[];

const HOUR_MS = 3_600_000;
/** The number without a meaning, and the one that scans send. */
const CONSTANT_GUIDS = [String(2n ** 64n - 1n), String(0x626c6f636b737770n)];
/** MOTDs of this length or less are no server's own. */
const MIN_MOTD = 3;
/** Maximum share by which the players of a server change between two replies at one time. */
const MAX_DIFFERENCE = 0.1;
/** More ports of an address than this show one server, if they show the same number of players. */
const SAME_ON_PORTS = 100;
/** Counts at two servers that are at most this far apart are compared, milliseconds. */
const SAME_TIME_MS = 120_000;
/** Minimum number of equal counts above 0 of two servers, and of different numbers among these. */
const [MIN_EQUAL, MIN_NUMBERS] = [8, 3];
/** Minimum share of the counts of each server that the other one has too. */
const MIN_SHARE = 0.8;

/**
 * Joins rows with the same address, port and protocol, of which a name leads to all but one. The last address
 * of a name may be that of another server since then: the replies are equal, or were sent within an hour.
 */
export function joinEndpoints(rows: readonly GroupRow[]): Join[] {
  const same = Map.groupBy(rows, ({ host, port, protocol }) => `${host} ${port} ${protocol}`);
  return [...same.values()].flatMap(([first, ...others]) =>
    others.filter((other) => isSameEndpoint(first, other))
      .map((other) => ({ pair: [first, other] as const, rule: "endpoint" as const }))
  );
}

function isSameEndpoint(one: GroupRow, other: GroupRow): boolean {
  if (one.repliedAt === null || other.repliedAt === null) return false;
  return Math.abs(one.repliedAt - other.repliedAt) <= HOUR_MS || statusOf(one) === statusOf(other);
}

/**
 * Whether a GUID may be a random number of 64 bits: one of 2,000 such numbers is smaller. The greatest number
 * stands for none, and a server that sends back the GUID of a scan has none of its own.
 */
export function isRandomGuid(guid: string): boolean {
  return /^\d{17,20}$/.test(guid) && !CONSTANT_GUIDS.includes(guid);
}

/**
 * Joins rows with one GUID, also of different times: servers draw 64 random bits when they start. A GUID is
 * void if its rows publish different values, or different numbers of players at one time, because copies of
 * some software have one constant GUID; and so are those of servers with a default MOTD.
 */
export function joinGuids(rows: readonly GroupRow[]): Join[] {
  const withGuid = Map.groupBy(rows.filter(({ guid }) => guid !== null), ({ guid }) => guid);
  return [...withGuid.values()].flatMap((same) => {
    const [first, ...others] = same.toSorted((a, b) => (a.repliedAt ?? 0) - (b.repliedAt ?? 0));
    const { plain } = first;
    const isOwn = plain !== null && plain.length > MIN_MOTD && !isDefaultMotd(plain);
    const isOne = isOwn &&
      others.every((other, i) =>
        statusOf(other) === statusOf(first) &&
        !isContradiction(i === 0 ? first : others[i - 1], other)
      );
    return isOne
      ? others.map((other) => ({ pair: [first, other] as const, rule: "guid" as const }))
      : [];
  });
}

/** Whether two rows show at one time numbers of players that one server does not have. */
function isContradiction(one: GroupRow, other: GroupRow): boolean {
  const [a, b] = [one.players ?? 0, other.players ?? 0];
  const isSameTime = Math.abs((one.repliedAt ?? 0) - (other.repliedAt ?? 0)) <= SAME_TIME_MS;
  return isSameTime && Math.abs(a - b) > Math.max(1, MAX_DIFFERENCE * Math.max(a, b));
}

/**
 * The pairs of an alias and the row that it names, on one address. Only {@linkcode hasEqualCounts} says
 * whether they are one server: the rules of `alias_of` also fit two servers with one owner's MOTD.
 */
export function aliasPairs(rows: readonly GroupRow[]): Pair[] {
  const byEndpoint = Map.groupBy(rows, serverId);
  return rows.flatMap((alias) => {
    const named = alias.aliasOf === null ? [] : byEndpoint.get(alias.aliasOf) ?? [];
    return named.filter((first) => first.id !== alias.id && first.host === alias.host)
      .map((first) => [first, alias] as const);
  });
}

/** Joins the ports of an address that show one server with players on more than a hundred ports. */
export function joinPorts(rows: readonly GroupRow[]): Join[] {
  const alike = Map.groupBy(
    rows.filter(({ players }) => players !== null && players > 0),
    (row) => JSON.stringify([row.host, statusOf(row), row.players]),
  );
  return [...alike.values()].flatMap(([first, ...others]) =>
    new Set(others.map(({ port }) => port)).size < SAME_ON_PORTS
      ? []
      : others.map((other) => ({ pair: [first, other] as const, rule: "ports" as const }))
  );
}

/** What a server publishes, without its players. */
function statusOf(row: GroupRow): string {
  const { protocol, edition, software, version, map, motd, slots } = row;
  return JSON.stringify([protocol, edition, software, version, map, motd, slots]);
}

/** The rule for an alias with {@linkcode hasEqualCounts}. */
export function ruleOf([first, alias]: Pair): GroupRule {
  const sides = [bridgeSide(first), bridgeSide(alias)];
  return sides.includes("bridge") && sides.includes("bridged") ? "bridge" : "counts";
}

/**
 * Whether two servers had the same numbers of players again and again: at least 8 equal counts above 0 with
 * 3 different numbers, and 80 % of the counts of each server in the time in which both were seen. Two
 * servers with players of their own do not have them.
 *
 * @param first Counts in the order of times, as `second`. A count that repeats the one before shows nothing.
 */
export function hasEqualCounts(first: readonly Count[], second: readonly Count[]): boolean {
  const [one, other] = [changesIn(first), changesIn(second)];
  const from = Math.max(one[0]?.at ?? Infinity, other[0]?.at ?? Infinity) - SAME_TIME_MS;
  const to = Math.min(one.at(-1)?.at ?? 0, other.at(-1)?.at ?? 0) + SAME_TIME_MS;
  const inTime = (counts: readonly Count[]) => counts.filter(({ at }) => at >= from && at <= to);
  const sides = [[inTime(one), other], [inTime(other), one]] as const;
  return sides.every(([counts, others]) => {
    const equal = counts.filter(({ at, players }) =>
      others.some((one) => one.players === players && Math.abs(one.at - at) <= SAME_TIME_MS)
    );
    const numbers = new Set(equal.map(({ players }) => players)).size;
    return equal.length >= MIN_EQUAL && numbers >= MIN_NUMBERS &&
      equal.length >= MIN_SHARE * counts.length;
  });
}

/** The counts above 0 that differ from the one before. */
function changesIn(counts: readonly Count[]): Count[] {
  return counts.filter(({ players }, i) => players > 0 && players !== counts[i - 1]?.players);
}

/** The groups of joined rows: each row is in one group. */
export function joinedGroups(joins: readonly Join[]): ServerGroup[] {
  const roots = new Map<number, number>();
  const rootOf = (id: number) => {
    let root = id;
    for (let next = roots.get(root); next !== undefined && next !== root; next = roots.get(root)) {
      root = next;
    }
    roots.set(id, root);
    return root;
  };
  const rows = new Map<number, { readonly row: GroupRow; readonly rules: Set<GroupRule> }>();
  for (const { pair, rule } of joins) {
    for (const row of pair) {
      const known = rows.get(row.id) ?? { row, rules: new Set() };
      known.rules.add(rule);
      rows.set(row.id, known);
    }
    roots.set(rootOf(pair[1].id), rootOf(pair[0].id));
  }
  const groups = Map.groupBy(rows.values(), ({ row }) => rootOf(row.id));
  return [...groups.values()].map((members) =>
    members.sort((a, b) => compare(a.row, b.row)).map(({ row, rules }) => ({
      ...{ id: row.id, key: row.key, endpoint: serverId(row), online: row.online },
      rules: [...rules].sort(),
    }))
  );
}

/** The best known row first: online, with a name of the user, with the most players, found first. */
function compare(a: GroupRow, b: GroupRow): number {
  const hasName = ({ hostname }: GroupRow) => Number(hostname !== null);
  return Number(b.online) - Number(a.online) || hasName(b) - hasName(a) ||
    (b.players ?? -1) - (a.players ?? -1) || a.id - b.id;
}
