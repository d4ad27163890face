/**
 * Reads the progress of campaigns, their workers and their results from NATS.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";
import type { Clock } from "../../net/clock.ts";
import type { Protocol } from "../../protocols/protocol.ts";
import type { CampaignEntry, Control } from "../control.ts";
import type { ReportSkipped } from "../entries.ts";
import { RESULTS } from "../names.ts";
import { BrokerError } from "../nats/errors.ts";
import type { Broker } from "../nats/connection.ts";
import { brokerError } from "../nats/errors.ts";
import { getSpec } from "../spec.ts";
import { type CampaignLimits, type CampaignStatus, campaignStatus } from "./status.ts";
import { readWorkers, type StoredWorker } from "../stored_leases.ts";

/** The results that wait in NATS. */
export interface ResultsStatus {
  readonly messages: number;
  readonly bytes: number;
  /** Maximum number of bytes. */
  readonly limit: number;
  /** Whether workers have to wait, because the largest message no longer fits. */
  readonly isFull: boolean;
}

/** A collector, which writes results into one database. */
export interface CollectorStatus {
  readonly name: string;
  /** Number of messages that it has not received yet. */
  readonly pending: number;
  /** Number of messages that it has received and not written yet. */
  readonly unacknowledged: number;
  /** Whether it requests messages. One that does not has ended, or writes what it has received. */
  readonly isWaiting: boolean;
}

/** The state of campaigns, and of what they share. */
export interface SystemStatus {
  /** When it was read, Unix milliseconds by the clock of this machine. */
  readonly at: number;
  readonly campaigns: readonly CampaignStatus[];
  readonly workers: readonly StoredWorker[];
  readonly results: ResultsStatus;
  readonly collectors: readonly CollectorStatus[];
}

/** The largest message of results, bytes. */
const LARGEST = 512 * 1024;

/** Maximum number of skipped entries that are reported. */
const MAX_REPORTED = 20;

/** Reads the state of campaigns, as often as requested. */
export class StatusReader {
  /** What the specs of campaigns limit, by their digest. */
  readonly #specs = new Map<string, CampaignLimits | undefined>();

  /** The first lines about entries that were skipped. */
  readonly #reported = new Set<string>();

  /**
   * Reads nothing yet.
   *
   * @param report Receives a line for each entry that is skipped, once.
   */
  constructor(
    private readonly broker: Broker,
    private readonly control: Control,
    private readonly clock: Pick<Clock, "wall">,
    private readonly allProtocols: readonly Protocol[],
    private readonly report: ReportSkipped,
  ) {}

  /**
   * The state of campaigns, in the order of their submission.
   *
   * @param only The only campaign. Default: all.
   * @throws InputError when NATS refuses.
   */
  async read(only?: string): Promise<SystemStatus> {
    try {
      const shown = [...this.control.campaigns()]
        .filter(([name]) => only === undefined || name === only)
        .sort(([, a], [, b]) => a.submittedAt - b.submittedAt);
      const { leases, workers } = await readWorkers(
        this.broker,
        only,
        (line) => this.#reportOnce(line),
      );
      const now = this.clock.wall();
      const campaigns = await Promise.all(shown.map(async ([name, entry]) => {
        const spec = await this.#specOf(name, entry);
        const own = leases.filter(({ campaign }) => campaign === name);
        return campaignStatus({ name, entry, spec, leases: own, workers }, now);
      }));
      return { at: now, campaigns, workers, ...await this.#readResults() };
    } catch (error) {
      throw brokerError(error, this.broker.urls);
    }
  }

  #reportOnce(line: string): void {
    if (this.#reported.size >= MAX_REPORTED || this.#reported.has(line)) return;
    this.#reported.add(line);
    this.report(line);
  }

  /** The spec of a campaign; `undefined`: it cannot be used. */
  async #specOf(
    name: string,
    { spec, program }: CampaignEntry,
  ): Promise<CampaignLimits | undefined> {
    if (!this.#specs.has(spec)) {
      const expected = { name, digest: spec, program, allProtocols: this.allProtocols };
      this.#specs.set(
        spec,
        await getSpec(this.broker, expected).then(
          ({ rate, ackWaitMs, maxRunning }) => ({ rate, ackWaitMs, maxRunning }),
          (error) => {
            if (error instanceof BrokerError || !(error instanceof InputError)) throw error;
            return undefined; // workers report it
          },
        ),
      );
    }
    return this.#specs.get(spec);
  }

  async #readResults(): Promise<Pick<SystemStatus, "results" | "collectors">> {
    const { jsm } = this.broker;
    const { state: { messages, bytes }, config: { max_bytes: limit } } = await jsm.streams.info(
      RESULTS,
    );
    const collectors: CollectorStatus[] = [];
    for await (const { name, ...info } of jsm.consumers.list(RESULTS)) {
      const { num_pending: pending, num_ack_pending: unacknowledged, num_waiting } = info;
      collectors.push({ name, pending, unacknowledged, isWaiting: num_waiting > 0 });
    }
    const isFull = limit > 0 && bytes + LARGEST > limit;
    return { results: { messages, bytes, limit, isFull }, collectors };
  }
}
