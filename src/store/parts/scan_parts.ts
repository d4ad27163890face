/**
 * The parts of a scan: rows of the table `scan_parts`. The numbers of the scan are their sums.
 *
 * @module
 */
import { type Database, insertInto, timeParameter, type Value } from "../database/database.ts";
import { storable, storableJson, storableTime } from "../rows/stored_values.ts";
import type { ScanNumbers } from "../scans/scan_progress.ts";

/** The states of parts after which nothing more happens to them, unless they are retried. */
export const FINAL_STATES = ["done", "poisoned", "cancelled"] as const;

/** The state of a part. `queued`: no worker has it. `poisoned`: it failed too often. */
export type StoredPartState = "queued" | "running" | typeof FINAL_STATES[number];

export type PartNumbers = Omit<ScanNumbers, "endsAt" | "rate" | "counters">;

/** What is newly known of a part. */
export interface PartUpdate {
  /** Number of the part, from 1. */
  readonly part: number;
  readonly state: StoredPartState;
  /** When this was reported, Unix milliseconds of one clock for all reports. */
  readonly at: number;
  /** The worker that reports this. Default: unchanged. */
  readonly worker?: string;
  /** How often workers have taken the part. */
  readonly tries: number;
  /** Default: unchanged. */
  readonly numbers?: PartNumbers;
  /** Why the last try failed. Default: no try failed. */
  readonly why?: string;
  /** Which replies floods may have hidden, as JSON. Default: none. */
  readonly floods?: unknown;
}

type StoredPart = Omit<PartUpdate, "worker" | "numbers"> & {
  readonly worker: string | null;
  readonly numbers: PartNumbers;
};

const INSERT_PART = (() => {
  const columns = [
    ...[["scan", "integer"], ["part", "integer"], ["state", "text"], ["worker", "text"]] as const,
    ...[["tries", "integer"], ["probes_sent", "bigint"], ["replies", "bigint"]] as const,
    ...[["found", "bigint"], ["position", "bigint"], ["total", "bigint"]] as const,
    ...[["packet_loss", "double precision"], ["rows_lost", "bigint"], ["why", "text"]] as const,
    ...[["floods", "jsonb"], ["updated_at", "timestamptz"], ["done_at", "timestamptz"]] as const,
  ];
  const changes = columns.slice(2).map(([name]) => `${name} = excluded.${name}`);
  const conflict = `on conflict (scan, part) do update set ${changes.join(", ")}`;
  return insertInto("scan_parts", columns, conflict);
})();

const isFinal = (state: StoredPartState) => FINAL_STATES.some((one) => one === state);

/**
 * Writes what is newly known of parts, and the numbers of the scan. A report that a newer one has
 * overtaken changes nothing, and a part that is done stays done. A scan that has ended runs again when
 * one of its parts does. The caller has begun a transaction.
 *
 * @param scan `scans.id`.
 */
export async function writeParts(
  database: Database,
  scan: number,
  updates: readonly PartUpdate[],
): Promise<void> {
  const { isRunning } = await lockScan(database, scan);
  const stored = await readParts(database, scan);
  const changed = new Set<number>();
  for (const update of updates) {
    const before = stored.get(update.part);
    if (before !== undefined && !isNews(before, update)) continue;
    const { worker = null, numbers = NO_NUMBERS } = before ?? {};
    stored.set(update.part, { worker, numbers, ...update });
    changed.add(update.part);
  }
  const rows = [...changed].sort((a, b) => a - b).map((part) => rowOf(scan, stored.get(part)!));
  await database.bulk(INSERT_PART, rows);
  if (changed.size > 0 && !isRunning) await runAgain(database, scan);
  await writeSums(database, scan);
}

/** Writes the only part of a scan without a campaign, when it is complete. */
export async function writeOnlyPart(
  database: Database,
  scan: number,
  part: PartUpdate & Required<Pick<PartUpdate, "numbers">>,
): Promise<void> {
  await database.bulk(INSERT_PART, [rowOf(scan, { worker: null, ...part })]);
}

const NO_NUMBERS: PartNumbers = { probesSent: 0, replies: 0, found: 0 };

