/**
 * Which servers a scan found, saw for the first time, saw again, saw changed, missed and lost.
 *
 * While a scan runs, the table `scan_servers` has a row per server. When it has finished, the rows are
 * packed into `scan_sets`: about 0.34 bytes per server and scan. Readers take both. A server in
 * neither was not asked by the scan.
 *
 * @module
 */
import {
  type Database,
  hexColumn,
  insertInto,
  isInList,
  listValue,
  type Row,
  type Value,
} from "../database/database.ts";
import { bytesOfHex } from "../../core/bytes.ts";
import { InputError } from "../../core/errors.ts";
import { blockOf, countOfBlock, decodeBlock, encodeBlock } from "./server_sets.ts";

/** What a scan saw of a server, as bits of `scan_servers.what`. */
export const MEMBER_BITS = {
  /** It replied. */
  found: 1,
  /** It replied for the first time since the database exists. */
  new: 2,
  /** It replied again, after it was missed or offline, a set time after its last reply. */
  back: 4,
  /** It replied, and publishes something else than before. */
  changed: 8,
  /** The scan asked it, and it did not reply. */
  missed: 16,
  /** It is missed, and had replied to the scan before. */
  lost: 32,
} as const;

/** What a scan saw of a server. */
export type MemberKind = keyof typeof MEMBER_BITS;

/** All kinds, in the order in which they are shown. */
export const MEMBER_KINDS: readonly MemberKind[] = Object.keys(MEMBER_BITS) as MemberKind[];

/** What a set of servers contains: what the scan saw of them, or the views from a vantage. */
export type SetKind = MemberKind | `${"seen" | "unseen"}:${string}`;

/** Number of servers by kind. */
export type MemberCounts = Readonly<Record<MemberKind, number>>;

const NONE: MemberCounts = { found: 0, new: 0, back: 0, changed: 0, missed: 0, lost: 0 };

/** A server, and what a scan saw of it: bits of {@linkcode MEMBER_BITS}. */
export interface Member {
  /** `servers.id`. */
  readonly server: number;
  /** The bits. */
  readonly what: number;
}

const INSERT_MEMBER = insertInto(
  "scan_servers",
  [["scan", "integer"], ["server", "integer"], ["what", "integer"]],
  "on conflict (scan, server) do update set what = scan_servers.what | excluded.what",
);

const UPSERT_SET = insertInto(
  "scan_sets",
  [["scan", "integer"], ["kind", "text"], ["block", "integer"], ["servers", "bytea"]],
  "on conflict (scan, kind, block) do update set servers = excluded.servers",
);

/** Rows of `scan_servers` that one transaction packs. */
const PAGE = 5000;
/** Blocks of which sets are read at once. */
const BLOCKS_AT_ONCE = 10;

/** Notes what a scan saw of servers. The caller has begun a transaction. */
export async function noteMembers(
  database: Database,
  scan: number,
  members: readonly Member[],
): Promise<void> {
  const rows = members.toSorted((a, b) => a.server - b.server)
    .map(({ server, what }) => [scan, server, what]);
  await database.bulk(INSERT_MEMBER, rows);
}

/** A server that replied is not missed, even if another part of the scan missed it before. */
function isOfKind(what: number, kind: MemberKind): boolean {
  const bits = what & MEMBER_BITS.found ? what & ~(MEMBER_BITS.missed | MEMBER_BITS.lost) : what;
  return (bits & MEMBER_BITS[kind]) !== 0;
}

/** The numbers (`servers.id`) of a scan's servers of one kind, in ascending order. */
export async function readMembers(
  database: Database,
  scan: number,
  kind: MemberKind,
): Promise<number[]> {
  // Rows become sets, and never rows again: a server that is packed meanwhile is read twice.
  const rows = await database.rows(
    "select server, what from scan_servers where scan = ?",
    [scan],
  );
  const packed = await readSets(database, scan, kind);
  if (rows.length === 0) return packed;
  const servers = new Set(packed);
  for (const { server, what } of rows) {
    if (isOfKind(Number(what), kind)) servers.add(Number(server));
  }
  if (kind === "missed" || kind === "lost") {
    for (const server of await readSets(database, scan, "found")) servers.delete(server);
    for (const { server, what } of rows) {
      if (isOfKind(Number(what), "found")) servers.delete(Number(server));
    }
  }
  return [...servers].sort((a, b) => a - b);
}

/** Whether servers of a scan are packed. */
export async function hasSets(database: Database, scan: number): Promise<boolean> {
  const rows = await database.rows(
    `select 1 from scan_sets where scan = ? and ${isInList(database, "kind", "text")} limit 1`,
    [scan, listValue(database, MEMBER_KINDS)],
  );
  return rows.length > 0;
}

/** The servers of a scan's sets of one kind, in ascending order. */
export async function readSets(database: Database, scan: number, kind: SetKind): Promise<number[]> {
  const rows = await database.rows(
    `select block, ${hexColumn(database, "servers")} as servers from scan_sets ` +
      "where scan = ? and kind = ? order by block",
    [scan, kind],
  );
  const servers: number[] = [];
  for (const row of rows) servers.push(...serversOf(row)); // a third of the time of flatMap()
  return servers;
}

/** The numbers of servers in a row of `scan_sets`. */
export function serversOf({ block, servers }: Row): number[] {
  const decoded = decodeBlock(Number(block), bytesOfHex(String(servers)));
  if (decoded === undefined) throw new InputError("Cannot read scan_sets: a row is damaged");
  return decoded;
}

