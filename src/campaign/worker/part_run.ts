/**
 * One part from its task to its end: takes the lease, scans, publishes how the part ended, and
 * acknowledges the task.
 *
 * @module
 */
import { numbersOf } from "../../app/databases/scan_databases.ts";
import type { ScanResult } from "../../app/scan/run_scan.ts";
import { countOf } from "../../core/quantities.ts";
import type { ScanControls } from "../../scan/scan_setup.ts";
import type { ScanState } from "../../scan/scan_state.ts";
import { Lease, readLease } from "../lease.ts";
import { hasEnded, MAX_TRIES } from "../lease_value.ts";
import type { JsMsg } from "../nats/client_types.ts";
import type { Spec } from "../spec.ts";
import type { Budget } from "./budget.ts";
import { coverageOfPart, type HeldPart, NotBegun, progressIn, scanPart } from "./part_scan.ts";
import { Publisher } from "./publisher.ts";
import type { WorkerContext } from "./worker_context.ts";

/** Delay before a part that failed is scanned again, milliseconds for each try. */
const RETRY_MS = 500;
/** Timeout of the acknowledgement of a task, milliseconds. */
const ACK_MS = 5000;

/** A task that this worker has received. */
export interface ReceivedTask {
  readonly msg: JsMsg;
  readonly part: number;
  /** How often the part was queued. */
  readonly try: number;
}

/** The campaign of a task. */
export interface PartOfCampaign {
  readonly spec: Spec;
  readonly budget: Budget;
}

/** Why a part ends before it is done. */
export type StopReason = "paused" | "cancelled" | "stopped";

/** Why some targets were not probed, or servers not inspected. */
function whyIncomplete({ errors, refused, uninspected, tcp }: ScanState): string {
  const codes = Object.keys(errors).join(", ");
  return `the scan is incomplete: ${countOf(refused, "probe")} refused by the system` +
    `${codes === "" ? "" : ` (${codes})`}, ${countOf(tcp.unprobed, "target")} not probed and ` +
    `${countOf(uninspected, "server")} not inspected for lack of descriptors`;
}

/** One part that this worker scans. */
export class PartRun {
  /** The functions of the running scan; `undefined`: it has not begun. */
  controls: ScanControls | undefined;
  readonly #stop = new AbortController();
  #hasFailed = false;

  /** Begins nothing yet. */
  constructor(
    private readonly worker: WorkerContext,
    private readonly campaign: PartOfCampaign,
    private readonly task: ReceivedTask,
  ) {}

  /** Ends the scan in good order, and gives the part back. */
  stop(reason: StopReason): void {
    this.#stop.abort(reason);
  }

  /**
   * Takes and scans the part. Never rejects: the lease of a part that failed contains the reason.
   *
   * @returns Whether the part did not fail.
   */
  async run(): Promise<boolean> {
    try {
      await this.#run();
    } catch (error) {
      this.#hasFailed = true;
      this.#report(`cannot be taken: ${(error as Error).message}`);
      this.task.msg.nak(RETRY_MS);
    }
    return !this.#hasFailed;
  }

