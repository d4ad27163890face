/**
 * Marks missing servers: known servers that a scan probed and that did not reply.
 *
 * @module
 */
import { type Address, family, parseAddress } from "../../core/address.ts";
import { type Database, isInList, listValue, type Row, type Value } from "../database/database.ts";
import type { EventRow } from "../events/write_events.ts";
import { hasSets, MEMBER_BITS, noteMembers, readMembers } from "../members/members.ts";
import { writeLimited } from "./scan_events.ts";
import { addressColumn, addressValue } from "../rows/addresses.ts";
import { observationValues, writeObservations } from "./observation_rows.ts";
import { readTexts } from "../rows/json_cells.ts";
import { scanNumbers } from "../rows/scan_numbers.ts";
import { HEARTBEAT_MS, writeHeartbeat } from "../scans/scan_progress.ts";
import { type UnansweredServer, writeUnanswered } from "../rows/server_state.ts";
import { newEventId } from "../rows/uuid.ts";
import { markChanged } from "./write_servers.ts";
import { versionOf } from "../rows/known_servers.ts";

/** The endpoints and protocols that a scan has probed completely. */
export interface Coverage {
  /** Address ranges that contain all probed endpoints: start inclusive, end exclusive. */
  readonly ranges: readonly { readonly start: Address; readonly end: Address }[];
  /**
   * Whether the scan probed an endpoint in protocols in which its server would have replied.
   *
   * @param protocols The protocols of the server's last reply. Empty: the server never replied.
   */
  readonly includes: (address: Address, port: number, protocols: readonly string[]) => boolean;
}

/** Number of servers that one transaction updates. */
const PAGE = 1000;
/** Above this number of ranges, one query reads the servers of all addresses of a family. */
const MAX_RANGES = 1000;

/** A finished scan, after which servers that it did not find are marked offline. */
export interface FinishedScan {
  /** The scan's identity, UUIDv7. */
  readonly scanId: string;
  /** When the scan began, Unix milliseconds. A server that was seen later is not missing. */
  readonly since: number;
  /** When the scan ended, Unix milliseconds. */
  readonly at: number;
  /** What the scan probed. */
  readonly coverage: Coverage;
  /** Number of scans in a row without a reply after which a server counts as offline. */
  readonly downAfter: number;
  /** The share of probes that the scan lost by its own estimate, 0 to 1. Default: unknown. */
  readonly packetLoss?: number;
  /**
   * Returns in each transaction whether the scan still is to count servers; if not, the rest is
   * omitted. Default: it is.
   */
  readonly isCurrent?: () => Promise<boolean>;
}

/**
 * Counts a failure for each missing server, and adds an offline observation. Deletes no server. A server
 * is missing if the scan probed its endpoint, and `scan_servers` has no server with this endpoint.
 *
 * @returns The number of missing servers.
 */
export async function markMissing(database: Database, scan: FinishedScan): Promise<number> {
  const { coverage } = scan;
  const numbers = await scanNumbers(database, [scan.scanId]);
  const number = numbers.get(scan.scanId);
  if (number === undefined) return 0; // the identity is not a UUID: the scan has no row
  const packed = await packedServers(database, number);
  let [count, beatAt] = [0, database.now()];
  for (const range of queriedRanges(coverage.ranges)) {
    for await (const page of readPages(database, range, number)) {
      const missing = page.filter(({ id, address, port, protocols }) =>
        !packed.has(Number(id)) &&
        coverage.includes(
          parseAddress(String(address))!,
          Number(port),
          readTexts(String(protocols)) ?? [],
        )
      );
      const marked = await database.transaction(async (attempt) =>
        await scan.isCurrent?.() === false
          ? undefined
          : markRows(database, scan, number, missing, attempt)
      );
      if (marked === undefined) return count;
      count += marked;
      if (database.now() - beatAt < HEARTBEAT_MS) continue;
      await writeHeartbeat(database, number);
      beatAt = database.now();
    }
  }
  return count;
}

/** The servers that a scan found or missed when it ended before: a program may repeat the end. */
async function packedServers(database: Database, scan: number): Promise<ReadonlySet<number>> {
  if (!await hasSets(database, scan)) return new Set();
  const [found, missed] = [
    await readMembers(database, scan, "found"),
    await readMembers(database, scan, "missed"),
  ];
  return new Set([...found, ...missed]);
}

/**
 * The ranges to query: those of the coverage; if there are too many, the range of the whole address
 * family.
 */
function queriedRanges(ranges: Coverage["ranges"]): Coverage["ranges"] {
  return ([4, 6] as const).flatMap((bits) => {
    const ofFamily = ranges.filter(({ start }) => family(start) === bits);
    return ofFamily.length > MAX_RANGES ? [WHOLE[bits]] : ofFamily;
  });
}

