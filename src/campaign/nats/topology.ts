/**
 * The streams, buckets and consumers that campaigns share.
 *
 * @module
 */
import { DAY_MS, HOUR_MS } from "../../core/quantities.ts";
import { InputError } from "../../core/errors.ts";
import {
  CONTROL_BUCKET,
  LEASE_BUCKET,
  OPT_OUT_BUCKET,
  resultConsumer,
  RESULTS,
  resultSubjects,
  SPECS,
  taskConsumer,
  TASKS,
  taskSubject,
} from "../names.ts";
import type { StreamConfig } from "./client_types.ts";
import type { Broker } from "./connection.ts";
import { brokerError, isMissingStream, isOtherConfiguration } from "./errors.ts";

/** Options of new streams. */
export interface TopologyOptions {
  /** The number of servers that store each message: 1 or 3. */
  readonly replicas: number;
  /** Maximum size of the stream of results, bytes. */
  readonly resultsLimit: number;
}

const [SECOND, HOUR, DAY] = [1000, HOUR_MS, DAY_MS].map((ms) => ms * 1e6);

/** Fields that are the same for all programs: a stream with others belongs to somebody else. */
const OWN_FIELDS = [
  "subjects",
  "retention",
  "discard",
  "max_msgs_per_subject",
  "allow_rollup_hdrs",
  "discard_new_per_subject",
] as const;

type OwnStream = Partial<StreamConfig> & Pick<StreamConfig, "name" | typeof OWN_FIELDS[number]>;

/** Who may write one key could erase all with the header `Nats-Rollup: all`. Nobody needs it there. */
const NO_ROLLUP = { allow_rollup_hdrs: false, discard_new_per_subject: false } as const;

const MIB = 2 ** 20;

/** The stream of a bucket of at most some MiB, as clients of NATS expect it. */
function bucket(name: string, mebibytes: number): OwnStream {
  return {
    name: `KV_${name}`,
    subjects: [`$KV.${name}.>`],
    retention: "limits",
    discard: "new",
    max_msgs_per_subject: 1,
    max_bytes: mebibytes * MIB,
    ...NO_ROLLUP,
  };
}

const STREAMS: readonly OwnStream[] = [
  {
    name: TASKS,
    subjects: [taskSubject(">")],
    retention: "workqueue",
    discard: "old",
    max_msgs_per_subject: -1,
    ...NO_ROLLUP,
    duplicate_window: DAY,
  },
  {
    name: RESULTS,
    subjects: ["bs.results.>"],
    retention: "limits",
    discard: "new",
    max_msgs_per_subject: -1,
    ...NO_ROLLUP,
    duplicate_window: HOUR,
  },
  bucket(CONTROL_BUCKET, 8),
  // The first value of a key stays: no worker takes an opt-out back.
  { ...bucket(OPT_OUT_BUCKET, 32), discard_new_per_subject: true },
  { ...bucket(LEASE_BUCKET, 128), max_age: 30 * DAY },
  {
    name: `OBJ_${SPECS}`,
    subjects: [`$O.${SPECS}.C.>`, `$O.${SPECS}.M.>`],
    retention: "limits",
    discard: "new",
    max_msgs_per_subject: -1,
    max_bytes: 256 * MIB,
    // Only submitters write here, with a rollup of the object's name.
    allow_rollup_hdrs: true,
    discard_new_per_subject: false,
  },
];

/** There are no campaigns, because none was ever submitted. */
export class NoCampaignsError extends InputError {}

/**
 * Creates the streams and buckets that do not exist. Existing ones keep their replicas and size.
 *
 * @returns The replicas and the size of the stream of results.
 * @throws InputError when one belongs to somebody else, or cannot be created.
 */