  async #run(): Promise<void> {
    const { worker: { broker, control, worker, clock, abandon }, campaign: { spec }, task } = this;
    const { msg, part } = task;
    const { name, ackWaitMs } = spec;
    const before = await readLease(broker, name, part).catch(() => undefined);
    if (before !== undefined && hasEnded(before)) {
      return await this.#acknowledge(); // the acknowledgement of its worker was lost
    }
    const isFresh = before?.state === "held" && clock.wall() - before.at < ackWaitMs / 2;
    // A worker renews the lease: the part was queued twice, or messages were lost.
    if (isFresh) return msg.nak(ackWaitMs);
    await using lease = await Lease.take(broker, name, part, {
      worker,
      ackWaitMs,
      clock,
      control,
      onRenewed: () => msg.working(),
    });
    if (lease === undefined) return msg.nak(RETRY_MS);
    if (before?.state === "held") {
      lease.set({ why: `worker ${before.worker} stopped without giving the part back` });
    }
    const ending = AbortSignal.any([lease.lost, abandon]);
    try {
      await this.#runHeld(lease, ending);
    } catch (error) {
      if (!ending.aborted) await this.#giveBack(lease, error as Error);
    }
    if (lease.lost.aborted) this.#report("another worker has taken it");
  }

  async #runHeld(lease: Lease, ending: AbortSignal): Promise<void> {
    const { worker, campaign: { spec, budget }, task: { part, try: queued } } = this;
    const { broker, clock } = worker;
    const { why: earlier } = lease.value;
    const publisher = new Publisher({
      broker,
      campaign: spec.name,
      part,
      hold: `${spec.name}:${part}:${queued}:${lease.revision}`,
      gate: lease.gate,
      signal: ending,
      clock,
      onBlocked: (why = earlier) => lease.set({ why }),
    });
    const held: HeldPart = {
      spec,
      part,
      lease,
      publisher,
      budget,
      signal: AbortSignal.any([this.#stop.signal, ending]),
      abandon: ending,
      onStart: (controls) => {
        this.controls = controls;
        for (const address of worker.control.optOuts()) controls.optOut(address);
      },
    };
    if (lease.value.tries > MAX_TRIES) return await this.#poison(held);
    using _share = budget.hold();
    this.#report(lease.value.marks === null ? "begins" : "continues");
    const result = await scanPart(held, worker);
    if (!ending.aborted) await this.#finish(held, result);
  }

  /** Publishes that a part is given up, without a further try. */
  async #poison(held: HeldPart): Promise<void> {
    const { lease: { value: { counters, why } }, publisher } = held;
    const tries = MAX_TRIES;
    const { worker } = this.worker;
    await publisher.end("poisoned", { form: 1, worker, tries, counters, packetLoss: null, why });
    await this.#end(held, "poisoned", { tries, why });
    this.#report(`is given up after ${MAX_TRIES} tries: ${why ?? "the reason is unknown"}`);
  }

  /** Ends a part whose scan has ended. */
  async #finish(held: HeldPart, { end, state }: ScanResult): Promise<void> {
    const { lease, publisher } = held;
    const progress = progressIn(end.marks, state);
    lease.set(progress);
    const reason = this.#stop.signal.reason as StopReason | undefined;
    const common = {
      form: 1 as const,
      worker: this.worker.worker,
      tries: lease.value.tries,
      counters: progress.counters,
      packetLoss: numbersOf(state).packetLoss ?? null,
    };
    if (end.reason === "done") {
      const coverage = coverageOfPart(state, this.worker.excluded);
      await publisher.end("done", { ...common, coverage });
      await this.#end(held, "done");
      const { keptBack } = lease.gate;
      const kept = keptBack === 0 ? "" : `; the fence kept ${countOf(keptBack, "packet")} back`;
      this.#report(`is done, ${countOf(progress.counters.found, "server")}${kept}`);
    } else if (reason === "cancelled") {
      await publisher.end("cancelled", common);
      await this.#end(held, "cancelled");
    } else if (end.reason === "interrupted" || end.reason === "max-runtime") {
      if (await lease.end("released", {}, held.abandon)) this.task.msg.nak();
      this.#report(`is given back (${reason ?? end.reason})`);
    } else {
      throw end.error ?? new Error(whyIncomplete(state));
    }
  }

  /** Ends the lease, and then acknowledges the task. */
  async #end(
    { lease, abandon }: HeldPart,
    state: "done" | "poisoned" | "cancelled",
    extra: Parameters<Lease["end"]>[1] = {},
  ): Promise<void> {
    if (await lease.end(state, { why: undefined, ...extra }, abandon)) await this.#acknowledge();
  }

  /** Gives back a part that failed. It counts as a try, unless the scan could not begin here. */
  async #giveBack(lease: Lease, error: Error): Promise<void> {
    const { tries } = lease.value;
    const why = error.message;
    this.#hasFailed = true;
    this.#report(`failed: ${why}`);
    const counted = error instanceof NotBegun ? {} : { tries };
    if (await lease.end("released", { ...counted, why }, this.worker.abandon)) {
      this.task.msg.nak(RETRY_MS * tries);
    }
  }

  /** Acknowledges the task. If that fails, the task is delivered again, and acknowledged then. */
  async #acknowledge(): Promise<void> {
    await this.task.msg.ackAck({ timeout: ACK_MS }).catch(() => {});
  }

  #report(what: string): void {
    this.worker.report(`${this.campaign.spec.name}: part ${this.task.part} ${what}`);
  }
}
