/**
 * The views of a part: complete scans of it by workers of different vantages, one after the other. The
 * lease of the part keeps them. A task stands for one view more, whichever it is: so no task waits for
 * another one. A campaign with one view per part keeps nothing of this.
 *
 * @module
 */
import { CAMPAIGN_NAME } from "./names.ts";
import { type Check, integer, listOf, objectOf, optional, text } from "../core/checked_values.ts";
import { NO_COUNTERS, type PartCounters, partCounters } from "./part_counters.ts";
import { type PartCoverage, partCoverage } from "./results.ts";

/** The views of a part. */
export interface PartViews {
  /** The vantage of the worker that took the part last. The marks are those of its view. */
  readonly vantage: string;
  /** The vantages whose views are done, in their order. */
  readonly done: readonly string[];
  /** Rows that the view of `vantage` has written. */
  readonly found: number;
  /** The counters of the part when this view began. */
  readonly before: PartCounters;
  /** Which replies may be lost in the views that are done. Default: none. */
  readonly coverage?: PartCoverage;
}

/** The name of a vantage: a token of NATS' subjects. */
const vantage = text(CAMPAIGN_NAME, "the name of a vantage");

/** Checks the views in a lease. */
export const partViews: Check<PartViews> = objectOf({
  vantage,
  done: listOf(vantage),
  found: integer(),
  before: partCounters,
  coverage: optional(partCoverage),
});

/** What a view begins from: values of a lease. */
interface Progress {
  readonly marks: unknown;
  readonly counters: PartCounters;
  readonly views?: PartViews;
}

/**
 * What a worker of a vantage changes in the lease that it takes. It continues the view of its own
 * vantage. The view of another one that is not done is given up: what it found counts, its silence does
 * not.
 */
export function beginView({ marks, counters, views }: Progress, own: string): Partial<Progress> {
  if (views?.vantage === own && marks !== null) return {};
  const { done = [], coverage, before: { position } = NO_COUNTERS } = views ?? {};
  const before = { ...counters, position };
  const begun = { vantage: own, done, found: 0, before, ...coverage && { coverage } };
  return { marks: null, counters: before, views: begun };
}

/** The counters of a part, of which a view has counted `current`. */
export function countersWith(
  { before }: Pick<PartViews, "before">,
  current: PartCounters,
  count: number,
): PartCounters {
  return {
    sent: before.sent + current.sent,
    replies: before.replies + current.replies,
    found: Math.max(before.found, current.found),
    position: before.position + current.position,
    total: current.total * count,
  };
}

/** The views of a part after the end of the one that runs. */
export function endView(
  views: PartViews,
  counters: PartCounters,
  coverage: PartCoverage,
): PartViews {
  return {
    vantage: views.vantage,
    done: [...views.done, views.vantage],
    found: 0,
    before: counters,
    coverage: views.coverage === undefined ? coverage : joined(views.coverage, coverage),
  };
}

/** Which replies may be lost in one of two views. */
function joined(a: PartCoverage, b: PartCoverage): PartCoverage {
  const union = (
    name: "flooding" | "disturbed" | "excluded",
  ) => [...new Set([...a[name], ...b[name]])];
  return {
    flooding: union("flooding"),
    disturbed: union("disturbed"),
    interviewsDisturbed: a.interviewsDisturbed || b.interviewsDisturbed,
    omitted: a.omitted || b.omitted,
    excluded: union("excluded"),
  };
}
