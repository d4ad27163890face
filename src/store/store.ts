/**
 * A database as the output of a scan or a watch.
 *
 * @module
 */
import type { ServerRecord } from "../core/record.ts";
import { InputError } from "../core/errors.ts";
import { type Database, StoreError, timeParameter } from "./database/database.ts";
import type { InterviewScope } from "./merging/kept_columns.ts";
import { type Coverage, markMissing } from "./writers/missing_servers.ts";
import { packMembers } from "./members/members.ts";
import { endKilledScans } from "./writers/killed_scans.ts";
import { writeMemberCounts } from "./writers/scan_events.ts";
import { writeOptOutEvents } from "./writers/server_events.ts";
import { writeOptOuts } from "./writers/opt_outs.ts";
import { writeOnlyPart } from "./parts/scan_parts.ts";
import { writeScanRecords } from "./writers/scan_writer.ts";
import type { OptOut } from "./writers/polls.ts";
import {
  reviveScan,
  type ScanNumbers,
  type ScanProgressRow,
  writeNumbers,
  writeScanEnd,
} from "./scans/scan_progress.ts";
import { type ScanAddresses, writeScanRanges } from "./scans/scan_ranges.ts";
import { scanNumbers } from "./rows/scan_numbers.ts";
import { storableJson, storableUuid } from "./rows/stored_values.ts";

/** The start of a scan or watch: a row of the table `scans`. */
export interface ScanStartRow {
  /** The scan's identity, UUIDv7. */
  readonly id: string;
  /** Whether a scan, a watch or a LAN discovery writes the rows. Default: `sweep`. */
  readonly kind?: "sweep" | "watch" | "lan";
  /** When the scan began, Unix milliseconds; of a resumed scan, its first run. */
  readonly at: number;
  /** When this run of the scan began, Unix milliseconds. Default: `at`. */
  readonly runAt?: number;
  /** What the scan probes. Default: unknown. */
  readonly addresses?: ScanAddresses;
  /** The scan's options as JSON, without passwords. */
  readonly config: string;
}

/** The end of a scan or watch. */
export interface ScanEndRow extends ScanNumbers {
  /** The scan's identity, UUIDv7. */
  readonly id: string;
  /** When the scan began, Unix milliseconds. */
  readonly since: number;
  /** When the scan ended, Unix milliseconds. */
  readonly at: number;
  /** The scan's final state. */
  readonly state: "finished" | "interrupted" | "failed";
  /** Whether the scan has probed all its targets. Default: false. */
  readonly isComplete?: boolean;
  /** What a complete scan probed; known servers there that did not reply are missing. */
  readonly coverage?: Coverage;
  /** Number of scans in a row without a reply after which a server counts as offline. */
  readonly downAfter: number;
  /** Addresses that opted out during the scan. Default: none. */
  readonly optOuts?: readonly OptOut[];
}

/**
 * The identity of a scan in the form of the database.
 *
 * @throws InputError for text that is not a UUID.
 */
function uuidOf(id: string): string {
  const uuid = storableUuid(id);
  if (uuid !== null) return uuid;
  throw new InputError(`Cannot use "${id}" as the identity of a scan: it is not a UUID`);
}

/** Delay before records are written, so that one transaction takes many, milliseconds. */
const GATHER_MS = 5;

/** A sink that writes records to a database, and stores the start and end of scans. */
export class Store implements AsyncDisposable {
  #open = true;

  /**
   * Owns an open database with the current schema: disposing the store closes the database.
   *
   * @param pause Awaited before each write, while further records gather. Default: 5 ms.
   * @param scope What the scan queries: columns that it does not query keep their values. Default:
   * all protocols are queried.
   */
  constructor(
    readonly database: Database,
    private readonly pause: () => Promise<void> = () =>
      new Promise((resolve) => setTimeout(resolve, GATHER_MS)),
    private readonly scope?: InterviewScope,
  ) {}

