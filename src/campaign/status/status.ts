/**
 * The progress of a campaign, computed from its entry, its spec and its leases.
 *
 * @module
 */
import type { CampaignEntry } from "../control.ts";
import type { LeaseValue } from "../lease_value.ts";
import type { StoredLease } from "../stored_leases.ts";

/** The states of parts. `waiting`: in the queue; `held`: a worker scans it. */
const PART_STATES = ["waiting", "held", "done", "poisoned", "cancelled"] as const;

/** The state of a part. */
export type PartState = typeof PART_STATES[number];

/** A part that a worker scans, or that failed too often. */
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
  /** Packets per second now. */
  readonly rate: number;
  /** Why the last try failed; `undefined`: it did not. */
  readonly why?: string;
}

/** The progress of a campaign. */
export interface CampaignStatus {
  readonly name: string;
  /** `finished`: each part is done, poisoned or cancelled. */
  readonly state: CampaignEntry["state"] | "finished";
  /** Unix milliseconds. */
  readonly submittedAt: number;
  /** Number of parts in each state. */
  readonly parts: Readonly<Record<PartState, number>>;
  /** Packets that were sent, replies to them, and servers that were found. */
  readonly sent: number;
  readonly replies: number;
  readonly found: number;
  /** The share of all positions that were visited, 0 to 1; estimated if parts were not begun. */
  readonly share: number;
  /** Packets per second of all workers now. */
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
  /** The parts that failed too often, by number. */
  readonly poisoned: readonly PartStatus[];
}

/** What is stored about a campaign. */
export interface StoredCampaign {
  readonly name: string;
  readonly entry: CampaignEntry;
  /** See {@linkcode CampaignStatus}. */
  readonly budget: CampaignStatus["budget"];
  /** The leases of its parts. */
  readonly leases: readonly StoredLease[];
}

/** The progress of a campaign at a time, Unix milliseconds. */
export function campaignStatus(
  { name, entry, budget, leases }: StoredCampaign,
  now: number,
): CampaignStatus {
  const parts = leases.toSorted((a, b) => a.part - b.part);
  const inState = (state: LeaseValue["state"]) =>
    parts.filter(({ value }) => value.state === state);
  const [held, poisoned] = [inState("held"), inState("poisoned")];
  const done = inState("done").length;
  const cancelled = inState("cancelled").length;
  const ended = done + poisoned.length + cancelled;
  const waiting = entry.parts - held.length - ended;
  const sum = (count: (value: LeaseValue) => number) =>
    parts.reduce((all, { value }) => all + count(value), 0);
  const rate = held.reduce((all, { value }) => all + value.rate, 0);
  const { visited, total, left } = positionsOf(entry.parts, parts.map(({ value }) => value));
  const isRunning = entry.state === "running" && ended < entry.parts;
  return {
    name,
    state: entry.state !== "cancelled" && ended >= entry.parts ? "finished" : entry.state,
    submittedAt: entry.submittedAt,
    parts: { waiting, held: held.length, done, poisoned: poisoned.length, cancelled },
    sent: sum(({ counters }) => counters.sent),
    replies: sum(({ counters }) => counters.replies),
    found: sum(({ counters }) => counters.found),
    share: total === 0 ? 0 : visited / total,
    rate,
    budget,
    endsAt: isRunning && rate > 0 && total > 0 ? now + 1000 * left / rate : undefined,
    held: held.map(partStatus),
    poisoned: poisoned.map(partStatus),
  };
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
