/**
 * Changes campaigns: pause, resume, cancel, retry of poisoned parts, removal.
 *
 * @module
 */
import { closestName } from "../../core/closest_name.ts";
import { InputError } from "../../core/errors.ts";
import { countOf } from "../../core/quantities.ts";
import type { Clock } from "../../net/clock.ts";
import { acknowledgedUpTo, hasNone } from "../collector/purge_results.ts";
import type { CampaignEntry, Control } from "../control.ts";
import { IGNORED } from "../entries.ts";
import { formatLeaseValue } from "../lease_value.ts";
import {
  LEASE_BUCKET,
  leaseKey,
  leaseKeys,
  RESULTS,
  resultSubjects,
  taskConsumer,
  TASKS,
} from "../names.ts";
import type { Broker } from "../nats/connection.ts";
import { isMissingConsumer } from "../nats/errors.ts";
import { removeSpecs } from "../spec.ts";
import type { CampaignStatus } from "../status/status.ts";
import { purgeUntilNow, readLeases } from "../stored_leases.ts";
import { queueTasks, RECOGNISED_MS, type Task } from "../tasks.ts";

/** The states of a campaign that a user can change, and the state afterwards. */
const CHANGES = {
  pause: { from: ["running"], to: "paused" },
  resume: { from: ["paused"], to: "running" },
  // A cancel that was ended before it removed the tasks can be repeated.
  // One whose parts have all ended is cancelled to give up results that no collector can write.
  cancel: { from: ["running", "paused", "ended", "finished", "cancelled"], to: "cancelled" },
} as const;

export type CampaignChange = keyof typeof CHANGES;

/**
 * The entry of a campaign.
 *
 * @throws InputError for a name that no campaign has.
 */
export function campaignEntry(control: Control, name: string): CampaignEntry {
  const campaigns = control.campaigns();
  const entry = campaigns.get(name);
  if (entry !== undefined) return entry;
  const meant = closestName(name, [...campaigns.keys()]);
  const hint = meant === undefined ? "campaign list shows all" : `did you mean ${meant}?`;
  throw new InputError(`Cannot find campaign "${name}"; ${hint}`);
}

/**
 * Pauses, resumes or cancels a campaign. Workers notice it at once.
 *
 * @throws InputError when the state of the campaign does not allow the change.
 */
export async function changeState(
  control: Control,
  { name, state }: Pick<CampaignStatus, "name" | "state">,
  change: CampaignChange,
): Promise<void> {
  const { from, to } = CHANGES[change];
  if (!from.some((one) => one === state)) {
    throw new InputError(`Cannot ${change} campaign ${name}: it is ${state}`);
  }
  if (state !== to) await control.setState(name, to);
}

/** The worker in leases that a retry has reset, until a worker takes the part. */
const RETRY = "campaign-retry";

/**
 * Queues the poisoned parts of a campaign again. They go on where they failed. A retry that was ended
 * in the middle can be repeated.
 *
 * @returns The number of parts that were not queued before.
 * @throws InputError for a cancelled campaign.
 */
export async function retryPoisoned(
  broker: Broker,
  { name, state }: Pick<CampaignStatus, "name" | "state">,
  { spec, parts, views: count = 1 }: Pick<CampaignEntry, "spec" | "parts" | "views">,
  { wall }: Pick<Clock, "wall">,
): Promise<number> {
  if (state === "cancelled") {
    throw new InputError(`Cannot retry campaign ${name}: it is cancelled`);
  }
  const bucket = await broker.bucket(LEASE_BUCKET);
  const tasks: Task[] = [];
  const { leases } = await readLeases(broker, leaseKeys(name), IGNORED);
  for (const { part, value, revision, at } of leases) {
    if (part > parts) continue; // no key of this campaign
    const { why: _, retries = 0, ...lease } = value;
    const queue = (queued: number) => {
      for (let view = 1 + (lease.views?.done.length ?? 0); view <= count; view++) {
        tasks.push({ part, try: queued, view });
      }
    };
    if (lease.state === "poisoned") {
      const reset = { ...lease, state: "released", worker: RETRY, tries: 0 } as const;
      const json = formatLeaseValue({ ...reset, retries: retries + 1 });
      await bucket.update(leaseKey(name, part), json, revision);
      queue(2 + retries);
    } else if (lease.worker === RETRY && wall() - at < RECOGNISED_MS) {
      queue(1 + retries); // NATS ignores a task that is queued already
    }
  }
  return await queueTasks(broker, name, { spec, tasks });
}

/**
 * Removes a campaign from NATS; a cancelled one with its results. The entry is removed last, so that
 * a removal that was ended in the middle can be repeated.
 *
 * @returns Whether all databases have its results.
 * @throws InputError for a campaign that runs, one with poisoned parts, and for a finished one whose
 * results are not yet written.
 */
export async function removeCampaign(
  broker: Broker,
  control: Control,
  { name, state, parts: { held, lost, poisoned } }: Pick<
    CampaignStatus,
    "name" | "state" | "parts"
  >,
): Promise<boolean> {
  const refuse = (why: string) => new InputError(`Cannot remove campaign ${name}: ${why}`);
  if (state === "ended") {
    throw refuse(
      `${countOf(poisoned, "part")} ${poisoned === 1 ? "is" : "are"} poisoned: ` +
        `campaign retry ${name}, or campaign cancel ${name} first`,
    );
  }
  if (state !== "finished" && state !== "cancelled") {
    throw refuse(`it is ${state}; end it first with campaign cancel ${name}`);
  }
  if (held + lost > 0) {
    throw refuse(
      `workers still have ${
        countOf(held + lost, "part")
      }; wait until they have stopped, or if they ` +
        `are gone, run campaign cancel ${name} again`,
    );
  }
  const { jsm } = broker;
  const filter = resultSubjects(name);
  const lacking = await consumersLacking(broker, name);
  if (lacking.length > 0 && state === "finished") {
    throw refuse(
      `not all of its results are written yet (${lacking.join(", ")}); run campaign collect, ` +
        `or give them up with campaign cancel ${name}`,
    );
  }
  if (state === "finished") await control.setState(name, "cancelled");
  await jsm.consumers.delete(TASKS, taskConsumer(name)).catch((error) => {
    if (!isMissingConsumer(error)) throw error;
  });
  await jsm.streams.purge(RESULTS, { filter });
  for await (const { name: consumer, config } of jsm.consumers.list(RESULTS)) {
    if (config.filter_subject === filter) await jsm.consumers.delete(RESULTS, consumer);
  }
  const purge = await purgeUntilNow(broker);
  await purge(name);
  await removeSpecs(broker, name);
  await control.remove(name);
  return lacking.length === 0;
}

/**
 * The consumers of databases that have not acknowledged all results of a campaign. If there are
 * results and no consumer, a text says so.
 */
async function consumersLacking({ jsm }: Broker, name: string): Promise<string[]> {
  const filter = resultSubjects(name);
  const last = (await jsm.streams.getMessage(RESULTS, { last_by_subj: filter }))?.seq ?? 0;
  const lacking: string[] = [];
  let hasCollector = last === 0;
  for await (const info of jsm.consumers.list(RESULTS)) {
    const { filter_subject } = info.config;
    if (
      filter_subject ? filter_subject === filter && !hasNone(info) : acknowledgedUpTo(info) < last
    ) {
      lacking.push(info.name);
    }
    if (!filter_subject) hasCollector = true;
  }
  return hasCollector ? lacking : [...lacking, "no database collects"];
}
