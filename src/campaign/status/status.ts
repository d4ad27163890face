/**
 * The progress of a campaign, computed from its entry, its spec and its leases.
 *
 * @module
 */
import { DEFAULT_VANTAGE } from "../../app/options/mod.ts";
import type { CampaignEntry } from "../control.ts";
import type { LeaseValue } from "../lease_value.ts";
import type { Spec } from "../spec.ts";
import type { StoredLease, StoredWorker } from "../stored_leases.ts";

/**
 * The states of parts. `waiting`: in the queue; `held`: a worker scans it; `lost`: its worker has not
 * reported for the ack-wait of the campaign, so that it waits for another worker.
 */
const PART_STATES = ["waiting", "held", "lost", "done", "poisoned", "cancelled"] as const;

export type PartProgress = typeof PART_STATES[number];

/** A part that a worker has taken. */
export interface PartStatus {
  /** Number of the part, from 1. */
  readonly part: number;
  /** The worker that had it last. */
  readonly worker: string;
  /** How often it was taken by workers that did not finish it in good order. */
  readonly tries: number;
  /** When it was last updated, Unix milliseconds by the clock of NATS. */
  readonly at: number;
  /** Number of visited positions of all passes, and their number. */
  readonly position: number;
  readonly total: number;
  /** Packets per second, as its worker reported last. */
  readonly rate: number;
  /** Why the last try failed; `undefined`: it did not. */
  readonly why?: string;
}

export interface CampaignStatus {
  readonly name: string;
  /** `finished`: each part is done or cancelled; `ended`: the others are poisoned. */
  readonly state: CampaignEntry["state"] | "finished" | "ended";
  /** Unix milliseconds. */
  readonly submittedAt: number;
  readonly parts: Readonly<Record<PartProgress, number>>;
  /** Packets that were sent, replies to them, and servers that were found. */
  readonly sent: number;
  readonly replies: number;
  readonly found: number;
  /** The share of all positions that were visited, 0 to 1; estimated if parts were not begun. */
  readonly share: number;
  /**
   * Packets per second: those that the workers of held parts report. Parts that are shorter than a
   * quarter of ack-wait report none. So while the campaign runs, the rate is at least that of the parts
   * that were done within the last minute: their packets, each part at most at its share of the
   * budget, divided by a minute, or by the time since the submit if that is less. Without a budget,
   * this is used only if no held part reports a rate.
   */
  readonly rate: number;
  /**
   * Maximum packets per second of all workers; `null`: no limit; `undefined`: the spec of the
   * campaign cannot be used.
   */
  readonly budget: number | null | undefined;
  /** Estimated end at the rate of now, Unix milliseconds; `undefined`: it cannot be estimated. */
  readonly endsAt: number | undefined;
  /** The parts that workers scan, by number. */
  readonly held: readonly PartStatus[];
  /** The parts of workers that no longer report, by number. */
  readonly lost: readonly PartStatus[];
  /** The parts that wait after a failed try, by number. */
  readonly failed: readonly PartStatus[];
  /** The parts that failed too often, by number. */
  readonly poisoned: readonly PartStatus[];
  /** The views of the parts. Default: the campaign has one view per part. */
  readonly views?: ViewsStatus;
}

/** The views of the parts of a campaign. */
export interface ViewsStatus {
  /** The number of views of each part. */
  readonly each: number;
  /** The number of views that are done, of all parts. */
  readonly done: number;
  /** The vantages of workers that report, and of views that are done. */
  readonly vantages: readonly string[];
  /** Number of parts that wait, and that no worker that reports may take: all their vantages are done. */
  readonly waiting: number;
}

export type CampaignLimits = Pick<Spec, "rate" | "ackWaitMs" | "maxRunning">;

export interface StoredCampaign {
  readonly name: string;
  readonly entry: CampaignEntry;
  /** `undefined`: it cannot be used. */
  readonly spec: CampaignLimits | undefined;
  readonly leases: readonly StoredLease[];
  /** The workers of all campaigns. */
  readonly workers: readonly StoredWorker[];
}

