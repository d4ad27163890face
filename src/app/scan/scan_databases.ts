/**
 * Databases among a scan's outputs.
 *
 * @module
 */
import { nodePath } from "../../core/node_modules.ts";
import { type Address, parseAddress } from "../../core/address.ts";
import { InputError } from "../../core/errors.ts";
import type { ServerRecord } from "../../core/record.ts";
import { type Clock, systemClock } from "../../net/clock.ts";
import { knownProtocolNames, otherRequests } from "../../scan/mod.ts";
import {
  type ConnectionEnvironment,
  type InterviewScope,
  openExisting,
  openStore,
  type OptOut,
  readDatabaseIdentity,
  readOptOuts,
  type ScanEndRow,
  type ScanProgressRow,
  type ScanStartRow,
  SpillingStore,
  Store,
  withDatabaseErrors,
} from "../../store/mod.ts";
import { fileIdentity } from "../../sinks/file_identity.ts";
import { OutputLostError } from "../../sinks/sink.ts";
import { type DatabaseLocation, parseDatabaseLocation } from "../../store/database_location.ts";
import { unavailableReason } from "../../store/database/database.ts";
import type { Range } from "../../targets/ranges.ts";
import { userPath } from "../environment.ts";
import { countOf } from "../../core/quantities.ts";
import type { DatabasePlan } from "../databases/database_plan.ts";
import { type FileChange, fileChangeOf } from "../databases/file_change.ts";
import { ScanHeartbeat } from "./scan_heartbeat.ts";
import { judgeOnce, prunedLine, pruneOnce } from "../databases/prune.ts";
import type { ScanChoice, ScanCommandOptions } from "./scan_choice.ts";
import type { NamedTargets } from "../targets/find_targets.ts";

/** Maximum size of a spill file, bytes, and how long the end of a scan waits for its database. */
const SPILL = { maxBytes: 256 * 2 ** 20, maxWaitMs: 30_000 };
/** Wait for a database that another program has locked. After this time rows go to the spill file. */
const BUSY_MS = 250;

/** The path of the spill file: beside the outputs of the scan, or in the current folder. */
export function spillPath(files: readonly string[], scanId: string): string {
  const file = files.find((path) =>
    path !== "-" && parseDatabaseLocation(path)?.postgres === undefined
  );
  return nodePath().join(
    file === undefined ? userPath(".") : nodePath().dirname(userPath(file)),
    `spill-${scanId}`,
  );
}

/** The parts of a scan that decide in which protocols it queries servers. */
export interface QueryingScan {
  readonly choice: Pick<ScanChoice, "protocols" | "allProtocols" | "queriesKnown">;
  readonly named: Pick<NamedTargets, "known" | "requests">;
  readonly options: Pick<ScanCommandOptions, "noFollow" | "verify" | "tag">;
}

/** The protocols that a scan sends to servers, and those of known servers. */
export function queriedProtocolsOf(
  { choice, named, options }: QueryingScan,
): InterviewScope {
  const protocols = choice.protocols.map(({ name }) => name);
  const { requests } = named;
  const otherNames = requests === undefined
    ? undefined
    : (record: ServerRecord) => otherRequests(requests, record);
  const queried = {
    allProtocols: choice.allProtocols,
    follow: !options.noFollow,
    verify: options.verify,
    tags: options.tag,
    protocols,
    otherNames,
  };
  if (named.known.length === 0) return queried;
  const sent = knownProtocolNames({ ...choice, ...named });
  return {
    ...queried,
    protocolsFor: ({ host, port }) => sent({ address: parseAddress(host)!, port }),
  };
}

export interface OpenDatabasesOptions {
  /** First part of the paths of spill files: rows in them wait for an unavailable database. */
  readonly spill: string;
  /** Called with the number of known servers that did not reply, and with failures. */
  readonly report: (line: string) => void;
  /** The protocols that the scan queries: columns of others keep their values. */
  readonly scope: InterviewScope;
  /** Paths and passwords of the process for connections. */
  readonly environment: ConnectionEnvironment;
  /** The clock of the times that databases get. */
  readonly clock: Pick<Clock, "wall">;
  /** Shortens the wait for a database at the end. */
  readonly signal?: AbortSignal;
  /**
   * Whether the databases already contain rows of the scan. If so, no missing database is created.
   * Default: no.
   */
  readonly resumed?: boolean;
}

/** Databases that were opened for a scan. */
export class ScanDatabases implements AsyncDisposable {
  readonly #optOuts: OptOut[] = [];

  private constructor(
    readonly sinks: readonly SpillingStore[],
    /** Addresses that the databases mark as opted out. */
    readonly optedOut: readonly Range[],
    private readonly fileChanges: readonly FileChange[],
    private readonly plan: DatabasePlan,
    private readonly options: OpenDatabasesOptions,
  ) {}

