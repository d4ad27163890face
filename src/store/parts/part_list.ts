/**
 * Reads the parts of a scan that a user may want to see: those that run, and those that failed.
 *
 * @module
 */
import { type Database, type Row, timeParameter } from "../database/database.ts";
import { storableUuid } from "../rows/stored_values.ts";
import { HEARTBEAT_TIMEOUT_MS } from "../scans/scan_progress.ts";

/** A part of a scan. Times are Unix milliseconds. */
export interface ListedPart {
  /** Number of the part, from 1. */
  readonly part: number;
  /** `running`, `stale` or `poisoned`. `stale`: running, but its worker has not reported for 60 seconds. */
  readonly state: string;
  /** The worker that reported last; null: none did. Another program may have written any text. */
  readonly worker: string | null;
  /** How often workers have taken the part. */
  readonly tries: number;
  /** Number of visited positions of all passes. */
  readonly position: number;
  /** Number of positions of all passes. */
  readonly total: number;
  /** Number of UDP probes and TCP connection attempts. */
  readonly probes_sent: number;
  /** Number of replies to probes. */
  readonly replies: number;
  /** Number of servers written. */
  readonly found: number;
  /** Why the last try failed; null: it did not. */
  readonly why: string | null;
  /** When this was reported. */
  readonly updated_at: number;
}

/** The parts of a scan that run, also stale ones, and those that failed too often: at most 200 of each. */
export interface ListedParts {
  /** In the order of the workers. */
  readonly running_parts: readonly ListedPart[];
  /** In the order of their numbers. */
  readonly poisoned_parts: readonly ListedPart[];
}

/** Maximum number of parts of a state. */
const MAX_PARTS = 200;

/** Reads parts of the scan with an identity; none if there is no such scan. */
export async function listedParts(database: Database, id: string): Promise<ListedParts> {
  const uuid = storableUuid(id);
  const read = async (state: string, order: string): Promise<ListedPart[]> => {
    if (uuid === null) return [];
    const rows = await database.rows(
      `select p.*, p.updated_at < ${
        timeParameter(database)
      } as is_old from scan_parts p join scans c on c.id = p.scan ` +
        `where c.uuid = ? and p.state = ? order by ${order} limit ${MAX_PARTS}`,
      [database.now() - HEARTBEAT_TIMEOUT_MS, uuid, state],
    );
    return rows.map(partOf);
  };
  return {
    running_parts: await read("running", "p.worker, p.part"),
    poisoned_parts: await read("poisoned", "p.part"),
  };
}

/** The columns that are numbers. */
const NUMBERS = [
  ...["part", "tries", "position", "total", "probes_sent", "replies", "found", "updated_at"],
];

function partOf(row: Row): ListedPart {
  const textOf = (name: string) => row[name] === null ? null : String(row[name]);
  return {
    state: row.state === "running" && row.is_old === 1 ? "stale" : row.state,
    ...{ worker: textOf("worker"), why: textOf("why") },
    ...Object.fromEntries(NUMBERS.map((name) => [name, Number(row[name])])),
  } as unknown as ListedPart;
}
