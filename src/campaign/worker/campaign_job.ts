/**
 * A campaign, as one worker takes part in it.
 *
 * @module
 */
import { contextNetwork } from "../../app/network/call_context.ts";
import { locateTargets } from "../../app/scan/mod.ts";
import { scanLimits } from "../../app/engines/mod.ts";
import { START } from "../../scan/mod.ts";
import { FieldError, integer, objectOf, parseJson, text } from "../../core/checked_values.ts";
import { InputError } from "../../core/errors.ts";
import type { Address } from "../../core/address.ts";
import type { CampaignEntry } from "../control.ts";
import { taskConsumer, TASKS } from "../names.ts";
import type { Consumer, JsMsg } from "../nats/client_types.ts";
import { withDeadline } from "../nats/deadline.ts";
import { BrokerError } from "../nats/errors.ts";
import { fetchMessages } from "../nats/fetch_messages.ts";
import { partRequest } from "../part_request.ts";
import { getSpec, type Spec } from "../spec.ts";
import { Budget } from "./budget.ts";
import { type PartOfCampaign, PartRun, type ReceivedTask, type StopReason } from "./part_run.ts";
import type { WorkerContext } from "./worker_context.ts";

/** Delay before a task that this worker refuses is delivered to another, milliseconds. */
const REFUSED_MS = 5000;
/** Timeout of the acknowledgement of a task, milliseconds. */
const ACK_MS = 5000;

const taskFields = objectOf({
  form: integer(1, 1),
  spec: text(/^[0-9a-f]{64}$/, "64 hexadecimal digits"),
  part: integer(1),
  try: integer(1),
});

/** Whether a task is of a later form than this program can read. */
function isNewer(task: unknown): boolean {
  return typeof task === "object" && task !== null && "form" in task &&
    Number.isSafeInteger(task.form) && Number(task.form) > 1;
}

/**
 * The budget of a campaign.
 *
 * @throws InputError when this program would probe other targets, or in another order.
 */
async function budgetOf(
  spec: Spec,
  { options: worker, excluded, context, clock }: WorkerContext,
): Promise<Budget> {
  const request = partRequest(spec, { part: 1, from: START, worker, excluded }, context);
  const { whole } = await locateTargets(request, contextNetwork(context));
  const limits = scanLimits(request.options, whole, request.choice);
  return new Budget(limits, spec.rate, spec.maxRunning, clock);
}

/** The tasks of one campaign, and the parts of it that this worker scans. */
export class CampaignJob {
  readonly #running = new Set<PartRun>();
  #loaded: PartOfCampaign | undefined;
  #consumer: Consumer | undefined;
  #isRefused = false;

  /** Loads nothing yet. */
  constructor(
    private readonly worker: WorkerContext,
    private readonly name: string,
    private entry: CampaignEntry,
  ) {}

  /** Whether an entry is that of this campaign, and not of a later one of the same name. */
  isOf(entry: CampaignEntry | undefined): boolean {
    return entry?.spec === this.entry.spec;
  }

  /** Whether this worker may take tasks of the campaign. */
  get isRunnable(): boolean {
    return this.entry.state === "running" && !this.#isRefused;
  }

  /** Takes over a change of the campaign's state. */
  change(state: CampaignEntry["state"]): void {
    this.entry = { ...this.entry, state };
    if (state !== "running") this.stop(state);
  }

  /** Ends the scans of all parts in good order. */
  stop(reason: StopReason): void {
    for (const run of this.#running) run.stop(reason);
  }

  /** Adds an opt-out to all running scans. */
  optOut(address: Address): void {
    for (const { controls } of this.#running) controls?.optOut(address);
  }

  /**
   * Whether tasks of the campaign may be delivered soon.
   *
   * @throws Error when the server does not reply, or the campaign was removed.
   */
  async hasTasks(): Promise<boolean> {
    const { js } = this.worker.broker;
    this.#consumer ??= await js.consumers.get(TASKS, taskConsumer(this.name));
    const { num_pending, num_ack_pending } = await this.#consumer.info();
    return num_pending + num_ack_pending > this.#running.size;
  }

  /**
   * Fetches tasks for a second, and starts each.
   *
   * @param most Maximum number of tasks.
   * @param start Called with the run of each task.
   * @throws Error when the server does not reply.
   */
  async fetch(most: number, start: (run: Promise<boolean>) => void): Promise<void> {
    const loaded = await this.#load();
    if (loaded === undefined) return;
    for await (const msg of fetchMessages(this.#consumer!, most, this.worker.clock)) {
      const task = await this.#accept(msg);
      if (task !== undefined) start(this.#runPart(loaded, task));
    }
  }

  async #runPart(loaded: PartOfCampaign, task: ReceivedTask): Promise<boolean> {
    const run = new PartRun(this.worker, loaded, task);
    this.#running.add(run);
    return await run.run().finally(() => this.#running.delete(run));
  }

  /** Loads the spec once; `undefined`: this worker refuses the campaign. */
  async #load(): Promise<PartOfCampaign | undefined> {
    if (this.#loaded !== undefined) return this.#loaded;
    const { broker, context: { program, allProtocols } } = this.worker;
    try {
      const { name, entry: { spec: digest } } = this;
      const spec = await getSpec(broker, { name, digest, program, allProtocols });
      return this.#loaded = { spec, budget: await budgetOf(spec, this.worker) };
    } catch (error) {
      if (error instanceof BrokerError || !(error instanceof InputError)) throw error;
      return this.#refuse(error.message);
    }
  }

  /** Reads a task. One of a newer program goes to another worker, and an invalid one is removed. */
  async #accept(msg: JsMsg): Promise<ReceivedTask | undefined> {
    try {
      const value = parseJson(msg.string());
      if (isNewer(value)) this.#refuse("its tasks are of a newer program");
      else {
        const { spec, part, try: queued } = taskFields(value, "task");
        if (spec !== this.entry.spec) throw new FieldError("it is of another specification");
        if (part > this.entry.parts) throw new FieldError(`there is no part ${part}`);
        if (this.isRunnable) return { msg, part, try: queued };
      }
      msg.nak(REFUSED_MS);
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      await this.#remove(msg, error.message.split("\n")[0]);
    }
  }

  /** Removes a task, unless it belongs to a later campaign of the same name. */
  async #remove(msg: JsMsg, why: string): Promise<void> {
    const { control, report } = this.worker;
    const isCurrent = await withDeadline(control.whenCurrent(), ACK_MS).catch(() => false);
    if (!isCurrent || !this.isOf(control.campaigns().get(this.name))) return msg.nak(REFUSED_MS);
    report(`blocksweep: a task of campaign ${this.name} is removed: ${why}`);
    // A refusal would leave the task in the stream. One that is not confirmed is delivered again.
    await msg.ackAck({ timeout: ACK_MS }).catch(() => {});
  }

  #refuse(why: string): undefined {
    if (!this.#isRefused) {
      this.worker.report(`blocksweep: campaign ${this.name} is left to other workers: ${why}`);
    }
    this.#isRefused = true;
  }
}
