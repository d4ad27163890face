/**
 * The classes of received datagrams and their counters. The receiver counts each datagram in one
 * class; the interview of an unverified reply moves it to another.
 *
 * @module
 */
/** Numbers of received datagrams by class. Their sum is the number of received datagrams. */
export interface ReplyCounts {
  /** First replies of endpoints, proved by their token or by the reply to a second query. */
  valid: number;
  /** Further replies of endpoints that had replied. */
  duplicate: number;
  /** Replies of responders that were probed again to measure packet loss. */
  canary: number;
  /**
   * Replies that their token does not prove, and that no second query has confirmed or refuted: it is
   * pending, or was cancelled.
   */
  unverified: number;
  /** Replies with a wrong token, and those without a second query, or without a reply to it. */
  forged: number;
  /** Replies without our token of endpoints that were not interviewed: no hold, or no time, was left. */
  omitted: number;
  /** Replies that cannot be decoded, and those to whose second query such a reply came. */
  malformed: number;
  /** Replies that only show that another protocol has to be suppressed. */
  suppressing: number;
  /** Everything else, and everything from endpoints that were not probed. */
  unsolicited: number;
}

/** The counters of a scan without replies. */
export function noReplies(): ReplyCounts {
  return {
    valid: 0,
    duplicate: 0,
    canary: 0,
    unverified: 0,
    forged: 0,
    omitted: 0,
    malformed: 0,
    suppressing: 0,
    unsolicited: 0,
  };
}

/** Moves an unverified reply to the class that its second query, or the lack of one, has shown. */
export function reclassify(
  counts: ReplyCounts,
  as: "valid" | "duplicate" | "forged" | "omitted" | "malformed",
): void {
  counts.unverified--;
  counts[as]++;
}