  /**
   * Writes the row of a scan that has begun or was resumed, and the ends of scans that were killed.
   *
   * @throws StoreError; InputError for an identity that is not a UUID.
   *
   * @internal
   */
  async begin(start: ScanStartRow): Promise<void> {
    await this.#attempt(async () => {
      await this.database.transaction(() => this.#writeStart(start));
      await endKilledScans(this.database, uuidOf(start.id));
      await this.database.flush(); // opens the log while descriptors are left
    });
  }

  async #writeStart(
    { id, kind = "sweep", at, runAt = at, config, addresses }: ScanStartRow,
  ): Promise<void> {
    const { database } = this;
    const { clockOffsetMs } = database;
    const uuid = uuidOf(id);
    const time = timeParameter(database);
    const options = storableJson(JSON.parse(config));
    await database.run(
      "insert into scans (uuid, kind, state, started_at, heartbeat_at, config) values " +
        `(?, ?, 'running', ${time}, ${time}, ?) ` +
        // A row without a start was made for imported records. A repeated call adds no run.
        "on conflict (uuid) do update set state = 'running', kind = excluded.kind, " +
        "started_at = coalesce(scans.started_at, excluded.started_at), " +
        "config = case when scans.started_at is null then excluded.config else scans.config end, " +
        "runs = case when scans.started_at is null or scans.heartbeat_at = excluded.heartbeat_at " +
        "then scans.runs else scans.runs + 1 end, " +
        "heartbeat_at = excluded.heartbeat_at, finished_at = null, ends_at = null",
      [uuid, kind, at + clockOffsetMs, runAt + clockOffsetMs, options],
    );
    if (addresses === undefined) return;
    const scan = (await scanNumbers(database, [uuid])).get(uuid)!;
    await writeScanRanges(database, scan, addresses, runAt + clockOffsetMs);
  }

  /**
   * Stores the progress and the heartbeat of a running scan.
   *
   * @throws StoreError; InputError for an identity that is not a UUID.
   *
   * @internal
   */
  async progress(row: ScanProgressRow): Promise<void> {
    const { database } = this;
    const uuid = uuidOf(row.id);
    // Streams and transactions of the connection end first.
    await this.#attempt(() =>
      database.transaction(async () => {
        const scan = (await scanNumbers(database, [uuid])).get(uuid)!;
        await writeNumbers(database, scan, row);
        await reviveScan(database, scan);
      })
    );
  }

  /**
   * Writes records. When the promise resolves, they are committed and survive the end of the process.
   *
   * @throws StoreError
   */
  async write(records: readonly ServerRecord[]): Promise<void> {
    if (records.length === 0) return;
    await this.pause();
    await this.#attempt(() => writeScanRecords(this.database, records, this.scope));
  }

  /** Syncs committed records to the disk. */
  async flush(): Promise<void> {
    await this.#attempt(() => this.database.flush());
  }

  /** Always 0: a resumed scan truncates no database. */
  position(): number {
    return 0;
  }

  /**
   * Stores that a scan has ended, and marks missing servers.
   *
   * @returns The number of missing servers.
   * @throws StoreError
   *
   * @internal
   */
  async end(end: ScanEndRow): Promise<number> {
    const { id, since, at, downAfter } = end;
    const coverage = coverageOf(end);
    return await this.#attempt(async () => {
      const missing = coverage === undefined ? 0 : await markMissing(this.database, {
        ...{ scanId: id, since, at, coverage, downAfter },
        packetLoss: end.packetLoss,
      });
      const scan = await this.database.transaction(() => this.#writeEnd(end));
      if (end.state === "finished") await packMembers(this.database, scan);
      await this.database.flush();
      return missing;
    });
  }

  async #writeEnd(end: ScanEndRow): Promise<number> {
    const { database } = this;
    const { id, state, isComplete = false, optOuts = [], endsAt: _, rate: __, ...numbers } = end;
    const at = end.at + database.clockOffsetMs;
    const scan = (await scanNumbers(database, [uuidOf(id)])).get(uuidOf(id))!;
    await writeOptOutEvents(database, await writeOptOuts(database, optOuts), scan);
    if (isComplete) {
      const part = { ...{ part: 1, state: "done", tries: 1 } as const, at, numbers };
      await writeOnlyPart(database, scan, part);
    }
    await writeNumbers(database, scan, { ...end, endsAt: undefined });
    await writeScanEnd(database, scan, { state, at });
    await writeMemberCounts(database, scan, { state, at });
    return scan;
  }

  /** Closes the database. Further calls do nothing. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.database[Symbol.asyncDispose]();
  }

  #attempt<T>(work: () => Promise<T>): Promise<T> {
    return withDatabaseErrors("write to", this.database, work);
  }
}

/** What a scan probed, without the addresses that opted out while it ran: they are not missing. */
function coverageOf({ coverage, optOuts = [] }: ScanEndRow): Coverage | undefined {
  if (coverage === undefined || optOuts.length === 0) return coverage;
  const hasLeft = new Set(optOuts.map(({ address }) => address));
  return {
    ranges: coverage.ranges,
    includes: (address, ...rest) => !hasLeft.has(address) && coverage.includes(address, ...rest),
  };
}

/**
 * Runs `work`, and turns errors of the engine into errors that name the database.
 *
 * @throws StoreError
 */
export async function withDatabaseErrors<T>(
  verb: "read" | "write to",
  database: Database,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw namedError(verb, database, error);
  }
}

/** An error of the engine as one that names the database; any other error as it is. */
export function namedError(
  verb: "read" | "write to",
  { name }: Database,
  error: unknown,
): unknown {
  const isEngineError = error instanceof Error && ["Error", "Unavailable"].includes(error.name);
  if (!isEngineError) return error;
  return new StoreError(`Cannot ${verb} ${name}: ${error.message}`, { cause: error });
}