  /**
   * Opens all databases and upgrades their schemas.
   *
   * @throws InputError for the first that cannot be used.
   */
  static async open(plan: DatabasePlan, options: OpenDatabasesOptions): Promise<ScanDatabases> {
    const { spill, report, scope, environment, signal, resumed = false } = options;
    const sinks: SpillingStore[] = [];
    const optedOut: Range[] = [];
    const fileChanges: FileChange[] = [];
    const kept = { ...scope, downAfter: plan.downAfter };
    try {
      for (const [i, location] of plan.locations.entries()) {
        if (resumed) await checkThere(location);
        const open = resumed ? openExisting : openStore;
        await using opening = new AsyncDisposableStack();
        const database = opening.use(
          await open(location, environment, {
            busyMs: BUSY_MS,
            textIndex: plan.textIndex,
            cancelled: signal,
          }),
        );
        const path = `${spill}.${i + 1}.ndjson`;
        const reading = <T>(work: () => Promise<T>) => withDatabaseErrors("read", database, work);
        const spilling = {
          path,
          identity: await reading(() => readDatabaseIdentity(database)),
          tags: scope.tags,
          clock: systemClock,
          report: (line: string) => report(`blocksweep: ${line}`),
          signal,
          ...SPILL,
        };
        sinks.push(new SpillingStore(new Store(database, undefined, kept), spilling));
        opening.move(); // the sink closes the database
        optedOut.push(...await reading(() => readOptOuts(database)));
        fileChanges.push(await fileChangeOf(location));
      }
    } catch (error) {
      for (const sink of sinks) await sink[Symbol.asyncDispose]();
      throw error;
    }
    return new ScanDatabases(sinks, optedOut, fileChanges, plan, options);
  }

  /**
   * Checks that the files of SQLite are still where they were opened.
   *
   * @throws OutputLostError for the first that is not.
   */
  async check(): Promise<void> {
    for (const [i, fileChange] of this.fileChanges.entries()) {
      const change = await fileChange();
      const { path } = this.plan.locations[i];
      if (change !== undefined) throw new OutputLostError(`"${path}"`, change);
    }
  }

  /** Records that an address opted out. The database gets the address at the end of the scan. */
  optOut(address: Address): void {
    this.#optOuts.push({ address, at: this.options.clock.wall() });
  }

  /** Records the start of a scan, or of a further run of it. */
  async begin(start: ScanStartRow): Promise<void> {
    for (const sink of this.sinks) await sink.begin(start);
  }

  /**
   * Records the progress of a scan until the result is disposed.
   *
   * @param read Returns the numbers of the scan.
   */
  keepProgress(read: () => ScanProgressRow): ScanHeartbeat {
    return new ScanHeartbeat({
      sinks: this.sinks,
      read,
      clock: systemClock,
      report: this.options.report,
    });
  }

  /**
   * Records the end of the scan, and the servers that did not reply.
   *
   * @throws StoreError for a database that cannot record this; the others have recorded it.
   */
  async end(end: Omit<ScanEndRow, "at" | "downAfter" | "optOuts">): Promise<void> {
    const row = {
      ...end,
      downAfter: this.plan.downAfter,
      optOuts: this.#optOuts,
    };
    let fault: unknown;
    for (const i of this.sinks.keys()) {
      try {
        await this.#endAt(i, { ...row, at: this.options.clock.wall() });
      } catch (error) {
        // The other databases still have to record the end. If one database refuses the row and
        // another is unavailable, the refusal is reported.
        if (fault === undefined || unavailableReason(fault)) fault = error;
      }
    }
    if (fault !== undefined) throw fault;
  }

  /**
   * Records the end of the scan in one database, downsamples its old observations, and judges the
   * numbers of players.
   */
  async #endAt(i: number, row: ScanEndRow): Promise<void> {
    const { plan: { locations, keepMs }, options: { report, environment, signal } } = this;
    const missed = await this.sinks[i].end(row);
    if (missed > 0) {
      report(`${locations[i].path}: ${countOf(missed, "known server")} did not reply`);
    }
    if (keepMs === undefined) {
      if (row.state !== "finished" || this.sinks[i].waiting > 0) return;
      // What the scan found is stored: without this it is complete too.
      return await judgeOnce(locations[i], environment, signal).catch((error) =>
        report((error as Error).message)
      );
    }
    report(
      prunedLine(await pruneOnce(locations[i], { observations: keepMs }, environment, report)),
    );
  }

  /** Closes all databases of the scan. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const sink of this.sinks) await sink[Symbol.asyncDispose]();
  }
}

/**
 * Checks that the file of a database is still there.
 *
 * @throws InputError if it is not.
 */
async function checkThere({ path, file, postgres }: DatabaseLocation): Promise<void> {
  if (postgres !== undefined || await fileIdentity(userPath(file)) !== undefined) return;
  throw new InputError(
    `Cannot resume: "${path}", which contains rows of the scan, no longer exists; restore it, import ` +
      "another output of the scan into it, or start a new scan",
  );
}
