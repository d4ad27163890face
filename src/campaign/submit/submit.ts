/**
 * Submits a campaign: stores its spec, and queues a task for each part.
 *
 * The order of the writes makes it safe to end at any point. Until the entry of the campaign exists,
 * no worker knows the campaign, and a later submit begins again. From then on the entry names the
 * spec, and a later submit queues the tasks that are missing: NATS stores tasks with the same message
 * id once.
 *
 * @module
 */
import { orderDigest } from "../../app/resume/scan_configuration.ts";
import { composeTargets } from "../../app/targets/mod.ts";
import { InputError } from "../../core/errors.ts";
import { AddressSet, type Range } from "../../targets/ranges.ts";
import { type CampaignEntry, Control, sourceOf } from "../control.ts";
import type { ReportSkipped } from "../entries.ts";
import { hasEnded, type LeaseValue } from "../lease_value.ts";
import { leaseKeys, TASKS, taskSubject } from "../names.ts";
import type { Broker } from "../nats/connection.ts";
import { ensureTaskConsumer, ensureTopology, type TopologyOptions } from "../nats/topology.ts";
import { formatSpec, getSpec, putSpec, type Spec } from "../spec.ts";
import { purgeUntilNow, readLeases } from "../stored_leases.ts";
import { queueTasks, RECOGNISED_MS, type Task } from "../tasks.ts";
import type { PreparedCampaign } from "./prepare_campaign.ts";

export interface Submitted {
  /** `completed`: an earlier submit had ended before all tasks were queued. */
  readonly outcome: "submitted" | "completed" | "unchanged";
  readonly state: CampaignEntry["state"];
  /** The settings of the streams: those of an earlier submit, if there was one. */
  readonly streams: TopologyOptions;
}

/**
 * Submits a campaign, or completes an earlier submit of it.
 *
 * @param report Receives a line for each invalid entry of another campaign.
 * @throws InputError when another campaign, or a cancelled one, has the name.
 */
export async function submitCampaign(
  broker: Broker,
  campaign: PreparedCampaign,
  report: (line: string) => void,
): Promise<Submitted> {
  const { spec: { name }, options: { replicas, resultsLimit } } = campaign;
  const streams = await ensureTopology(broker, { replicas: Number(replicas), resultsLimit });
  await using control = await Control.open(broker, report);
  await shareOptOuts(control, campaign);
  const { entry, isNew } = await addCampaign(broker, control, campaign);
  if (!isNew) await checkSame(broker, entry, campaign);
  if (entry.state === "cancelled") {
    throw new InputError(`Cannot submit campaign ${name}: it is cancelled; choose another --name`);
  }
  const queued = isNew
    ? await queueParts(broker, name, entry)
    : await queueMissing(broker, campaign, entry, report);
  const outcome = isNew ? "submitted" : queued > 0 ? "completed" : "unchanged";
  return { outcome, state: entry.state, streams };
}

/** Adds a new campaign, or returns the entry of the campaign that has the name. */
async function addCampaign(
  broker: Broker,
  control: Control,
  { spec }: PreparedCampaign,
): Promise<{ readonly entry: CampaignEntry; readonly isNew: boolean }> {
  const { program, name, parts, views, submittedAt, configuration: { order } } = spec;
  const found = control.campaigns().get(name);
  if (found !== undefined) return { entry: found, isNew: false };
  const digest = await putSpec(broker, name, formatSpec(spec));
  await ensureTaskConsumer(broker, name, spec);
  const purge = await purgeUntilNow(broker);
  const own = {
    ...{ state: "running", spec: digest, program, order, parts, submittedAt } as const,
    ...views !== undefined && { views },
  };
  const entry = await control.add(name, own);
  const isNew = entry === own;
  // A worker may have written a lease after a campaign of the same name was removed.
  if (isNew) await purge(name);
  return { entry, isNew };
}

/** Queues the tasks of parts: first one for each part, then the next one. Default: all of the campaign. */
async function queueParts(
  broker: Broker,
  name: string,
  { spec, parts, views = 1 }: CampaignEntry,
  isQueued: (task: Required<Task>) => boolean = () => true,
): Promise<number> {
  const all = Array.from(
    { length: views * parts },
    (_, i) => ({ part: i % parts + 1, try: 1, view: Math.floor(i / parts) + 1 }),
  );
  return await queueTasks(broker, name, { spec, tasks: all.filter(isQueued) });
}

