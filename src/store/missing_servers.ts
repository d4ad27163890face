/**
 * Servers that a scan asked, and that did not answer.
 *
 * @module
 */
import { type Address, family, parseAddress } from "../core/address.ts";
import type { BulkStatement, Database, Row, Value } from "./database/database.ts";
import { OBSERVE } from "./record_writer.ts";

/** What a scan asked. */
export interface Coverage {
  /** Ranges that hold all that it asked: start, and end exclusive. */
  readonly ranges: readonly { readonly start: Address; readonly end: Address }[];
  /**
   * Whether it asked a server that spoke these protocols when it last answered.
   *
   * @param protocols None: it never answered.
   */
  readonly asked: (address: Address, port: number, protocols: readonly string[]) => boolean;
}

/** After how many scans or polls without an answer a server counts as offline, if nobody says. */
export const DOWN_AFTER = 3;

/** Servers that are looked at, and updated, at a time. */
const PAGE = 1000;
/** More ranges than this are not looked up one by one. */
const MOST_RANGES = 1000;

const MISS: BulkStatement = {
  types: ["integer", "bigint", "text", "bigint"],
  sqlite: "update servers set failures = failures + 1, " +
    "online = case when failures + 1 >= ? then 0 else online end, last_seen = ? " +
    "where id = ? and last_seen < ?",
  postgres: "update servers set failures = failures + 1, " +
    "online = case when failures + 1 >= missed.most then 0 else online end, " +
    "last_seen = missed.at from unnest($1::integer[], $2::bigint[], $3::text[], $4::bigint[]) " +
    "as missed (most, at, id, since) where servers.id = missed.id and last_seen < missed.since",
};

/** A scan of which the missing are sought. */
export interface Missed {
  /** The scan. */
  readonly scanId: string;
  /** When it began, Unix milliseconds: who was seen later is not missing. */
  readonly since: number;
  /** When it ended. */
  readonly at: number;
  /** What it asked. */
  readonly coverage: Coverage;
  /** After how many misses a server counts as offline. */
  readonly downAfter: number;
}

/**
 * Counts a failure of every server that was asked and did not answer. None is deleted.
 *
 * @returns How many there were.
 */
export async function markMissing(database: Database, missed: Missed): Promise<number> {
  const { asked } = missed.coverage;
  let count = 0;
  for (const { start, end } of lookups(missed.coverage.ranges)) {
    const pages = typeof start === "number"
      ? pagesOf(database, V4, [start, "", end as number, missed.since], ["addr", "id"])
      : pagesOf(database, V6, ["", missed.since], ["id"]);
    for await (const page of pages) {
      const silent = page.filter(({ host, port, protocols }) =>
        asked(parseAddress(String(host))!, Number(port), JSON.parse(String(protocols)))
      );
      await database.transaction(() => mark(database, missed, silent));
      count += silent.length;
    }
  }
  return count;
}

/** The ranges to look up: few ones, and all of IPv6 at once, for which there is no index. */
function lookups(ranges: Coverage["ranges"]): Coverage["ranges"] {
  const [v4, v6] = [4, 6].map((bits) => ranges.filter(({ start }) => family(start) === bits));
  return [
    ...(v4.length > MOST_RANGES ? [{ start: 0, end: 2 ** 32 }] : v4),
    ...v6.slice(0, 1),
  ];
}

async function mark(database: Database, missed: Missed, silent: readonly Row[]): Promise<void> {
  const { scanId, at, since, downAfter } = missed;
  await database.bulk(MISS, silent.map(({ id }) => [downAfter, at, id, since]));
  const nothing = [null, null, null, null];
  await database.bulk(OBSERVE, silent.map(({ id }) => [scanId, id, 0, at, 0, ...nothing]));
}

const COLUMNS = "select id, addr, host, port, protocols from servers";
const V4 = `${COLUMNS} where (addr, id) > (?, ?) and addr < ? and last_seen < ? ` +
  `order by addr, id limit ${PAGE}`;
const V6 = `${COLUMNS} where addr is null and id > ? and last_seen < ? order by id limit ${PAGE}`;

/** Rows page by page: each starts behind the last row of the page before. */
async function* pagesOf(
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