const WHOLE = { 4: { start: 0, end: 2 ** 32 }, 6: { start: 0n, end: 1n << 128n } } as const;

/** A missing server, as the transaction that counts its failure has read it. */
interface MissingServer extends UnansweredServer {
  readonly wasOnline: boolean;
  readonly repliedAt: number | null;
}

/**
 * Notes which servers the scan missed, and counts a failure for each that did not reply to another program
 * since the scan began. Returns the number of failures.
 */
async function markRows(
  database: Database,
  scan: FinishedScan,
  number: number,
  candidates: readonly Row[],
  attempt: number,
): Promise<number> {
  const missing = await readMissing(database, scan, number, candidates, attempt);
  await writeUnanswered(database, missing);
  const offline = missing.filter(({ online, wasOnline }) => online !== wasOnline);
  await markChanged(database, offline.map(({ id }) => id));
  const lost = missing.filter(({ missedScans, repliedAt }) =>
    missedScans === 1 && repliedAt !== null
  );
  const event = ({ id: server, at }: MissingServer, kind: string, data: EventRow["data"]) => (
    { id: newEventId(at), at, server, scan: number, kind, data }
  );
  const packet_loss = scan.packetLoss ?? null;
  await writeLimited(database, [
    ...lost.map((one) => event(one, "lost", { replied_at: one.repliedAt, packet_loss })),
    ...offline.map((one) => {
      const { missedScans: misses, repliedAt: replied_at } = one;
      return event(one, "offline", { misses, replied_at, unresponsive_since: null });
    }),
  ]);
  const isLost = new Set(lost.map(({ id }) => id));
  await noteMembers(
    database,
    number,
    candidates.map(({ id }) => Number(id)).map((server) => ({
      server,
      what: MEMBER_BITS.missed | (isLost.has(server) ? MEMBER_BITS.lost : 0),
    })),
  );
  const rows = missing.map(({ id, at }) => observationValues({ server: id, at, scan: number }, 0));
  await writeObservations(database, rows);
  return missing.length;
}

/**
 * Reads the states of servers in the order of their ids, without those that replied meanwhile, and those
 * that the scan has counted before: its end may be repeated.
 */
async function readMissing(
  database: Database,
  { at: endedAt, since, downAfter }: FinishedScan,
  number: number,
  candidates: readonly Row[],
  attempt: number,
): Promise<MissingServer[]> {
  const [at, until] = [endedAt, since - 1].map((time) => time + database.clockOffsetMs);
  const rows = await database.rows(
    `select t.server, t.online, t.missed_scans, t.replied_at, ${
      versionOf(database)
    } as version from server_state t where ${isInList(database, "t.server", "integer")} ` +
      "and not exists (select 1 from scan_servers e where e.scan = ? and e.server = t.server " +
      `and e.what & ${MEMBER_BITS.missed} <> 0) ` +
      `order by t.server${attempt > 1 ? " for update" : ""}`,
    [listValue(database, candidates.map(({ id }) => Number(id))), number],
  );
  return rows.flatMap((row) => {
    if (Number(row.replied_at) > until && Number(row.replied_at) <= database.now()) return [];
    const [wasOnline, missedScans] = [row.online === 1, Number(row.missed_scans) + 1];
    const online = wasOnline && missedScans < downAfter;
    const repliedAt = row.replied_at === null ? null : Number(row.replied_at);
    const version = String(row.version);
    return [{ id: Number(row.server), online, wasOnline, missedScans, at, version, repliedAt }];
  });
}

/**
 * Reads missing servers of a range page by page. Each page starts after the last row of the page before.
 */
async function* readPages(
  database: Database,
  { start, end }: Coverage["ranges"][number],
  scan: number,
): AsyncIterable<readonly Row[]> {
  const column = addressColumn(database);
  const isPostgres = database.engine === "postgres";
  const [at, id] = [isPostgres ? "?::inet" : "?", isPostgres ? "?::integer" : "?"];
  const sql = `select s.id, s.address, s.port, s.protocols, s.${column} as first_key ` +
    "from servers s join server_state t on t.server = s.id " +
    `where (s.${column}, s.id) > (${at}, ${id}) and s.${column} <= ${at} ` +
    "and not exists " +
    "(select 1 from scan_servers e join servers o on o.id = e.server where e.scan = ? " +
    `and e.what % 2 = 1 and o.${column} = s.${column} and o.port = s.port) ` +
    `order by s.${column}, s.id limit ${PAGE}`;
  const last = typeof end === "number" ? end - 1 : end - 1n;
  let cursor: Value[] = [addressValue(database, start), 0];
  for (;;) {
    const bounds = [...cursor, addressValue(database, last)];
    const page = await database.rows(sql, [...bounds, scan]);
    if (page.length === 0) return;
    yield page;
    const { first_key: key, id: lastId } = page[page.length - 1];
    cursor = [key, lastId];
  }
}
