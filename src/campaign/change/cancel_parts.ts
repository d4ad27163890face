/**
 * Ends the parts of a cancelled campaign that no worker ends.
 *
 * @module
 */
import type { Clock } from "../../net/clock.ts";
import type { CampaignEntry } from "../control.ts";
import { formatLeaseValue, hasEnded, UNTAKEN } from "../lease_value.ts";
import {
  LEASE_BUCKET,
  leaseKey,
  leaseKeys,
  resultSubject,
  taskConsumer,
  TASKS,
  taskSubject,
} from "../names.ts";
import type { KV } from "../nats/client_types.ts";
import type { Broker } from "../nats/connection.ts";
import { isWrongRevision } from "../nats/errors.ts";
import { formatPartEnd } from "../results.ts";
import { IGNORED } from "../entries.ts";
import { readLeases, type StoredLease } from "../stored_leases.ts";

/** Number of parts that are ended together. */
const AT_ONCE = 256;
/** What the results and leases name in place of a worker. */
const CANCEL = "campaign-cancel";

/**
 * Removes the tasks of a cancelled campaign, and ends the parts that no worker will end: those that
 * wait, and those of workers that are gone. It can be repeated.
 *
 * @returns The number of parts that workers are still ending.
 */
export async function cancelParts(
  broker: Broker,
  name: string,
  { parts, spec }: Pick<CampaignEntry, "parts" | "spec">,
  { wall }: Pick<Clock, "wall">,
): Promise<number> {
  await broker.jsm.streams.purge(TASKS, { filter: taskSubject(name) });
  const { config } = await broker.jsm.consumers.info(TASKS, taskConsumer(name));
  const goneBefore = wall() - 2 * config.ack_wait! / 1e6;
  const { leases } = await readLeases(broker, leaseKeys(name), IGNORED);
  const leased = new Map(leases.map((lease) => [lease.part, lease]));
  const open = Array.from({ length: parts }, (_, i) => ({ part: i + 1, lease: leased.get(i + 1) }))
    .filter(({ lease }) => lease === undefined || !hasEnded(lease.value));
  const left = open.filter(({ lease }) => lease?.value.state !== "held" || lease.at < goneBefore);
  const bucket = await broker.bucket(LEASE_BUCKET);
  const cancel = ({ part, lease }: typeof left[number]) =>
    cancelPart({ ...broker, bucket }, { name, spec, part, at: wall() }, lease);
  for (let at = 0; at < left.length; at += AT_ONCE) {
    await Promise.all(left.slice(at, at + AT_ONCE).map(cancel));
  }
  return open.length - left.length;
}

/** Publishes the end of a part, and then ends its lease: a repetition misses no result. */
async function cancelPart(
  { js, bucket }: Pick<Broker, "js"> & { readonly bucket: KV },
  { name, spec, part, at }: {
    readonly name: string;
    readonly spec: string;
    readonly part: number;
    readonly at: number;
  },
  lease: StoredLease | undefined,
): Promise<void> {
  const value = { ...UNTAKEN, ...lease?.value, worker: CANCEL, at, rate: 0 };
  const { tries, counters } = value;
  const end = formatPartEnd({ form: 1, worker: CANCEL, tries, counters, packetLoss: null });
  const msgID = `${spec}:${part}:cancelled`;
  await js.publish(resultSubject(name, part, "cancelled"), end, { msgID });
  const json = formatLeaseValue({ ...value, state: "cancelled" });
  const key = leaseKey(name, part);
  try {
    if (lease === undefined) await bucket.create(key, json);
    else await bucket.update(key, json, lease.revision);
  } catch (error) {
    if (!isWrongRevision(error)) throw error; // a worker ends the part after all
  }
}
