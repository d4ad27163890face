/**
 * The names that programs of campaigns share in NATS: streams, subjects, consumers and keys.
 *
 * @module
 */
import { CAMPAIGN_NAME, MAX_PARTS, MAX_VIEWS } from "../app/options/mod.ts";
import type { Address } from "../core/address.ts";

export { CAMPAIGN_NAME, MAX_PARTS, MAX_VIEWS };

/** The stream of tasks: a queue from which each task is removed when it is done. */
export const TASKS = "BS_TASKS";
/** The stream of results, which collectors read. */
export const RESULTS = "BS_RESULTS";
/** The bucket of the campaigns' states. */
export const CONTROL_BUCKET = "BS_CONTROL";
/** The bucket of opt-outs. Workers write it, so it is not that of campaigns. */
export const OPT_OUT_BUCKET = "BS_OPT_OUTS";
/** The bucket of leases and workers. */
export const LEASE_BUCKET = "BS_LEASES";
/** The store of the campaigns' specifications. */
export const SPECS = "BS_SPECS";

/** What a result says. */
export const RESULT_KINDS = ["rows", "done", "poisoned", "cancelled"] as const;
/** What a result says: rows of a part, or its end. */
export type ResultKind = typeof RESULT_KINDS[number];

export function taskSubject(campaign: string): string {
  return `bs.tasks.${campaign}`;
}

/** The consumer of a campaign's tasks, which all workers share. */
export function taskConsumer(campaign: string): string {
  return `work-${campaign}`;
}

/** The subjects of a campaign's results, as a filter. */
export function resultSubjects(campaign: string): string {
  return `bs.results.${campaign}.>`;
}

/**
 * The consumer of results for one database.
 *
 * @param collector The identity of the database's collectors.
 * @param left The campaign whose results collectors of another version have left, for a consumer of
 * these results alone.
 */
export function resultConsumer(collector: string, left?: string): string {
  const consumer = `collect-${collector}`;
  return left === undefined ? consumer : `${consumer}-${left}`;
}

/**
 * The subject of a result.
 *
 * @param vantage The vantage of rows. Default: the campaign has one view per part.
 */
export function resultSubject(
  campaign: string,
  part: number,
  kind: ResultKind,
  vantage?: string,
): string {
  const subject = `bs.results.${campaign}.${part}.${kind}`;
  return vantage === undefined ? subject : `${subject}.${vantage}`;
}

/** What the subject of a result names. */
export interface ResultSubject {
  readonly campaign: string;
  readonly part: number;
  readonly kind: ResultKind;
  /** The vantage of rows. Default: the campaign has one view per part. */
  readonly vantage?: string;
}

/** Parses the subject of a result; `undefined` when it is none. */
export function parseResultSubject(subject: string): ResultSubject | undefined {
  const [, campaign, digits, word, vantage] =
    /^bs\.results\.([^.]+)\.([1-9]\d{0,3})\.([^.]+)(?:\.([^.]+))?$/.exec(subject) ?? [];
  const kind = RESULT_KINDS.find((one) => one === word);
  const part = Number(digits);
  if (kind === undefined || part > MAX_PARTS || !CAMPAIGN_NAME.test(campaign)) return undefined;
  if (vantage === undefined) return { campaign, part, kind };
  return kind === "rows" && CAMPAIGN_NAME.test(vantage)
    ? { campaign, part, kind, vantage }
    : undefined;
}

export function campaignKey(campaign: string): string {
  return `campaign.${campaign}`;
}

export function leaseKey(campaign: string, part: number): string {
  return `lease.${campaign}.${part}`;
}

/** Parses the key of a lease; `undefined` when it is none. */
export function parseLeaseKey(key: string): { campaign: string; part: number } | undefined {
  const [, campaign, digits] = /^lease\.([^.]+)\.([1-9]\d{0,3})$/.exec(key) ?? [];
  const part = Number(digits);
  if (!(part <= MAX_PARTS) || !CAMPAIGN_NAME.test(campaign)) return undefined;
  return { campaign, part };
}

/** The keys of all leases of a campaign, as a filter. */
export function leaseKeys(campaign: string): string {
  return `lease.${campaign}.*`;
}

/** The keys of all workers, as a filter. */
export const WORKER_KEYS = "worker.*";

/** Parses the key of a worker; `undefined` when it is none. */
export function parseWorkerKey(key: string): string | undefined {
  return /^worker\.([\w-]{1,64})$/.exec(key)?.[1];
}

export function workerKey(worker: string): string {
  return `worker.${worker}`;
}

/** The key of an opt-out: the address as 8 or 32 hexadecimal digits. */
export function optOutKey(address: Address): string {
  const digits = typeof address === "number" ? 8 : 32;
  return address.toString(16).padStart(digits, "0");
}

/** Parses the key of an opt-out; `undefined` when it is none. */
export function parseOptOutKey(key: string): Address | undefined {
  if (!/^(?:[\da-f]{8}|[\da-f]{32})$/.test(key)) return undefined;
  return key.length === 8 ? parseInt(key, 16) : BigInt(`0x${key}`);
}
