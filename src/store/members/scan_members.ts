/**
 * Finds the servers of a scan by its identity, for lists.
 *
 * @module
 */
import { type Database, hexColumn } from "../database/database.ts";
import { storableUuid } from "../rows/stored_values.ts";
import {
  countMembers,
  MEMBER_BITS,
  type MemberCounts,
  type MemberKind,
  readMembers,
  serversOf,
} from "./members.ts";

/** Size of an empty set, bytes. */
const HEAD_BYTES = 3;

/** `scans.id` of the scan with an identity; `undefined`: none. */
export async function scanNumberOf(database: Database, id: string): Promise<number | undefined> {
  const uuid = storableUuid(id);
  if (uuid === null) return undefined;
  const [row] = await database.rows("select id from scans where uuid = ?", [uuid]);
  return row === undefined ? undefined : Number(row.id);
}

/** The `servers.id` of a scan's servers of one kind, ascending. */
export async function membersOf(
  database: Database,
  id: string,
  kind: MemberKind,
): Promise<readonly number[]> {
  const scan = await scanNumberOf(database, id);
  return scan === undefined ? [] : await readMembers(database, scan, kind);
}

/** The numbers of a scan's servers by kind, also while it runs. */
export async function countMembersOf(
  database: Database,
  id: string,
): Promise<MemberCounts | undefined> {
  const scan = await scanNumberOf(database, id);
  return scan === undefined ? undefined : await countMembers(database, scan);
}

/** The highest numbers of servers of a kind in a scan, in descending order, without reading all. */
export async function lastMembersOf(
  database: Database,
  id: string,
  kind: MemberKind,
  limit: number,
): Promise<readonly number[]> {
  const scan = await scanNumberOf(database, id);
  if (scan === undefined) return [];
  const [unpacked] = await database.rows(
    "select 1 from scan_servers where scan = ? limit 1",
    [scan],
  );
  if (unpacked !== undefined && kind !== "found") {
    return (await readMembers(database, scan, kind)).slice(-limit).reverse();
  }
  // Each set that is not empty has a server at least.
  const rows = await database.rows(
    `select block, ${hexColumn(database, "servers")} as servers from scan_sets where scan = ? ` +
      `and kind = ? and length(servers) > ${HEAD_BYTES} order by block desc limit ?`,
    [scan, kind, limit],
  );
  const found = new Set(rows.flatMap(serversOf));
  if (unpacked !== undefined) {
    const running = await database.rows(
      `select server from scan_servers where scan = ? and what % 2 = ${MEMBER_BITS.found} ` +
        "order by server desc limit ?",
      [scan, limit],
    );
    for (const { server } of running) found.add(Number(server));
  }
  return [...found].sort((a, b) => b - a).slice(0, limit);
}