export async function ensureTopology(
  broker: Broker,
  { replicas, resultsLimit }: TopologyOptions,
): Promise<TopologyOptions> {
  let is = { replicas, resultsLimit };
  for (const stream of STREAMS) {
    const limit = stream.name === RESULTS && { max_bytes: resultsLimit };
    const found = await configOf(broker, stream.name) ??
      await create(broker, { ...stream, num_replicas: replicas, ...limit });
    checkOwn(broker, stream, found);
    if (limit) is = { replicas: found.num_replicas, resultsLimit: found.max_bytes };
  }
  return is;
}

/**
 * Checks that a submitter created the streams and buckets.
 *
 * @throws NoCampaignsError when one is missing.
 * @throws InputError when one belongs to somebody else.
 */
export async function checkTopology(broker: Broker): Promise<void> {
  for (const stream of STREAMS) {
    const found = await configOf(broker, stream.name);
    if (found === undefined) {
      throw new NoCampaignsError(
        `There are no campaigns on NATS at "${broker.urls}": submit a campaign first`,
      );
    }
    checkOwn(broker, stream, found);
  }
}

async function configOf(broker: Broker, name: string): Promise<StreamConfig | undefined> {
  try {
    return (await broker.jsm.streams.info(name)).config;
  } catch (error) {
    if (isMissingStream(error)) return undefined;
    throw brokerError(error, broker.urls);
  }
}

async function create(broker: Broker, stream: OwnStream): Promise<StreamConfig> {
  try {
    return (await broker.jsm.streams.add(stream)).config;
  } catch (error) {
    // Another submitter creates streams at the same time, with other limits.
    const found = isOtherConfiguration(error) ? await configOf(broker, stream.name) : undefined;
    if (found === undefined) throw brokerError(error, broker.urls);
    return found;
  }
}

function checkOwn({ urls }: Broker, own: OwnStream, found: StreamConfig): void {
  for (const field of OWN_FIELDS) {
    const [is, wanted] = [`${found[field] ?? false}`, `${own[field]}`];
    if (is === wanted) continue;
    throw new InputError(
      `Cannot use NATS at "${urls}": the stream ${own.name} is not one of blocksweep: ` +
        `its ${field} is "${is}", and must be "${wanted}"`,
    );
  }
}

/** How workers take tasks. */
export interface TaskConsumerOptions {
  /** The time after which a task without a sign of its worker goes to another one, milliseconds. */
  readonly ackWaitMs: number;
  /** Maximum number of parts that are scanned at the same time. */
  readonly maxRunning: number;
}

/**
 * Creates or updates the consumer from which workers take the tasks of a campaign.
 *
 * @throws InputError when it cannot be created.
 */
export async function ensureTaskConsumer(
  broker: Broker,
  campaign: string,
  { ackWaitMs, maxRunning }: TaskConsumerOptions,
): Promise<void> {
  await ensureConsumer(broker, TASKS, {
    durable_name: taskConsumer(campaign),
    filter_subject: taskSubject(campaign),
    ack_wait: ackWaitMs * 1e6,
    max_ack_pending: maxRunning,
  });
}

/**
 * Creates or updates the consumer from which the collectors of one database take results.
 *
 * @param collector The identity of the database's collectors.
 * @param left The campaign whose results the collector cannot read: its consumer keeps them for a
 * collector that can.
 * @throws InputError when it cannot be created.
 */
export async function ensureResultConsumer(
  broker: Broker,
  collector: string,
  left?: string,
): Promise<void> {
  await ensureConsumer(broker, RESULTS, {
    durable_name: resultConsumer(collector, left),
    ...left !== undefined && { filter_subject: resultSubjects(left) },
    ack_wait: 60 * SECOND,
    max_ack_pending: 1024,
  });
}

async function ensureConsumer(
  broker: Broker,
  stream: string,
  config: Parameters<Broker["jsm"]["consumers"]["add"]>[1],
): Promise<void> {
  try {
    await broker.jsm.consumers.add(stream, { ...config, ack_policy: "explicit", max_deliver: -1 });
  } catch (error) {
    throw brokerError(error, broker.urls);
  }
}
