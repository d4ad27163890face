/**
 * One part from its task to its end: takes the lease, scans, publishes how the part ended, and
 * acknowledges the task.
 *
 * @module
 */
import { randomFraction } from "../../app/mod.ts";
import { progressNumbers, type ScanResult } from "../../app/scan/mod.ts";
import { untilOpen } from "../../net/mod.ts";
import type { ScanControls, ScanState } from "../../scan/mod.ts";
import { countOf } from "../../core/quantities.ts";
import { Lease } from "../lease.ts";
import { MAX_TRIES } from "../lease_value.ts";
import type { PartCounters } from "../part_counters.ts";
import type { JsMsg } from "../nats/client_types.ts";
import type { PartCoverage, PartEnd } from "../results.ts";
import type { Spec } from "../spec.ts";
import { endView } from "../views.ts";
import type { Budget } from "./budget.ts";
import { coverageOfPart, type HeldPart, NotBegun, progressIn, scanPart } from "./part_scan.ts";
import { Publisher } from "./publisher.ts";
import type { WorkerContext } from "./worker_context.ts";

/** Delay before a part that failed is scanned again, milliseconds for each try. */
const RETRY_MS = 500;
/** Time for publishing the last rows of a part that is stopped while publishing fails, milliseconds. */
const LAST_ROWS_MS = 10_000;
/**
 * Maximum delay before a task that only workers of other vantages may take is delivered again,
 * milliseconds. It is random: workers request tasks every second, and with the same delay the task would
 * reach the same worker each time.
 */
const VIEWED_MS = 1000;
/** Timeout of the acknowledgement of a task, milliseconds. */
const ACK_MS = 5000;

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
function whyIncomplete({ errors, refused, uninspected, tcp, outage }: ScanState): string {
  if (outage !== undefined) {
    return outage.reason === "no_route"
      ? "the scan is incomplete: the worker has no route to the targets"
      : "the scan is incomplete: no server replies any more, not even those that replied before";
  }
  const codes = Object.keys(errors).join(", ");
  return `the scan is incomplete: ${countOf(refused + tcp.refused, "probe")} refused by the ` +
    `system${codes === "" ? "" : ` (${codes})`} and ${
      countOf(uninspected, "server")
    } not inspected for lack of descriptors`;
}

/** How much of a part is done, as ` at 4 %`; empty before its size is known. */
function shareText({ position, total }: PartCounters): string {
  return total === 0 ? "" : ` at ${Math.floor(100 * position / total)} %`;
}

function reasonText(reason: StopReason | undefined): string {
  if (reason === undefined) return "its maximum time is over";
  return reason === "paused" ? "campaign paused" : "worker stopped";
}

/** The number of packets that the fence kept back, as the end of a line. */
function unsentText({ gate: { keptBack } }: Pick<Lease, "gate">): string {
  if (keptBack === 0) return "";
  return `; ${countOf(keptBack, "packet")} ${keptBack === 1 ? "was" : "were"} not sent`;
}

/** One part that this worker scans. */
export class PartRun {
  /** The functions of the running scan; `undefined`: it has not begun. */
  controls: ScanControls | undefined;
  readonly #stop = new AbortController();
  readonly #giveUp = new AbortController();
  #publisher: Publisher | undefined;
  #cancelTimer = () => {};
  /** Whether rows that cannot be published are dropped. */
  #isLate = false;
  #hasFailed = false;

  /** Begins nothing yet. */
  constructor(
    private readonly worker: WorkerContext,
    private readonly campaign: PartOfCampaign,
    private readonly task: ReceivedTask,
  ) {}

