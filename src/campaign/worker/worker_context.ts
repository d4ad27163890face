/**
 * What all parts of a worker share.
 *
 * @module
 */
import type { ScanContext } from "../../app/scan/mod.ts";
import type { Clock } from "../../net/clock.ts";
import type { Range } from "../../targets/ranges.ts";
import type { Control } from "../control.ts";
import type { Broker } from "../nats/connection.ts";
import type { WorkerChoice } from "../part_request.ts";

/** What all parts of a worker share. */
export interface WorkerContext {
  readonly broker: Broker;
  readonly control: Control;
  /** The identity of the worker. */
  readonly worker: string;
  /** Where it scans from. */
  readonly vantage: string;
  /** The options that its scans use in place of those of the submitter. */
  readonly options: WorkerChoice;
  /** Ranges that this worker does not probe. */
  readonly excluded: readonly Range[];
  /** What scans use besides options, with the opt-outs of all campaigns. */
  readonly context: ScanContext;
  readonly clock: Clock;
  /** Receives a line for the user. */
  readonly report: (line: string) => void;
  /** The parts that wait because the results in NATS are full. */
  readonly waiting: Set<unknown>;
  /** Aborted when everything must end at once, without another message. */
  readonly abandon: AbortSignal;
}
