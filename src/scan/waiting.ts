/**
 * Sightings of endpoints that wait for a hold: they are interviewed when they get one, or omitted.
 *
 * @module
 */
import type { Sighting } from "../core/record.ts";
import type { Responders } from "../sweep/responders.ts";
import type { LowWaterMark } from "./checkpoint/low_water_mark.ts";
import type { ScanState } from "./scan_state.ts";

/** What decides about a sighting that waits. */
export interface WaitingParts {
  /** Gives out holds. */
  readonly responders: Responders;
  /** Learns which sightings are through. */
  readonly lowWater: LowWaterMark;
  /** Where omitted replies are counted. */
  readonly state: Pick<ScanState, "replies" | "omittedAt">;
  /** Why a sighting is not interviewed: nothing comes of it, or all ends before that is known. */
  readonly dismissed: (sighting: Sighting) => "nothing" | "cut" | undefined;
  /** Interviews the endpoint of a sighting. */
  readonly sight: (sighting: Sighting, through: () => void) => void;
}

/**
 * Lets a sighting wait until a hold is free. Until then it holds the low-water mark back: a scan that
 * is interrupted and resumed probes the endpoint again.
 */
export function waitForHold(sighting: Sighting, parts: WaitingParts): void {
  const { endpoint } = sighting;
  const { responders, lowWater, state, dismissed, sight } = parts;
  const through = lowWater.begin();
  responders.wait({
    endpoint,
    admit: () => {
      state.replies.unverified++;
      sight(sighting, through);
    },
    leave: () => {
      const why = dismissed(sighting);
      if (why === "cut") return;
      if (why === undefined && !responders.has(endpoint)) omit(sighting, state);
      through();
    },
  });
}

/** Omitted endpoints that are named. */
const MOST_OMITTED_NAMED = 1024;

/** Counts a sighting that is not followed by an interview, because too many were unverified. */
export function omit(
  { endpoint, protocol }: Sighting,
  { replies, omittedAt }: WaitingParts["state"],
): void {
  replies.omitted++;
  const { address, port } = endpoint;
  if (omittedAt.length >= MOST_OMITTED_NAMED) return;
  const isNamed = omittedAt.some(({ endpoint }) =>
    endpoint.address === address && endpoint.port === port
  );
  if (!isNamed) omittedAt.push({ endpoint: { address, port }, protocol });
}
