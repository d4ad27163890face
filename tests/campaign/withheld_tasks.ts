/** The tasks of a campaign, of which workers get only as many as the steps of a test need. */
import { campaignKey, CONTROL_BUCKET, TASKS, taskSubject } from "../../src/campaign/names.ts";
import type { CampaignEntry } from "../../src/campaign/control.ts";
import type { Broker } from "../../src/campaign/nats/connection.ts";
import { queueTasks } from "../../src/campaign/tasks.ts";

/** A number of tries that no other task has, so that NATS stores a withheld task once more. */
const TRY = 1000;

/** Tasks that were taken out of the queue, and go back into it in their order. */
export class WithheldTasks {
  /** Number of tasks that are in the queue, or that workers have got. */
  released = 0;

  private constructor(
    private readonly broker: Broker,
    private readonly campaign: string,
    private readonly spec: string,
    private readonly parts: number,
  ) {}

  /** Takes all tasks of a submitted campaign out of the queue. No worker may have begun. */
  static async take(broker: Broker, campaign: string): Promise<WithheldTasks> {
    const { spec, parts } = await entryOf(broker, campaign);
    const { purged } = await broker.jsm.streams.purge(TASKS, { filter: taskSubject(campaign) });
    if (purged !== parts) throw new Error(`${purged} of ${parts} tasks were in the queue`);
    return new WithheldTasks(broker, campaign, spec, parts);
  }

  /** Queues tasks until a number of them is released, or all. Repeats this while NATS does not reply. */
  async release(count: number): Promise<void> {
    const until = Math.min(count, this.parts);
    while (this.released < until) {
      const tasks = Array.from(
        { length: until - this.released },
        (_, i) => ({ part: this.released + i + 1, try: TRY }),
      );
      const queued = await queueTasks(this.broker, this.campaign, { spec: this.spec, tasks })
        .then(() => true, () => false);
      if (queued) this.released = until;
    }
  }
}

/** The entry of a campaign, as NATS stores it. Repeats the request while NATS does not reply. */
export async function entryOf(broker: Broker, campaign: string): Promise<CampaignEntry> {
  for (;;) {
    const bucket = await broker.bucket(CONTROL_BUCKET).catch(() => undefined);
    const entry = await bucket?.get(campaignKey(campaign)).catch(() => undefined);
    if (entry === null) throw new Error(`there is no campaign ${campaign}`);
    if (entry !== undefined) return JSON.parse(entry.string());
  }
}
