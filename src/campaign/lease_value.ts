/**
 * What the key of a lease contains.
 *
 * @module
 */
import {
  type Check,
  checked,
  FieldError,
  integer,
  objectOf,
  oneOf,
  optional,
  parseJson,
  text,
} from "../core/checked_values.ts";
import { NO_COUNTERS, type PartCounters, partCounters } from "./part_counters.ts";
import { type PartViews, partViews } from "./views.ts";

/** The states of a part: a worker scans it, or another may take it, or it has ended. */
export const LEASE_STATES = ["held", "released", "done", "poisoned", "cancelled"] as const;
/** The state of a part. */
export type LeaseState = typeof LEASE_STATES[number];

/** How often a part is tried before it is poisoned. */
export const MAX_TRIES = 5;

export interface LeaseValue {
  readonly state: LeaseState;
  /** The identity of the worker that wrote the value last. */
  readonly worker: string;
  /** How often the part was taken and not released in good order; the current holder included. */
  readonly tries: number;
  /** When the value was written, by the worker's clock, milliseconds since 1970 UTC. */
  readonly at: number;
  /** Where a scan of the part continues: JSON of the worker. `null`: at the start. */
  readonly marks: unknown;
  readonly counters: PartCounters;
  /** Packets per second that the part sends now. */
  readonly rate: number;
  /** Why the last try failed. */
  readonly why?: string;
  /** How often a user had the part queued again after it was poisoned. Default: never. */
  readonly retries?: number;
  /** The views of the part. Default: the campaign has one view per part. */
  readonly views?: PartViews;
}

/** The longest text of `why`. */
const MAX_WHY = 500;

const number: Check<number> = (value, field) => {
  if (typeof value === "number" && value >= 0 && Number.isFinite(value)) return value;
  throw new FieldError(`${field} must be a number of 0 or more`);
};

const isLeaseValue = objectOf({
  state: checked(oneOf(LEASE_STATES)),
  worker: text(/^[\w-]{1,64}$/, "1 to 64 of a-z, A-Z, 0-9, _ and -"),
  tries: integer(),
  at: integer(),
  marks: ((value) => value ?? null) as Check<unknown>,
  counters: partCounters,
  rate: number,
  retries: optional(integer()),
  views: optional(partViews),
  why: optional(text(new RegExp(`^[^]{0,${MAX_WHY}}$`), `at most ${MAX_WHY} characters`)),
});

/**
 * Parses the value of a lease.
 *
 * @throws FieldError when it is invalid.
 */
export function parseLeaseValue(json: string): LeaseValue {
  return isLeaseValue(parseJson(json), "");
}

/** The JSON of a value, with a long `why` cut. */
export function formatLeaseValue(value: LeaseValue): string {
  return JSON.stringify({ ...value, why: value.why?.slice(0, MAX_WHY) });
}

/** The value of a part that no worker has taken. */
export const UNTAKEN: Omit<LeaseValue, "worker" | "at"> = {
  state: "released",
  tries: 0,
  marks: null,
  counters: NO_COUNTERS,
  rate: 0,
};

/** Whether a part has ended, so that nothing is left to be scanned. */
export function hasEnded({ state }: Pick<LeaseValue, "state">): boolean {
  return state !== "held" && state !== "released";
}