/** The progress of a campaign at a time, Unix milliseconds. */
export function campaignStatus(
  { name, entry, spec, leases, workers }: StoredCampaign,
  now: number,
): CampaignStatus {
  // A key of another part is not of this campaign, whoever wrote it.
  const parts = leases.filter(({ part }) => part >= 1 && part <= entry.parts)
    .toSorted((a, b) => a.part - b.part);
  const inState = (state: LeaseValue["state"]) =>
    parts.filter(({ value }) => value.state === state);
  const isLost = ({ at }: StoredLease) => now - at > (spec?.ackWaitMs ?? Infinity);
  const [taken, poisoned] = [inState("held"), inState("poisoned")];
  const [held, lost] = [taken.filter((one) => !isLost(one)), taken.filter(isLost)];
  const failed = inState("released").filter(({ value: { why } }) => why !== undefined);
  const done = inState("done").length;
  const cancelled = inState("cancelled").length;
  const ended = done + poisoned.length + cancelled;
  const waiting = entry.parts - taken.length - ended;
  const sum = (count: (value: LeaseValue) => number) =>
    parts.reduce((all, { value }) => all + count(value), 0);
  const { visited, total, left } = positionsOf(entry.parts, parts.map(({ value }) => value));
  const isRunning = entry.state === "running" && ended < entry.parts;
  const reported = held.reduce((all, { value }) => all + value.rate, 0);
  const rate = isRunning
    ? Math.max(reported, recentRate(inState("done"), { entry, spec, reported }, now))
    : reported;
  const end = poisoned.length > 0 ? "ended" : "finished";
  return {
    name,
    state: entry.state !== "cancelled" && ended >= entry.parts ? end : entry.state,
    submittedAt: entry.submittedAt,
    parts: {
      waiting,
      held: held.length,
      lost: lost.length,
      done,
      poisoned: poisoned.length,
      cancelled,
    },
    sent: sum(({ counters }) => counters.sent),
    replies: sum(({ counters }) => counters.replies),
    found: sum(({ counters }) => counters.found),
    share: total === 0 ? 0 : visited / total,
    rate,
    budget: spec?.rate,
    endsAt: isRunning && rate > 0 && total > 0 ? now + 1000 * left / rate : undefined,
    held: held.map(partStatus),
    lost: lost.map((one) => ({ ...partStatus(one), rate: 0 })),
    failed: failed.map(partStatus),
    poisoned: poisoned.map(partStatus),
    ...entry.views !== undefined && { views: viewsOf(entry.views, parts, workers, now) },
  };
}

/** A worker that has not reported for this time is gone, milliseconds: three entries are missing. */
const GONE_MS = 30_000;

function viewsOf(
  each: number,
  parts: readonly StoredLease[],
  workers: readonly StoredWorker[],
  now: number,
): ViewsStatus {
  const doneOf = ({ value }: StoredLease) => value.views?.done ?? [];
  const present = new Set(
    workers.filter(({ at }) => now - at <= GONE_MS)
      .map(({ vantage = DEFAULT_VANTAGE }) => vantage),
  );
  const waiting = parts.filter((part) =>
    part.value.state === "released" && present.isSubsetOf(new Set(doneOf(part))) &&
    doneOf(part).length > 0
  );
  const ended = ({ value: { state } }: StoredLease) => state === "done";
  return {
    each,
    done: parts.reduce((sum, part) => sum + (ended(part) ? each : doneOf(part).length), 0),
    vantages: [...present.union(new Set(parts.flatMap(doneOf)))].sort(),
    waiting: waiting.length,
  };
}

/** The time over which the rate of parts that are done is taken, milliseconds. */
const RECENT_MS = 60_000;

/** The rate of the parts that were done lately: see {@linkcode CampaignStatus}. */
function recentRate(
  done: readonly StoredLease[],
  { entry, spec, reported }: Pick<StoredCampaign, "entry" | "spec"> & { readonly reported: number },
  now: number,
): number {
  if (spec === undefined || spec.rate === null && reported > 0) return 0;
  const ms = Math.min(RECENT_MS, now - entry.submittedAt);
  const most = spec.rate === null ? Infinity : spec.rate / spec.maxRunning * ms / 1000;
  const sent = done.filter(({ at }) => at > now - ms)
    .reduce(
      (sum, { value: { counters } }) => sum + Math.min(counters.sent / (entry.views ?? 1), most),
      0,
    );
  return ms > 0 ? 1000 * sent / ms : 0;
}

function partStatus({ part, value, at }: StoredLease): PartStatus {
  const { worker, tries, counters: { position, total }, rate, why } = value;
  return { part, worker, tries, at, position, total, rate, ...why !== undefined && { why } };
}

/**
 * The numbers of visited positions, of all, and of those that workers will visit. Parts that were not
 * begun are taken to be as large as the others on average.
 */
function positionsOf(count: number, leases: readonly LeaseValue[]) {
  const begun = leases.filter(({ counters }) => counters.total > 0);
  const open = begun.filter(({ state }) => state === "held" || state === "released");
  const sum = (values: readonly LeaseValue[], of: "position" | "total") =>
    values.reduce((all, { counters }) => all + counters[of], 0);
  const notBegun = begun.length === 0
    ? 0
    : (count - begun.length) * sum(begun, "total") / begun.length;
  return {
    visited: sum(begun, "position"),
    total: sum(begun, "total") + notBegun,
    left: sum(open, "total") - sum(open, "position") + notBegun,
  };
}
