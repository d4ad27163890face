/**
 * Marks missing servers: known servers that a scan probed and that did not reply.
 *
 * @module
 */
import { type Address, family, parseAddress } from "../core/address.ts";
import type { BulkStatement, Database, Row, Value } from "./database/database.ts";
import { INSERT_OBSERVATION } from "./record_writer.ts";

/** The endpoints and protocols that a scan has probed completely. */
export interface Coverage {
  /** Address ranges that contain all probed endpoints: start inclusive, end exclusive. */
  readonly ranges: readonly { readonly start: Address; readonly end: Address }[];
  /**
   * Whether the scan probed an endpoint in a way that its server would have replied to.
   *
   * @param protocols The protocols of the server's last reply. Empty: the server never replied.
   */
  readonly includes: (address: Address, port: number, protocols: readonly string[]) => boolean;
}

/** Number of servers that one transaction updates. */
const PAGE = 1000;
/** Above this number of ranges, one query reads the servers of all addresses. */
const MAX_RANGES = 1000;

const COUNT_FAILURE: BulkStatement = {
  types: ["integer", "bigint", "text", "bigint"],
  sqlite: "update servers set failures = failures + 1, " +
    "online = case when failures + 1 >= ? then 0 else online end, last_seen = ? " +
    "where id = ? and last_seen < ?",
  postgres: "update servers set failures = failures + 1, " +
    "online = case when failures + 1 >= missed.down_after then 0 else online end, " +
    "last_seen = missed.at from unnest($1::integer[], $2::bigint[], $3::text[], $4::bigint[]) " +
    "as missed (down_after, at, id, since) where servers.id = missed.id and last_seen < missed.since",
};

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
  /** Number of failures in a row after which a server counts as offline. */
  readonly downAfter: number;
}

/**
 * Counts a failure for each missing server, and adds an offline observation. Deletes no server.
 *
 * @returns The number of missing servers.
 */
export async function markMissing(database: Database, scan: FinishedScan): Promise<number> {
  const { coverage, since } = scan;
  let count = 0;
  for (const { start, end } of queriedRanges(coverage.ranges)) {
    const pages = typeof start === "number"
      ? readPages(database, SELECT_V4, [start, "", end as number, since], ["addr", "id"])
      : readPages(database, SELECT_V6, ["", since], ["id"]);
    for await (const page of pages) {
      const missing = page.filter(({ host, port, protocols }) =>
        coverage.includes(parseAddress(String(host))!, Number(port), JSON.parse(String(protocols)))
      );
      await database.transaction(() => markRows(database, scan, missing));
      count += missing.length;
    }
  }
  return count;
}

/** The ranges to query. One range stands for all of IPv6: the database has no index of IPv6 addresses. */
function queriedRanges(ranges: Coverage["ranges"]): Coverage["ranges"] {
  const [v4, v6] = [4, 6].map((bits) => ranges.filter(({ start }) => family(start) === bits));
  const queriedV4 = v4.length > MAX_RANGES ? [{ start: 0, end: 2 ** 32 }] : v4;
  return [...queriedV4, ...v6.slice(0, 1)];
}

async function markRows(
  database: Database,
  { scanId, at, since, downAfter }: FinishedScan,
  missing: readonly Row[],
): Promise<void> {
  await database.bulk(COUNT_FAILURE, missing.map(({ id }) => [downAfter, at, id, since]));
  const noFacts = [null, null, null, null];
  await database.bulk(
    INSERT_OBSERVATION,
    missing.map(({ id }) => [scanId, id, 0, at, 0, ...noFacts]),
  );
}

const SELECT = "select id, addr, host, port, protocols from servers";
const SELECT_V4 = `${SELECT} where (addr, id) > (?, ?) and addr < ? and last_seen < ? ` +
  `order by addr, id limit ${PAGE}`;
const SELECT_V6 =
  `${SELECT} where addr is null and id > ? and last_seen < ? order by id limit ${PAGE}`;

/**
 * Reads rows page by page. Each page starts after the last row of the page before.
 *
 * @param cursor Columns whose values in the last row replace the first parameters.
 */
async function* readPages(
  database: Database,
  sql: string,
  parameters: Value[],
  cursor: readonly string[],
): AsyncIterable<readonly Row[]> {
  for (;;) {
    const page = await database.rows(sql, parameters);
    if (page.length === 0) return;
    yield page;
    const last = page[page.length - 1];
    parameters = [...cursor.map((name) => last[name]), ...parameters.slice(cursor.length)];
  }
}