/**
 * Queues the tasks of parts that no worker has taken yet, unless they are queued. NATS recognises a
 * task that is queued twice for a day only; a part with two tasks would be scanned by two workers in
 * turn.
 *
 * @throws InputError when tasks are missing, and the campaign is too old.
 */
async function queueMissing(
  broker: Broker,
  { spec: { name }, network }: PreparedCampaign,
  entry: CampaignEntry,
  report: ReportSkipped,
): Promise<number> {
  const { leases } = await readLeases(broker, leaseKeys(name), report);
  const taken = new Set(leases.map(({ part }) => part));
  if (network.clock.wall() - entry.submittedAt < RECOGNISED_MS) {
    return await queueParts(broker, name, entry, ({ part, view }) => view > 1 || !taken.has(part));
  }
  const subject = taskSubject(name);
  const { state } = await broker.jsm.streams.info(TASKS, { subjects_filter: subject });
  const { parts, views = 1 } = entry;
  const done = leases.reduce((sum, { value }) => sum + viewsEnded(value, views), 0);
  if (done + (state.subjects?.[subject] ?? 0) >= views * parts) return 0;
  throw new InputError(
    `Cannot complete campaign ${name}: its submit ended early, and is too old; ` +
      `cancel it with campaign cancel ${name}, and submit it with another --name`,
  );
}

/** The number of views of a part that no worker scans any more. */
function viewsEnded(value: LeaseValue, views: number): number {
  return hasEnded(value) ? views : value.views?.done.length ?? 0;
}

/**
 * Checks that a campaign with the name is the same.
 *
 * @throws InputError that names the differences.
 */
async function checkSame(
  broker: Broker,
  entry: CampaignEntry,
  campaign: PreparedCampaign,
): Promise<void> {
  const { spec: { name, program }, options: { allProtocols } } = campaign;
  const expected = { name, digest: entry.spec, program, allProtocols };
  const different = differences(await getSpec(broker, expected), campaign);
  if (different.length === 0) return;
  const at = new Date(entry.submittedAt).toISOString();
  throw new InputError(
    `Cannot submit campaign ${name}: the campaign of this name, of ${at}, has other ` +
      `${different.join(", ")}; choose another --name`,
  );
}

/** Options that do not decide whether two campaigns are the same: the targets are compared. */
const NOT_COMPARED = new Set(["exclude", "i-have-permission", "contact"]);

/** What differs between the spec of a stored campaign and that of a new one. */
function differences(stored: Spec, campaign: PreparedCampaign): string[] {
  const { spec: wanted, options, named: { optedOut }, selection } = campaign;
  const digest = ({ configuration: { found } }: Spec) => {
    // Addresses that opted out between two submits are no difference.
    const excluded = [...found.excluded, ...optedOut];
    return orderDigest(composeTargets({ ...found, excluded }, []).targets, selection.targets);
  };
  const isRandom = options.seed === undefined && !options.noRandomize;
  const [given, old] = [wanted, stored].map(({ configuration }) => configuration.given.given);
  const names = [...new Set([...given.keys(), ...old.keys()])].filter((name) =>
    !NOT_COMPARED.has(name) && !(name === "seed" && isRandom)
  );
  const maxRunning = Math.min(options.maxRunning, stored.parts);
  return [
    ...digest(stored) === digest(wanted) ? [] : ["targets"],
    ...names.filter((name) => given.get(name)?.join() !== old.get(name)?.join())
      .map((name) => `--${name}`),
    ...stored.parts === wanted.parts ? [] : ["--parts"],
    ...stored.views === wanted.views ? [] : ["--views"],
    ...stored.maxRunning === maxRunning ? [] : ["--max-running"],
    ...stored.ackWaitMs === wanted.ackWaitMs ? [] : ["--ack-wait"],
  ];
}

/**
 * Adds the addresses of the submitter's opt-out file to the opt-outs of all campaigns, and the other
 * way round. Ranges in the file are excluded in the spec only.
 */
async function shareOptOuts(
  control: Control,
  { named: { optedOut }, network }: PreparedCampaign,
): Promise<void> {
  const own = new AddressSet(optedOut);
  for (const [address, entry] of control.optOuts()) {
    if (!own.has(address)) network.optOuts.note(address, sourceOf(entry));
  }
  const shared = control.optOuts();
  const single = optedOut.filter(({ start, end }: Range) => BigInt(end) - BigInt(start) === 1n);
  const missing = single.filter(({ start }) => !shared.has(start));
  await Promise.all(missing.map(({ start }) => control.addOptOut(start, "campaign submit")));
}
