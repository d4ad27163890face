/**
 * Writes the progress of running scans and watches.
 *
 * @module
 */
import { type Database, timeParameter, type Value } from "../database/database.ts";
import { storableJson, storableTime } from "../rows/stored_values.ts";

/** The numbers of a scan or watch: columns of the table `scans`. */
export interface ScanNumbers {
  /** Number of UDP probes and TCP connection attempts; of polls of a watch. */
  readonly probesSent: number;
  /** Number of replies to probes or polls. */
  readonly replies: number;
  /** Number of servers that the scan wrote; of servers that are online in a watch. */
  readonly found: number;
  /** Number of visited positions of all passes. Default: 0. */
  readonly position?: number;
  /** Number of positions of all passes, as far as known; of servers that a watch polls. Default: 0. */
  readonly total?: number;
  /** When the scan is expected to end, Unix milliseconds. Default: unknown. */
  readonly endsAt?: number;
  /** Estimated share of lost probes, 0 to 1. Default: unknown. */
  readonly packetLoss?: number;
  /** Number of rows that could not be written. Default: 0. */
  readonly rowsLost?: number;
  /** The rate that a search has found, packets per second, and its reason. Default: not searched. */
  readonly rate?: { readonly rate: number; readonly reason: string };
  /** Losses by cause, and replies, with the names of status files. Default: unknown. */
  readonly counters?: Readonly<Record<string, unknown>>;
}

/** The numbers of a scan or watch that runs. */
export interface ScanProgressRow extends ScanNumbers {
  /** The scan's identity, UUIDv7. */
  readonly id: string;
}

/** After this time without a heartbeat, a scan or watch that counts as running was killed, milliseconds. */
export const HEARTBEAT_TIMEOUT_MS = 60_000;

/** Maximum time between two heartbeats of a running scan or watch, milliseconds. */
export const HEARTBEAT_MS = 10_000;

/** Writes the heartbeat of a scan or watch that runs, without changing its numbers. */
export async function writeHeartbeat(database: Database, scan: number): Promise<void> {
  await database.run(
    `update scans set heartbeat_at = ${timeParameter(database)} where id = ?`,
    [database.now(), scan],
  );
}

/**
 * Writes the numbers of a scan or watch, and its heartbeat.
 *
 * @param scan `scans.id`.
 */
export async function writeNumbers(
  database: Database,
  scan: number,
  numbers: ScanNumbers,
): Promise<void> {
  const time = timeParameter(database);
  const { probesSent, replies, found, position = 0, total = 0, rowsLost = 0 } = numbers;
  const { endsAt, packetLoss, rate, counters } = numbers;
  const expected = endsAt === undefined ? null : storableTime(Math.round(endsAt));
  const values: Value[] = [
    database.now(),
    probesSent,
    replies,
    found,
    position,
    total,
    expected === null ? null : expected + database.clockOffsetMs,
    packetLoss ?? null,
    rowsLost,
    rate === undefined ? null : Math.round(rate.rate),
    rate?.reason ?? null,
    counters === undefined ? null : storableJson(counters),
  ];
  await database.run(
    `update scans set heartbeat_at = ${time}, probes_sent = ?, replies = ?, found = ?, ` +
      `position = ?, total = ?, ends_at = ${time}, packet_loss = ?, rows_lost = ?, rate = ?, ` +
      "rate_reason = ?, counters = ? where id = ?",
    [...values, scan],
  );
}

/** Notes that a scan runs which another program has ended, because it wrote no heartbeat for a minute. */
export async function reviveScan(database: Database, scan: number): Promise<void> {
  await database.run(
    "update scans set state = 'running', finished_at = null where id = ? and state = 'interrupted'",
    [scan],
  );
}

/**
 * Writes the end of a scan or watch. If a clock was set back, or the clocks of two machines differ,
 * the end is not before the start.
 *
 * @param scan `scans.id`.
 * @param end The final state, and the time of the end by the database's clock, Unix milliseconds.
 */
export async function writeScanEnd(
  database: Database,
  scan: number,
  { state, at }: { readonly state: string; readonly at: number },
): Promise<void> {
  const time = timeParameter(database);
  await database.run(
    "update scans set state = ?, finished_at = " +
      `case when started_at > ${time} then started_at else ${time} end where id = ?`,
    [state, at, at, scan],
  );
}