/**
 * Whether a report is newer than the stored one. Reports of running parts and those of ended parts
 * arrive by different ways, so that the older one may be the second. A retry counts tries anew.
 */
function isNews(before: StoredPart, update: PartUpdate): boolean {
  if (before.state === "done") return false;
  if (update.state === "done") return true;
  if (update.state === before.state && update.at === before.at) return false;
  const isLater = update.at >= before.at;
  if (isFinal(update.state)) return isLater || update.tries <= before.tries;
  return isLater && (!isFinal(before.state) || update.tries < before.tries);
}

function rowOf(scan: number, { part, state, at, worker, tries, numbers, ...rest }: StoredPart) {
  const { probesSent, replies, found, position = 0, total = 0, packetLoss, rowsLost = 0 } = numbers;
  const { why, floods } = rest;
  const time = storableTime(at);
  const row: Value[] = [
    ...[scan, part, state, worker === null ? null : storable(worker), tries],
    ...[probesSent, replies, found, position, total, packetLoss ?? null, rowsLost],
    why === undefined ? null : storable(why),
    floods === undefined ? null : storableJson(floods),
    time,
    isFinal(state) ? time : null,
  ];
  return row;
}

/** The row of a scan in parts. */
export interface LockedScan {
  readonly isRunning: boolean;
  /** Number of runs: one more after a part of an ended scan is retried. */
  readonly runs: number;
  readonly parts: number;
  /** The estimated share of lost probes, 0 to 1; `undefined`: unknown. */
  readonly packetLoss: number | undefined;
}

/**
 * Waits until no other transaction writes parts of a scan, and reads the scan's row. The caller has
 * begun a transaction.
 */
export async function lockScan(database: Database, scan: number): Promise<LockedScan> {
  const lock = database.engine === "postgres" ? " for update" : "";
  const sql = `select state, runs, parts, packet_loss from scans where id = ?${lock}`;
  const [row] = await database.rows(sql, [scan]);
  return {
    isRunning: row?.state === "running",
    runs: Number(row?.runs),
    parts: Number(row?.parts),
    packetLoss: typeof row?.packet_loss === "number" ? row.packet_loss : undefined,
  };
}

async function readParts(database: Database, scan: number): Promise<Map<number, StoredPart>> {
  const rows = await database.rows("select * from scan_parts where scan = ?", [scan]);
  return new Map(rows.map((row) => {
    const numbers = {
      probesSent: Number(row.probes_sent),
      replies: Number(row.replies),
      found: Number(row.found),
      position: Number(row.position),
      total: Number(row.total),
      packetLoss: row.packet_loss === null ? undefined : Number(row.packet_loss),
      rowsLost: Number(row.rows_lost),
    };
    const [part, state, at] = [
      Number(row.part),
      row.state as StoredPartState,
      Number(row.updated_at),
    ];
    const worker = row.worker === null ? null : String(row.worker);
    return [part, { part, state, at, worker, tries: Number(row.tries), numbers }];
  }));
}

async function runAgain(database: Database, scan: number): Promise<void> {
  await database.run(
    "update scans set state = 'running', runs = runs + 1, finished_at = null where id = ?",
    [scan],
  );
}

/**
 * Writes the sums over the parts into the scan's row, and its heartbeat. The number of positions of
 * parts that have not begun is estimated from those that have: all parts have about as many.
 */
async function writeSums(database: Database, scan: number): Promise<void> {
  const sum = (column: string) => `coalesce(sum(p.${column}), 0)`;
  const begun = "sum(case when p.total > 0 then 1 else 0 end)";
  await database.run(
    "update scans set (probes_sent, replies, found, position, rows_lost, total, packet_loss) = " +
      `(select ${["probes_sent", "replies", "found", "position", "rows_lost"].map(sum)}, ` +
      `coalesce(cast(sum(p.total) as bigint) * scans.parts / nullif(${begun}, 0), 0), ` +
      "sum(p.packet_loss * p.probes_sent) / " +
      "nullif(sum(case when p.packet_loss is null then 0 else p.probes_sent end), 0) " +
      `from scan_parts p where p.scan = scans.id), heartbeat_at = ${timeParameter(database)} ` +
      "where id = ?",
    [database.now(), scan],
  );
}
