/**
 * The scan of one part, as the spec of its campaign describes it.
 *
 * @module
 */
import {
  prepareScan,
  progressNumbers,
  type RunOptions,
  runPreparedScan,
  type ScanRequest,
  type ScanResult,
  WRITES_NOTHING,
} from "../../app/scan/mod.ts";
import { randomBytes } from "../../app/mod.ts";
import {
  type Checkpointer,
  type Counters,
  countersField,
  countersOf,
  type Marks,
  marksField,
  type ScanControls,
  type ScanState,
  START,
} from "../../scan/mod.ts";
import { formatAddress } from "../../core/address.ts";
import { objectOf } from "../../core/checked_values.ts";
import { InputError, permissionText, ShortageError } from "../../core/errors.ts";
import { sleep } from "../../net/clock.ts";
import type { Range } from "../../targets/ranges.ts";
import type { Lease } from "../lease.ts";
import type { PartCounters } from "../part_counters.ts";
import { partRequest } from "../part_request.ts";
import type { PartCoverage } from "../results.ts";
import type { Spec } from "../spec.ts";
import { countersWith, type PartViews } from "../views.ts";
import type { Budget } from "./budget.ts";
import type { Publisher } from "./publisher.ts";
import { ResultSink } from "./publisher.ts";
import type { WorkerContext } from "./worker_context.ts";

export interface HeldPart {
  readonly spec: Spec;
  readonly part: number;
  readonly lease: Lease;
  readonly publisher: Publisher;
  readonly budget: Budget;
  /** Ends the scan in good order. */
  readonly signal: AbortSignal;
  /** Ends the scan at once. */
  readonly abandon: AbortSignal;
  /** Called with the functions of the running scan. */
  readonly onStart: (controls: ScanControls) => void;
}

/** A scan that could not begin here. It sent nothing, and may begin in another worker. */
export class NotBegun extends Error {}

/**
 * Scans a part from its marks on.
 *
 * @throws NotBegun for what this worker lacks; FieldError for the marks of the lease.
 */
export async function scanPart(held: HeldPart, worker: WorkerContext): Promise<ScanResult> {
  const { spec, part, lease, publisher, budget, signal, abandon, onStart } = held;
  const { scanId } = spec.configuration;
  const { marks, counters, views } = lease.value;
  const rows = (views ?? counters).found;
  const progress = progressOf(marks, worker);
  const { options, excluded, context } = worker;
  const toScan = { part, from: progress.marks, worker: options, excluded };
  const request = partRequest(spec, toScan, context);
  return await runHere(request, {
    signal,
    abandon,
    throttle: budget.throttle,
    gate: lease.gate,
    identity: { scanId, key: randomBytes(8) },
    earlier: progress.counters && { counters: progress.counters, rows },
    checkpointer: new LeaseCheckpointer(held, worker),
    attach: true,
    begin: () => [new ResultSink(publisher, worker.clock, abandon)],
    onStart,
  });
}

/** @throws NotBegun */
async function runHere(request: ScanRequest, options: RunOptions): Promise<ScanResult> {
  let [isPrepared, hasBegun] = [false, false];
  const onStart = (controls: ScanControls) => {
    hasBegun = true;
    options.onStart?.(controls);
  };
  try {
    const scan = await prepareScan(request);
    isPrepared = true;
    return await runPreparedScan(scan, WRITES_NOTHING, { ...options, onStart });
  } catch (error) {
    // Before the sockets are opened, an InputError is about the part.
    const kinds = [ShortageError, Deno.errors.NotCapable, ...isPrepared ? [InputError] : []];
    const isOwn = !hasBegun && kinds.some((one) => error instanceof one);
    throw isOwn ? new NotBegun(permissionText((error as Error).message)) : error;
  }
}

/** What a lease keeps of the scan of its part: where it continues, and its counters. */
interface Progress {
  readonly marks: Marks;
  readonly counters?: Counters;
}

/**
 * The progress of a part in its lease.
 *
 * @throws FieldError when the lease contains something else.
 */
function progressOf(
  stored: unknown,
  { context: { allProtocols } }: Pick<WorkerContext, "context">,
): Progress {
  if (stored === null) return { marks: START };
  return objectOf({ marks: marksField, counters: countersField(allProtocols) })(stored, "marks");
}

/** Saves the progress of a part in its lease. */
class LeaseCheckpointer implements Checkpointer {
  #saved: { readonly at: number; readonly sent: number };

  constructor(private readonly held: HeldPart, private readonly worker: WorkerContext) {
    this.#saved = { at: worker.clock.now(), sent: held.lease.value.counters.sent };
  }

  accepted(): Promise<void> {
    return Promise.resolve(); // the marks advance with the rows
  }

  /** Shares an opt-out. The marks do not advance before it is stored. */
  async optedOut(address: number | bigint): Promise<void> {
    const { control, worker, clock } = this.worker;
    const { abandon } = this.held;
    while (!control.optOuts().has(address) && !abandon.aborted) {
      try {
        return await control.addOptOut(address, `worker ${worker}`);
      } catch {
        await sleep(clock, RETRY_MS, abandon); // the server does not reply
      }
    }
  }

  save(marks: Marks, state: ScanState): Promise<void> {
    const at = this.worker.clock.now();
    const progress = progressIn(marks, state, this.held);
    const { sent } = progress.counters;
    const rate = 1000 * (sent - this.#saved.sent) / Math.max(1, at - this.#saved.at);
    this.#saved = { at, sent };
    this.held.lease.set({ ...progress, rate: Math.round(rate) });
    return Promise.resolve();
  }
}

/** Pause between two attempts to share an opt-out, milliseconds. */
const RETRY_MS = 500;

/** The progress of a scan, as its lease keeps it. */
export function progressIn(
  at: Marks,
  state: ScanState,
  { lease: { value: { views } }, spec }: Pick<HeldPart, "lease" | "spec">,
): {
  readonly marks: Progress;
  readonly counters: PartCounters;
  readonly views?: PartViews;
} {
  const { probesSent: sent, replies, found } = progressNumbers(state);
  const counters = { sent, replies, found, position: state.visited, total: state.total };
  const marks = { marks: at, counters: countersOf(state) };
  if (views === undefined) return { marks, counters };
  return {
    marks,
    counters: countersWith(views, counters, spec.views ?? 1),
    views: { ...views, found },
  };
}

/** What a scan probed, for the decision which servers are missing. */
export function coverageOfPart(
  { floods, replies }: ScanState,
  excluded: readonly Range[],
): PartCoverage {
  return {
    flooding: floods.addresses,
    disturbed: floods.disturbed,
    interviewsDisturbed: floods.passes.disturbed.length > 0,
    omitted: replies.omitted > 0,
    excluded: excluded.map(({ start, end }) =>
      `${formatAddress(start)}-${formatAddress(typeof end === "number" ? end - 1 : end - 1n)}`
    ),
  };
}
