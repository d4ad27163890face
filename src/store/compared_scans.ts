/**
 * Finds the scans of a database that a user names, to compare them.
 *
 * @module
 */
import type { Address } from "../core/address.ts";
import { parseTarget } from "../targets/parse.ts";
import { type Range, RangeSet } from "../targets/ranges.ts";
import type { Database, Row } from "./database/database.ts";
import { readMembers } from "./members/members.ts";
import { IS_COMPARED, scanWithId, type StoredScan } from "./scans/scan_list.ts";

/** A scan that has ended and noted what it saw of servers. Times are Unix milliseconds. */
export interface EndedScan {
  /** `scans.id`. */
  readonly number: number;
  /** The identity, UUIDv7. */
  readonly id: string;
  readonly startedAt: number;
  readonly endedAt: number;
}

/** The scans of a database that can be compared, the newest first. */
export async function endedScans(database: Database): Promise<EndedScan[]> {
  const rows = await database.rows(
    `select c.id, c.uuid, c.started_at, c.finished_at from scans c where ${IS_COMPARED} ` +
      "and c.started_at is not null and c.finished_at is not null order by c.started_at desc, c.id desc",
  );
  return rows.map(({ id, uuid, started_at: startedAt, finished_at: endedAt }) => ({
    number: Number(id),
    id: String(uuid),
    startedAt: Number(startedAt),
    endedAt: Number(endedAt),
  }));
}

/** The scan with its ranges and numbers. */
export async function readEndedScan(
  database: Database,
  { id, number }: EndedScan,
): Promise<StoredScan & { readonly number: number }> {
  return { ...(await scanWithId(database, id))!, number };
}

/** Whether two scans asked a server in common. */
export async function haveCommon(database: Database, a: EndedScan, b: EndedScan): Promise<boolean> {
  const asked = async ({ number }: EndedScan) => [
    ...await readMembers(database, number, "found"),
    ...await readMembers(database, number, "missed"),
  ];
  const servers = new Set(await asked(a));
  return (await asked(b)).some((server) => servers.has(server));
}

/**
 * Tests whether a scan of a database was to probe an address; `undefined`: no scan of the database has stored
 * its addresses, as in an imported list.
 */
export async function addressesAsked(
  database: Database,
): Promise<((address: Address) => boolean) | undefined> {
  const rows = await database.rows(
    "select scan, excluded, first, last from scan_ranges where sampled = false order by scan",
  );
  if (rows.length === 0) return undefined;
  const asked = [...Map.groupBy(rows, ({ scan }) => scan).values()].map((ranges) => {
    const setOf = (excluded: number) =>
      RangeSet.of<Address>(ranges.filter((one) => one.excluded === excluded).flatMap(rangeOf));
    return [setOf(0), setOf(1)] as const;
  });
  return (address) =>
    asked.some(([requested, excluded]) => requested.has(address) && !excluded.has(address));
}

/** The range of a row of `scan_ranges`; none if another program has written something else. */
export function rangeOf({ first, last }: Row): Range[] {
  const target = parseTarget(`${first}-${last}`);
  return "range" in target ? [target.range] : [];
}
