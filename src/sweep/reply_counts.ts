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
  /** Replies without a valid token whose second query is pending or was cancelled. */
  unverified: number;
  /**
   * Replies with a wrong token; and replies without a token that no second query followed, or whose
   * second query got no reply.
   */
  forged: number;
  /**
   * Replies without a valid token from endpoints that were not interviewed, because no hold was
   * free or the scan ended.
   */
  omitted: number;
  /**
   * Replies that cannot be decoded, and unverified replies whose second query got a reply that
   * cannot be decoded.
   */
  malformed: number;
  /** Replies that only show that another protocol has to be suppressed. */
  suppressing: number;
  /** All other datagrams, and all datagrams from endpoints that were not probed. */
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

/** Moves an unverified reply to another class, according to the result of its second query. */
export function reclassify(
  counts: ReplyCounts,
  as: "valid" | "duplicate" | "forged" | "omitted" | "malformed",
): void {
  counts.unverified--;
  counts[as]++;
}