  /** Ends the scan in good order, and gives the part back. */
  stop(reason: StopReason): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort(reason);
    if (this.#publisher?.isBlocked) {
      this.#report("waits at most 10 s until its rows can be published");
    }
    this.#cancelTimer = this.worker.clock.after(LAST_ROWS_MS, () => {
      this.#isLate = true;
      if (this.#publisher?.isBlocked) this.#giveUp.abort();
    });
  }

  /** Reports once for all parts that results are full, and once that they are not full any more. */
  #noteFull(isFull: boolean): void {
    const { waiting, report } = this.worker;
    const before = waiting.size;
    if (isFull) waiting.add(this);
    else waiting.delete(this);
    if (before === 0 && isFull) {
      report("blocksweep: results in NATS are full: waiting for a collector");
    } else if (before > 0 && waiting.size === 0) {
      report("blocksweep: results in NATS have space again");
    }
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
    } finally {
      this.#stop.abort(); // a later stop() has nothing to do
      this.#cancelTimer();
    }
    return !this.#hasFailed;
  }

  async #run(): Promise<void> {
    const { worker: { broker, control, worker, clock, abandon }, campaign: { spec }, task } = this;
    const vantage = this.#vantage;
    const { msg, part } = task;
    const { name, ackWaitMs } = spec;
    const taken = await Lease.take(broker, name, part, {
      worker,
      vantage,
      ackWaitMs,
      clock,
      control,
      onRenewed: () => msg.working(),
    });
    // The acknowledgement of the worker that ended the part was lost, or the part was queued twice.
    if (taken === "ended") return await this.#acknowledge();
    if (taken === "viewed") return msg.nak(Math.ceil(VIEWED_MS * randomFraction()));
    if (taken === "held") return msg.nak(ackWaitMs / 4);
    if (taken === "refused") return msg.nak(RETRY_MS);
    await using lease = taken;
    const ending = AbortSignal.any([lease.lost, abandon]);
    try {
      await this.#runHeld(lease, ending);
    } catch (error) {
      if (this.#giveUp.signal.aborted) await this.#dropRows(lease, ending);
      else if (!ending.aborted) await this.#giveBack(lease, error as Error);
    } finally {
      this.worker.waiting.delete(this);
    }
    if (lease.lost.aborted) {
      this.#report(`is lost: another worker has taken it${unsentText(lease)}`);
    }
  }

  /** The vantage of the worker, if the campaign has several views of each part. */
  get #vantage(): string | undefined {
    return this.campaign.spec.views === undefined ? undefined : this.worker.vantage;
  }

  async #runHeld(lease: Lease, ending: AbortSignal): Promise<void> {
    const { worker, campaign: { spec, budget }, task: { part, try: queued } } = this;
    const { broker, clock } = worker;
    const { why: earlier } = lease.value;
    const dropped = AbortSignal.any([ending, this.#giveUp.signal]);
    const publisher = new Publisher({
      broker,
      campaign: spec.name,
      part,
      vantage: this.#vantage,
      hold: `${spec.name}:${part}:${queued}:${lease.revision}`,
      gate: lease.gate,
      signal: dropped,
      clock,
      onBlocked: (why = earlier, isFull) => {
        lease.set({ why });
        this.#noteFull(isFull);
        if (this.#isLate && publisher.isBlocked) this.#giveUp.abort();
      },
    });
    this.#publisher = publisher;
    const held: HeldPart = {
      spec,
      part,
      lease,
      publisher,
      budget,
      signal: AbortSignal.any([this.#stop.signal, ending]),
      abandon: dropped,
      onStart: (controls) => {
        this.controls = controls;
        for (const address of worker.control.optOuts().keys()) controls.optOut(address);
      },
    };
    if (lease.value.tries > MAX_TRIES) return await this.#poison(held);
    await untilOpen(lease.gate, held.signal);
    if (ending.aborted) return;
    using _share = budget.hold();
    this.#report(lease.value.marks === null ? "begins" : "continues");
    const result = await scanPart(held, worker);
    if (this.#giveUp.signal.aborted) await this.#dropRows(lease, ending);
    else if (!ending.aborted) await this.#finish(held, result);
  }

  /** Gives back a part whose last rows cannot be published: the marks of the lease are before them. */
  async #dropRows(lease: Lease, ending: AbortSignal): Promise<void> {
    if (await lease.end("released", {}, ending)) this.task.msg.nak();
    this.#report("stopped; its last rows were not published and will be found again");
  }

  /** Publishes that a part is given up, without a further try. */
  async #poison(held: HeldPart): Promise<void> {
    const { lease: { value: { counters, why } }, publisher } = held;
    const tries = MAX_TRIES;
    const { worker } = this.worker;
    await publisher.end("poisoned", { form: 1, worker, tries, counters, packetLoss: null, why });
    await this.#end(held, "poisoned", { tries, why });
    this.#report(
      `is poisoned: ${MAX_TRIES} attempts failed: ${why ?? "the reason is unknown"}`,
    );
  }

  /** Ends a part whose scan has ended. */
  async #finish(held: HeldPart, { end, state }: ScanResult): Promise<void> {
    const { lease, publisher } = held;
    const progress = progressIn(end.marks, state, held);
    lease.set(progress);
    const reason = this.#stop.signal.reason as StopReason | undefined;
    const common = {
      form: 1 as const,
      worker: this.worker.worker,
      tries: lease.value.tries,
      counters: progress.counters,
      packetLoss: progressNumbers(state).packetLoss ?? null,
    };
    if (end.reason === "done") {
      await this.#finishView(held, coverageOfPart(state, this.worker.excluded), common);
    } else if (reason === "cancelled") {
      await publisher.end("cancelled", common);
      await this.#end(held, "cancelled");
      this.#report(`stopped${shareText(progress.counters)} (campaign cancelled)`);
    } else if (end.reason === "interrupted" || end.reason === "max-runtime") {
      if (await lease.end("released", {}, held.abandon)) this.task.msg.nak();
      this.#report(`stopped${shareText(progress.counters)} (${reasonText(reason)})`);
    } else {
      throw end.error ?? new Error(whyIncomplete(state));
    }
  }

  /** Ends a part of which this worker has scanned everything, or the view of it if others follow. */
  async #finishView(held: HeldPart, own: PartCoverage, common: PartEnd): Promise<void> {
    const { lease, publisher, spec: { views: count } } = held;
    const { views } = lease.value;
    const { found } = views ?? common.counters;
    const ended = views && endView(views, common.counters, own);
    if (ended === undefined || ended.done.length >= count!) {
      const coverage = ended === undefined ? own : { ...ended.coverage!, vantages: ended.done };
      await publisher.end("done", { ...common, coverage });
      await this.#end(held, "done");
    } else await this.#end(held, "released", { marks: null, tries: 0, views: ended });
    const unsent = unsentText(lease);
    const why = unsent === "" ? "" : `${unsent}, because the lease was not renewed in time`;
    const which = ended && `view ${ended.done.length} of ${count} from ${ended.vantage}, `;
    this.#report(`is done, ${which ?? ""}${countOf(found, "row")}${why}`);
  }

  /** Ends the lease, and then acknowledges the task. */
  async #end(
    { lease, abandon }: HeldPart,
    state: "done" | "poisoned" | "cancelled" | "released",
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
