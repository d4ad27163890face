/**
 * Reads the scans and watches of a database.
 *
 * @module
 */
import { parseAddress } from "../../core/address.ts";
import {
  type Database,
  isInList,
  listValue,
  type Row,
  timeParameter,
  type Value,
} from "../database/database.ts";
import { MEMBER_KINDS, type MemberCounts } from "../members/members.ts";
import { addressSort, canonicalHost } from "../rows/addresses.ts";
import { readJson } from "../rows/json_cells.ts";
import { storableUuid } from "../rows/stored_values.ts";
import { HEARTBEAT_TIMEOUT_MS } from "./scan_progress.ts";

/** A scan or watch as a database has it. Times are Unix milliseconds. */
export interface StoredScan {
  /** The identity, UUIDv7. */
  readonly scan_id: string;
  /** `sweep`, `watch`, or `import`: only known from imported rows. */
  readonly kind: string;
  /** `running`, `stale`, `finished`, `interrupted` or `failed`. `stale`: running, but without a heartbeat. */
  readonly state: string;
  /** The name of the campaign; null: the scan is no campaign, or the name is unknown. */
  readonly campaign: string | null;
  /** The shard that the scan probes, such as `2/4`; null: all targets. */
  readonly shard: string | null;
  /** When the scan began; null: unknown. */
  readonly started_at: number | null;
  /** When the scan ended; null: it runs, or unknown. */
  readonly finished_at: number | null;
  /** The last write of these numbers; null: unknown. */
  readonly heartbeat_at: number | null;
  /** When the scan is expected to end; null: unknown. */
  readonly ends_at: number | null;
  /** Number of runs: 2 after the scan was resumed once. */
  readonly runs: number;
  /** Number of parts into which a campaign divides its targets; 1 without a campaign. */
  readonly parts: number;
  /** Number of complete parts. */
  readonly parts_done: number;
  /** Number of parts that workers scan now. */
  readonly parts_running: number;
  /** Number of parts that a worker scans, but has not reported for 60 seconds. */
  readonly parts_stale: number;
  /** Number of parts that failed too often. */
  readonly parts_poisoned: number;
  /** Number of parts that will not be scanned. */
  readonly parts_cancelled: number;
  /** Number of visited positions of all passes. */
  readonly position: number;
  /** Number of positions of all passes; of servers that a watch polls. */
  readonly total: number;
  /** Number of UDP probes and TCP connection attempts, or of polls. */
  readonly probes_sent: number;
  /** Number of replies to probes or polls. */
  readonly replies: number;
  /** Number of servers written; online at the end of a watch. */
  readonly found: number;
  /** Estimated share of lost probes, 0 to 1; null: unknown. */
  readonly packet_loss: number | null;
  /** Number of rows that could not be written. */
  readonly rows_lost: number;
  /** The rate that `--rate auto` has found, packets a second; null: not searched. */
  readonly rate: number | null;
  /** The reason for that rate; null: not searched. */
  readonly rate_reason: string | null;
  /**
   * Losses by cause, and replies, with the names of status files; null: unknown, as of a watch and a
   * campaign.
   */
  readonly counters: Readonly<Record<string, unknown>> | null;
  /**
   * Numbers of servers by what the scan saw of them; null: it has not ended, or is a watch or an import.
   * A server that it did not ask is in none.
   */
  readonly members: MemberCounts | null;
  /** The value of `--retries`; null: not given. */
  readonly retries: number | null;
  /** The first 1,000 merged ranges that the user named as targets. */
  readonly ranges: readonly string[];
  /** The first 1,000 merged ranges among them that it does not probe. */
  readonly excluded: readonly string[];
  /**
   * Whether the ranges contain addresses outside the original ranges, because these were too many.
   */
  readonly widened: boolean;
  /** Whether only some addresses of `ranges` were probed: the scan was adaptive. */
  readonly sampled: boolean;
}

/** Kinds of scans that note what they saw of servers. */
const COMPARED_KINDS = ["sweep", "lan"];

