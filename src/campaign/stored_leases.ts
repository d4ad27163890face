/**
 * Reads the leases of campaigns and the entries of workers.
 *
 * @module
 */
import { FieldError, integer, objectOf, optional, parseJson, text } from "../core/checked_json.ts";
import { type LeaseValue, parseLeaseValue } from "./lease_value.ts";
import { leaseKeys, LEASES, TASKS, taskSubject, WORKER_KEYS } from "./names.ts";
import type { KvEntry } from "./nats/client_types.ts";
import { withDeadline } from "./nats/deadline.ts";
import type { Broker } from "./nats/connection.ts";

/** The lease of a part. */
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

/** Reads the workers, and the leases of one campaign, or of all. */
export async function readWorkers(
  broker: Pick<Broker, "bucket">,
  campaign?: string,
): Promise<Stored> {
  if (campaign === undefined) return await readLeases(broker);
  const { leases } = await readLeases(broker, leaseKeys(campaign));
  const { workers } = await readLeases(broker, WORKER_KEYS);
  return { leases, workers };
}

/**
 * Reads leases and workers. Entries that no program of this version wrote are left out.
 *
 * @param key The keys that are read. Default: all.
 */
export async function readLeases(broker: Pick<Broker, "bucket">, key?: string): Promise<Stored> {
  return await withDeadline(readAll(broker, key));
}

async function readAll(broker: Pick<Broker, "bucket">, key?: string): Promise<Stored> {
  const leases: StoredLease[] = [];
  const workers: StoredWorker[] = [];
  const bucket = await broker.bucket(LEASES);
  for await (const entry of await bucket.history(key === undefined ? {} : { key })) {
    if (entry.operation !== "PUT") continue;
    const { revision } = entry;
    const at = entry.created.getTime();
    const [kind, name, part] = entry.key.split(".");
    if (kind === "lease") {
      const value = parsed(entry, parseLeaseValue);
      if (value !== undefined) {
        leases.push({ campaign: name, part: Number(part), value, at, revision });
      }
    } else if (kind === "worker") {
      const value = parsed(entry, (json) => isWorker(parseJson(json), ""));
      if (value !== undefined) workers.push({ ...value, id: name, at });
    }
  }
  return { leases, workers };
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
    { name: `KV_${LEASES}`, subject: (campaign: string) => `$KV.${LEASES}.${leaseKeys(campaign)}` },
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

function parsed<T>(entry: KvEntry, parse: (json: string) => T): T | undefined {
  try {
    return parse(entry.string());
  } catch (error) {
    if (error instanceof FieldError) return undefined;
    throw error;
  }
}
