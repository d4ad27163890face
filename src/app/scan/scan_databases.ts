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
import {
  coverageOf,
  type CoverageOptions,
  knownProtocolNames,
  otherRequests,
  type ScanCoverage,
  type ScanEnd,
  type ScanSelection,
  type ScanState,
} from "../../scan/mod.ts";
import {
  type ConnectionEnvironment,
  type InterviewScope,
  openExisting,
  openStore,
  type OptOut,
  readDatabaseIdentity,
  readOptOuts,
  type ScanEndRow,
  type ScanNumbers,
  type ScanStartRow,
  SpillingStore,
  Store,
  withDatabaseErrors,
} from "../../store/mod.ts";
import { estimateLoss } from "../../sweep/mod.ts";
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
import { prunedLine, pruneOnce } from "../databases/prune.ts";
import type { ScanChoice, ScanCommandOptions } from "./scan_choice.ts";
import { lossCounters } from "./scan_status.ts";
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

/** What a scan, or its last run, has probed. */
export interface ScanPart {
  /** When the scan began, Unix milliseconds. For a resumed scan: when its first run began. */
  readonly since: number;
  /** The targets and the order of the scan. */
  readonly selection: ScanSelection & Pick<CoverageOptions, "adaptive">;
  /** Whether the scan was resumed from a checkpoint. */
  readonly resumed: boolean;
  /** Whether known servers that do not reply are counted. Default: they are, if the scan is complete. */
  readonly countsMissing?: boolean;
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
   * Records the progress of the scan until the result is disposed.
   *
   * @param endsAt Returns when the scan is expected to end, Unix milliseconds.
   */
  keepProgress(state: ScanState, endsAt: () => number | undefined): ScanHeartbeat {
    return new ScanHeartbeat({
      sinks: this.sinks,
      read: () => ({ id: state.scanId, ...progressNumbers(state), endsAt: endsAt() }),
      clock: systemClock,
      report: this.options.report,
    });
  }

  /**
   * Records the end of the scan, and the servers that did not reply.
   *
   * @throws StoreError for a database that cannot record this; the others have recorded it.
   */
  async end(state: ScanState, end: ScanEnd, part: ScanPart): Promise<void> {
    if (this.sinks.length === 0) return;
    const row = {
      ...endRow(state, end, part),
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

  /** Records the end of the scan in one database, and downsamples its old observations. */
  async #endAt(i: number, row: ScanEndRow): Promise<void> {
    const { plan: { locations, keepMs }, options: { report, environment } } = this;
    const missed = await this.sinks[i].end(row);
    if (missed > 0) {
      report(`${locations[i].path}: ${countOf(missed, "known server")} did not reply`);
    }
    if (keepMs === undefined) return;
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

/** The values that all databases record at the end of a scan. */
function endRow(
  state: ScanState,
  end: ScanEnd,
  part: ScanPart,
): Omit<ScanEndRow, "at" | "downAfter" | "optOuts"> {
  const isWhole = end.reason === "done";
  return {
    id: state.scanId,
    since: part.since,
    state: stateOf(end),
    isComplete: isWhole,
    ...progressNumbers(state),
    coverage: isWhole && part.countsMissing !== false ? wholeCoverage(state, part) : undefined,
  };
}

/** The numbers of a scan, as databases record them. */
export function progressNumbers(state: ScanState): ScanNumbers {
  const { sent, tcp, replies, written, visited, total, lost, canaries, rate } = state;
  return {
    probesSent: sent + tcp.sent,
    replies: Object.values(replies).reduce((sum, one) => sum + one, 0) + tcp.counts.valid,
    found: written,
    position: visited,
    total,
    packetLoss: estimateLoss(canaries)?.share,
    rowsLost: lost,
    rate,
    counters: lossCounters(state),
  };
}

/** The coverage of a complete scan. With `--from`, the start of its earlier run is unknown. */
function wholeCoverage(
  { replies, floods }: ScanState,
  { selection, resumed }: ScanPart,
): ScanCoverage | undefined {
  const { targets, order } = selection;
  if (!resumed && ([...targets.responders].length > 0 || !isFirst(order))) return undefined;
  return coverageOf({
    ...selection,
    flooding: floods.addresses,
    disturbed: floods.disturbed,
    interviewsDisturbed: floods.passes.disturbed.length > 0,
    omitted: replies.omitted > 0,
  });
}

/** The state that a database records at the end: an incomplete scan may be resumed. */
function stateOf({ reason }: ScanEnd): "finished" | "interrupted" | "failed" {
  if (reason === "failed") return reason;
  return reason === "interrupted" || reason === "incomplete" ? "interrupted" : "finished";
}

function isFirst({ from: { udp, tcp } }: ScanSelection["order"]): boolean {
  return [udp, tcp].every(({ pass, position }) => pass === 1 && position === 0);
}