/** SQL: whether a scan `c` has ended and noted what it saw of servers. */
export const IS_COMPARED = `c.members is not null and c.kind in (${
  COMPARED_KINDS.map((kind) => `'${kind}'`).join(", ")
})`;

const NEWEST_FIRST = "order by c.started_at desc nulls last, c.id desc";

/** Maximum number of ranges of a scan that are read. */
const MAX_RANGES = 1000;

/** The times and numbers that may be null. */
const NULLABLE = ["started_at", "finished_at", "heartbeat_at", "ends_at", "packet_loss", "rate"];
const NUMBERS = [
  ...["runs", "parts", "position", "total", "probes_sent", "replies", "found", "rows_lost"],
  ...["parts_done", "parts_running", "parts_stale", "parts_poisoned", "parts_cancelled"],
];
const TEXTS = ["kind", "state", "rate_reason"];

/**
 * The newest scans and watches of a database.
 *
 * @param limit Maximum number.
 */
export async function newestScans(database: Database, limit: number): Promise<StoredScan[]> {
  return await scansBy(database, `${NEWEST_FIRST} limit ?`, limit);
}

/**
 * The scans and watches that run, also stale ones, and those with identities.
 *
 * @param limit Maximum number: the newest ones.
 */
export async function runningScans(
  database: Database,
  ids: readonly string[],
  limit: number,
): Promise<StoredScan[]> {
  const uuids = ids.map(storableUuid).filter((uuid) => uuid !== null);
  const isNamed = isInList(database, "c.uuid", "uuid");
  const end = `where c.state = 'running' or ${isNamed} ${NEWEST_FIRST} limit ${limit}`;
  return await scansBy(database, end, listValue(database, uuids));
}

/** Number of earlier scans that are compared with a scan to find the one before it. */
const EARLIER = 20;

/** The last scan before a scan that has ended, with the same targets; `undefined`: none among the last ones. */
export async function scanBefore(
  database: Database,
  { started_at: at, kind, ranges }: StoredScan,
): Promise<StoredScan | undefined> {
  if (at === null || !COMPARED_KINDS.includes(kind)) return undefined;
  const earlier = await scansBy(
    database,
    `where c.started_at < ${timeParameter(database)} and ${IS_COMPARED} ` +
      `${NEWEST_FIRST} limit ${EARLIER}`,
    at,
  );
  const targets = JSON.stringify(ranges);
  return earlier.find((one) => JSON.stringify(one.ranges) === targets);
}

/** The identity of the last scan that has ended and noted what it saw of servers; `undefined`: none. */
export async function lastScanId(database: Database): Promise<string | undefined> {
  const [row] = await database.rows(
    `select c.uuid from scans c where ${IS_COMPARED} ${NEWEST_FIRST} limit 1`,
  );
  return row === undefined ? undefined : String(row.uuid);
}

/** The scan or watch with an identity; `undefined`: none. */
export async function scanWithId(
  database: Database,
  id: string,
): Promise<StoredScan | undefined> {
  const uuid = storableUuid(id);
  return uuid === null ? undefined : (await scansBy(database, "where c.uuid = ?", uuid))[0];
}

/** SQL of the numbers of parts by their state. Its two parameters are the time after which a part is stale. */
function partCounts(database: Database): string {
  const time = timeParameter(database);
  const running = "p.state = 'running' and p.updated_at";
  const conditions = [
    ...[["running", `${running} >= ${time}`], ["stale", `${running} < ${time}`]],
    ...["done", "poisoned", "cancelled"].map((state) => [state, `p.state = '${state}'`]),
  ];
  return conditions.map(([name, condition]) =>
    `(select count(*) from scan_parts p where p.scan = c.id and ${condition}) as parts_${name}`
  ).join(", ");
}

