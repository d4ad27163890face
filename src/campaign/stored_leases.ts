/**
 * Reads the leases of campaigns and the entries of workers.
 *
 * @module
 */
import {
  FieldError,
  integer,
  objectOf,
  optional,
  parseJson,
  text,
} from "../core/checked_values.ts";
import { type LeaseValue, parseLeaseValue, UNTAKEN } from "./lease_value.ts";
import { readEntry, type ReportSkipped } from "./entries.ts";
import {
  LEASE_BUCKET,
  leaseKeys,
  parseLeaseKey,
  parseWorkerKey,
  TASKS,
  taskSubject,
  WORKER_KEYS,
} from "./names.ts";
import { withDeadline } from "./nats/deadline.ts";
import type { Broker } from "./nats/connection.ts";

export interface StoredLease {
  readonly campaign: string;
  readonly part: number;
  readonly value: LeaseValue;
  /** When NATS stored it, Unix milliseconds. */
  readonly at: number;
  /** The revision of its key. */
  readonly revision: number;
}

/** A worker, as it describes itself. */
export interface StoredWorker {
  readonly id: string;
  /** Number of parts that it scans at the same time. */
  readonly slots: number;
  /** Where it scans from. Default: the vantage of workers that name none. */
  readonly vantage?: string;
  /** The engine that was chosen; `undefined`: the usual one. */
  readonly engine?: string;
  /** The version of its program. */
  readonly program: string;
  /** When NATS stored the entry, Unix milliseconds. */
  readonly at: number;
}

const word = text(/^[^]{1,100}$/, "a text");
const isWorker = objectOf({
  slots: integer(1),
  engine: optional(word),
  vantage: optional(word),
  program: word,
  host: optional(word),
  at: integer(),
  clockOffsetMs: integer(-Number.MAX_SAFE_INTEGER),
});

/** Leases and workers. */
export interface Stored {
  readonly leases: StoredLease[];
  readonly workers: StoredWorker[];
}

/** Reads the workers, and the leases of one campaign, or of all; see {@linkcode readLeases}. */
export async function readWorkers(
  broker: Pick<Broker, "bucket">,
  campaign: string | undefined,
  report: ReportSkipped,
): Promise<Stored> {
  if (campaign === undefined) return await readLeases(broker, undefined, report);
  const { leases } = await readLeases(broker, leaseKeys(campaign), report);
  const { workers } = await readLeases(broker, WORKER_KEYS, report);
  return { leases, workers };
}

/**
 * Reads leases and workers. Entries that no program of this version wrote are left out, except that a
 * lease without a valid value is that of a part that no worker has taken.
 *
 * @param key The keys that are read; `undefined`: all.
 * @param report Receives a line for each invalid entry.
 */
export async function readLeases(
  broker: Pick<Broker, "bucket">,
  key: string | undefined,
  report: ReportSkipped,
): Promise<Stored> {
  return await withDeadline(readAll(broker, key, report));
}

async function readAll(
  broker: Pick<Broker, "bucket">,
  key: string | undefined,
  report: ReportSkipped,
): Promise<Stored> {
  const [leases, workers]: [StoredLease[], StoredWorker[]] = [[], []];
  const bucket = await broker.bucket(LEASE_BUCKET);
  for await (const entry of await bucket.history(key === undefined ? {} : { key })) {
    if (entry.operation !== "PUT") continue;
    const at = entry.created.getTime();
    const lease = parseLeaseKey(entry.key);
    const id = parseWorkerKey(entry.key);
    const read = <T>(parse: (json: string) => T) =>
      readEntry(LEASE_BUCKET, entry, () => parse(entry.string()), report);
    if (lease !== undefined) {
      // A worker takes a part whose lease cannot be read as one that nobody took.
      const value = read(parseLeaseValue) ?? { ...UNTAKEN, worker: "unknown", at: 0 };
      leases.push({ ...lease, value, at, revision: entry.revision });
    } else if (id !== undefined) {
      const value = read((json) => isWorker(parseJson(json), ""));
      if (value !== undefined) workers.push({ ...value, id, at });
    } else read(refuseKey);
  }
  return { leases, workers };
}

function refuseKey(): never {
  throw new FieldError("it is neither the key of a lease nor of a worker");
}

/**
 * Returns a function that removes the tasks and leases of a campaign, except those that are stored
 * from now on.
 */
export async function purgeUntilNow(
  { jsm }: Pick<Broker, "jsm">,
): Promise<(campaign: string) => Promise<void>> {
  const streams = [
    { name: TASKS, subject: taskSubject },
    {
      name: `KV_${LEASE_BUCKET}`,
      subject: (campaign: string) => `$KV.${LEASE_BUCKET}.${leaseKeys(campaign)}`,
    },
  ];
  const seen = await Promise.all(streams.map(async (stream) => {
    const { state } = await jsm.streams.info(stream.name);
    return { ...stream, seq: state.last_seq + 1 };
  }));
  return async (campaign) => {
    for (const { name, subject, seq } of seen) {
      await jsm.streams.purge(name, { filter: subject(campaign), seq });
    }
  };
}
