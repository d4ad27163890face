/**
 * Which servers the views of a scan from several vantages saw: sets of `scan_sets`, two per vantage. A
 * server in neither set of a vantage is in no part that this vantage has scanned.
 *
 * @module
 */
import { type Address, type Endpoint, formatAddress, parseAddress } from "../../core/address.ts";
import { type Database, isInList, listValue } from "../database/database.ts";
import { addToSets, lockSets, readMembers, readSets, type SetKind } from "./members.ts";
import { scanNumberOf } from "./scan_members.ts";

/** The vantages whose views of an endpoint are done. */
export type VantagesOf = (endpoint: Endpoint) => readonly string[];

/** What the views from one vantage saw, of a scan or of one of its networks. */
export interface ViewCounts {
  readonly vantage: string;
  /** Number of servers that replied to this vantage. */
  readonly seen: number;
  /** Those of them that another vantage has scanned, and that replied to this one alone. */
  readonly only: number;
  /** Number of servers that replied to another vantage, and not to this one, which has scanned them. */
  readonly unseen: number;
}

/** What the views of a scan saw. */
export interface ScanViews {
  readonly vantages: readonly ViewCounts[];
  /** The networks with unseen servers, those with most first: /16, IPv6: /32. */
  readonly networks: readonly (ViewCounts & { readonly network: string })[];
}

/** Number of servers that are read at once. */
const PAGE = 1000;

/** Adds servers to what a vantage saw, or did not see. The caller has begun a transaction. */
export async function noteView(
  database: Database,
  scan: number,
  kind: SetKind,
  servers: readonly number[],
): Promise<void> {
  await lockSets(database, scan);
  await addToSets(database, scan, kind, servers);
}

/**
 * Notes for each vantage which servers its views did not see, although another one saw them. It can be
 * repeated.
 */
export async function noteUnseen(
  database: Database,
  scan: number,
  vantagesOf: VantagesOf,
): Promise<void> {
  const seen = await readSeen(database, scan);
  for await (const page of readEndpoints(database, await readMembers(database, scan, "found"))) {
    const unseen = page.flatMap((server) =>
      vantagesOf(server).filter((one) => !seen.get(one)?.has(server.id))
        .map((vantage) => ({ vantage, id: server.id }))
    );
    await database.transaction(async () => {
      for (const [vantage, servers] of Map.groupBy(unseen, (one) => one.vantage)) {
        await noteView(database, scan, `unseen:${vantage}`, servers.map(({ id }) => id));
      }
    });
  }
}

/** Reads what the views of a scan saw; `undefined`: it had one view of each part. */
export async function readViews(database: Database, id: string): Promise<ScanViews | undefined> {
  const scan = await scanNumberOf(database, id);
  if (scan === undefined) return undefined;
  const seen = await readSeen(database, scan);
  if (seen.size === 0) return undefined;
  const unseen = new Map<string, ReadonlySet<number>>();
  for (const vantage of seen.keys()) {
    unseen.set(vantage, new Set(await readSets(database, scan, `unseen:${vantage}`)));
  }
  const times = new Map<number, number>();
  for (const servers of seen.values()) {
    for (const id of servers) times.set(id, (times.get(id) ?? 0) + 1);
  }
  const isUnseen = new Set(unseen.values().flatMap((servers) => [...servers]));
  const total = new Map<string, Tally>();
  const byNetwork = new Map<string, Map<string, Tally>>();
  for await (const page of readEndpoints(database, [...times.keys()].sort((a, b) => a - b))) {
    for (const { id, address } of page) {
      const network = networkOf(address);
      const inNetwork = byNetwork.get(network) ?? new Map<string, Tally>();
      byNetwork.set(network, inNetwork);
      const isOnly = times.get(id) === 1 && isUnseen.has(id);
      for (const [vantage, servers] of seen) {
        const isSeen = servers.has(id);
        if (!isSeen && !unseen.get(vantage)!.has(id)) continue;
        for (const tallies of [total, inNetwork]) count(tallies, vantage, isSeen, isOnly);
      }
    }
  }
  const networks = [...byNetwork].flatMap(([network, tallies]) =>
    [...tallies].filter(([, { unseen }]) => unseen > 0)
      .map(([vantage, tally]) => ({ network, vantage, ...tally }))
  );
  return {
    vantages: [...seen.keys()].map((vantage) => ({ vantage, ...NONE, ...total.get(vantage) })),
    networks: networks.sort((a, b) => b.unseen - a.unseen),
  };
}

type Tally = { -readonly [Name in "seen" | "only" | "unseen"]: ViewCounts[Name] };

const NONE: Readonly<Tally> = { seen: 0, only: 0, unseen: 0 };

function count(tallies: Map<string, Tally>, vantage: string, isSeen: boolean, isOnly: boolean) {
  const tally = tallies.get(vantage) ?? { ...NONE };
  tallies.set(vantage, tally);
  tally[isSeen ? "seen" : "unseen"]++;
  if (isSeen && isOnly) tally.only++;
}

/** The servers that each vantage saw, in the order of the names of the vantages. */
async function readSeen(
  database: Database,
  scan: number,
): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
  const rows = await database.rows(
    "select distinct kind from scan_sets where scan = ? and kind like '%seen:%' order by kind",
    [scan],
  );
  const names = new Set(rows.map(({ kind }) => String(kind).replace(/^\w+:/, "")));
  const seen = new Map<string, ReadonlySet<number>>();
  for (const vantage of [...names].sort()) {
    seen.set(vantage, new Set(await readSets(database, scan, `seen:${vantage}`)));
  }
  return seen;
}

async function* readEndpoints(
  database: Database,
  servers: readonly number[],
): AsyncGenerator<readonly (Endpoint & { readonly id: number })[]> {
  for (let at = 0; at < servers.length; at += PAGE) {
    const rows = await database.rows(
      `select id, address, port from servers where ${
        isInList(database, "id", "integer")
      } order by id`,
      [listValue(database, servers.slice(at, at + PAGE))],
    );
    yield rows.map(({ id, address, port }) => (
      { id: Number(id), address: parseAddress(String(address))!, port: Number(port) }
    ));
  }
}

/** The /16 of an address; IPv6: the /32. */
function networkOf(address: Address): string {
  return typeof address === "number"
    ? `${formatAddress(address - address % 2 ** 16)}/16`
    : `${formatAddress(address >> 96n << 96n)}/32`;
}