/** The scans that the end of a query selects, and its parameter. */
async function scansBy(database: Database, end: string, value: Value): Promise<StoredScan[]> {
  const staleAt = database.now() - HEARTBEAT_TIMEOUT_MS;
  const rows = await database.rows(
    `select c.*, ${partCounts(database)}, ` +
      `c.state = 'running' and c.heartbeat_at < ${timeParameter(database)} as stale ` +
      `from scans c ${end}`,
    [staleAt, staleAt, staleAt, value],
  );
  const scans: StoredScan[] = [];
  for (const row of rows) scans.push({ ...scanOf(row), ...await rangesOf(database, row) });
  return scans;
}

/** The number of scans and watches of a database. */
export async function countScans(database: Database): Promise<number> {
  return Number((await database.rows("select count(*) as count from scans"))[0].count);
}

/** Which campaign or shard a scan is: `campaign lab`, `shard 2/4`; an empty text for other scans. */
export function scanName({ campaign, shard }: Pick<StoredScan, "campaign" | "shard">): string {
  if (campaign !== null) return `campaign ${campaign}`;
  return shard === null ? "" : `shard ${shard}`;
}

/** The numbers of a scan's servers. Another program may have written any text. */
function membersIn(text: string): MemberCounts | null {
  const counts = Object(readJson(text, "facts"));
  const isWhole = MEMBER_KINDS.every((kind) => Number.isSafeInteger(counts[kind]));
  return isWhole
    ? Object.fromEntries(MEMBER_KINDS.map((kind) => [kind, counts[kind]])) as never
    : null;
}

type Ranges = Pick<StoredScan, "ranges" | "excluded" | "widened" | "sampled">;

function scanOf(row: Row): Omit<StoredScan, keyof Ranges> {
  const numberOrNull = (name: string) => row[name] === null ? null : Number(row[name]);
  return {
    scan_id: row.uuid,
    ...Object.fromEntries(TEXTS.map((name) => [name, row[name]])),
    ...(row.stale === 1 && { state: "stale" }),
    ...optionsIn(String(row.config)),
    counters: readJson(String(row.counters), "facts") ?? null,
    members: COMPARED_KINDS.includes(String(row.kind)) ? membersIn(String(row.members)) : null,
    ...Object.fromEntries(NULLABLE.map((name) => [name, numberOrNull(name)])),
    ...Object.fromEntries(NUMBERS.map((name) => [name, Number(row[name])])),
  } as unknown as Omit<StoredScan, keyof Ranges>;
}

/** The options of a scan that are shown. Another program may have written any text. */
function optionsIn(config: string): Pick<StoredScan, "campaign" | "shard" | "retries"> {
  const { campaign, shard, retries } = Object(readJson(config, "facts"));
  const textOrNull = (value: unknown) => typeof value === "string" ? value : null;
  return {
    campaign: textOrNull(campaign),
    shard: textOrNull(shard),
    retries: /^\d$/.test(String(retries)) ? Number(retries) : null,
  };
}

async function rangesOf(database: Database, { id }: Row): Promise<Ranges> {
  const read = async (excluded: number) => {
    const rows = await database.rows(
      "select first, last, widened, sampled from scan_ranges where scan = ? and excluded = " +
        `${database.engine === "postgres" ? "?::integer::boolean" : "?"} ` +
        `order by first limit ${MAX_RANGES}`,
      [id, excluded],
    );
    return rows.toSorted((a, b) => rangeOrder(a) < rangeOrder(b) ? -1 : 1);
  };
  const [requested, excluded] = [await read(0), await read(1)];
  return {
    ranges: requested.map(rangeText),
    excluded: excluded.map(rangeText),
    widened: [...requested, ...excluded].some(({ widened }) => widened === 1),
    sampled: requested.some(({ sampled }) => sampled === 1),
  };
}

/** A text by which ranges are sorted as numbers: SQLite sorts addresses as texts. */
function rangeOrder({ first }: Row): string {
  const text = String(first);
  return parseAddress(text) === undefined ? text : addressSort(text);
}

function rangeText({ first, last }: Row): string {
  const [start, end] = [String(first), String(last)].map(canonicalHost);
  return start === end ? start : `${start}-${end}`;
}