/** Counts a scan's servers by kind. */
export async function countMembers(database: Database, scan: number): Promise<MemberCounts> {
  const rows = await database.rows(
    "select what, count(*) as n from scan_servers where scan = ? group by what",
    [scan],
  );
  if (await hasSets(database, scan)) {
    const counts: Record<MemberKind, number> = { ...NONE };
    if (rows.length === 0) return Object.assign(counts, await countSets(database, scan));
    for (const kind of MEMBER_KINDS) {
      counts[kind] = (await readMembers(database, scan, kind)).length;
    }
    return counts;
  }
  const count = (kind: MemberKind) =>
    rows.reduce((sum, { what, n }) => sum + (isOfKind(Number(what), kind) ? Number(n) : 0), 0);
  return Object.fromEntries(MEMBER_KINDS.map((kind) => [kind, count(kind)])) as MemberCounts;
}

/** Counts the servers in a scan's sets by kind. */
async function countSets(database: Database, scan: number): Promise<Partial<MemberCounts>> {
  const rows = await database.rows(
    `select kind, ${
      hexColumn(database, "substr(servers, 1, 3)")
    } as head from scan_sets where scan = ? and ${isInList(database, "kind", "text")}`,
    [scan, listValue(database, MEMBER_KINDS)],
  );
  const counts: Partial<Record<MemberKind, number>> = {};
  for (const { kind, head } of rows) {
    const count = countOfBlock(bytesOfHex(String(head)));
    counts[kind as MemberKind] = (counts[kind as MemberKind] ?? 0) + count;
  }
  return counts;
}

/**
 * Packs the rows of a finished scan in `scan_servers` into `scan_sets`, in several transactions: readers
 * get the same servers at any time.
 *
 * @param between Awaited between two transactions. Default: nothing.
 * @param signal Ends it early.
 * @returns The number of packed rows.
 */
export async function packMembers(
  database: Database,
  scan: number,
  between: () => Promise<void> = () => Promise.resolve(),
  signal?: AbortSignal,
): Promise<number> {
  for (let packed = 0;; await between()) {
    if (signal?.aborted) return packed;
    const count = await database.transaction(() => packPage(database, scan));
    packed += count;
    if (count < PAGE) return packed;
  }
}

async function packPage(database: Database, scan: number): Promise<number> {
  await lockSets(database, scan);
  const removed = await database.rows(
    `delete from scan_servers where scan = ? and server in (select server from scan_servers ` +
      "where scan = ? order by server limit ?) returning server, what",
    [scan, scan, PAGE],
  );
  const rows = removed.toSorted((a, b) => Number(a.server) - Number(b.server));
  for (const kind of MEMBER_KINDS) {
    const servers = rows.filter(({ what }) => isOfKind(Number(what), kind))
      .map(({ server }) => Number(server));
    await addToSets(database, scan, kind, servers);
  }
  const found = rows.filter(({ what }) => isOfKind(Number(what), "found"));
  await removeFromSets(database, found.map(({ server }) => Number(server)), {
    condition: "scan = ? and kind in ('missed', 'lost')",
    values: [scan],
  });
  return rows.length;
}

/** Waits until no other transaction changes the sets of a scan. The caller has begun a transaction. */
export async function lockSets(database: Database, scan: number): Promise<void> {
  await database.rows(`select id from scans where id = ?${lockOf(database)}`, [scan]);
}

/**
 * SQL that locks the rows that are read, in PostgreSQL. The program that packs a scan and one that
 * removes servers wait for each other.
 */
function lockOf({ engine }: Database): string {
  return engine === "postgres" ? " for update" : "";
}

/** Adds servers to the set of a kind. The caller has called {@linkcode lockSets}. */
export async function addToSets(
  database: Database,
  scan: number,
  kind: SetKind,
  servers: readonly number[],
): Promise<void> {
  if (servers.length === 0) return;
  const blocks = Map.groupBy(servers, blockOf);
  const rows = await database.rows(
    `select block, ${hexColumn(database, "servers")} as servers from scan_sets ` +
      `where scan = ? and kind = ? and ${isInList(database, "block", "integer")}` +
      lockOf(database),
    [scan, kind, listValue(database, [...blocks.keys()])],
  );
  for (const row of rows) {
    const block = Number(row.block);
    const all = new Set([...serversOf(row), ...blocks.get(block)!]);
    blocks.set(block, [...all].sort((a, b) => a - b));
  }
  await database.bulk(
    UPSERT_SET,
    [...blocks].map(([block, all]) => [scan, kind, block, encodeBlock(all)]),
  );
}

/**
 * Removes servers from sets. The caller has begun a transaction.
 *
 * @param of Which sets. Default: those of all scans, because the numbers of servers that were removed may
 * be given to others.
 */
export async function removeFromSets(
  database: Database,
  servers: readonly number[],
  { condition, values }: { condition: string; values: readonly Value[] } = {
    condition: "true",
    values: [],
  },
): Promise<void> {
  const removed = new Set(servers);
  const blocks = [...new Set(servers.map(blockOf))];
  for (let at = 0; at < blocks.length; at += BLOCKS_AT_ONCE) {
    const rows = await database.rows(
      `select scan, kind, block, ${hexColumn(database, "servers")} as servers from scan_sets ` +
        `where ${isInList(database, "block", "integer")} and ${condition} ` +
        `order by scan, kind, block${lockOf(database)}`,
      [listValue(database, blocks.slice(at, at + BLOCKS_AT_ONCE)), ...values],
    );
    const changed = rows.flatMap((row) => {
      const all = serversOf(row);
      const kept = all.filter((server) => !removed.has(server));
      return kept.length === all.length
        ? []
        : [[row.scan, row.kind, row.block, encodeBlock(kept)] as const];
    });
    await database.bulk(UPSERT_SET, changed);
  }
}
