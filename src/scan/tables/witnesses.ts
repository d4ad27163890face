/**
 * What shows an outage of the scan's own network: servers that replied, and counters.
 *
 * @module
 */
import type { Endpoint } from "../../core/address.ts";

/** A server that replied. */
export interface Witness {
  readonly endpoint: Endpoint;
  /** The protocol in which it replied. */
  readonly protocol: string;
}

/** The result of a query; `unknown`: nothing could be sent, for a reason other than the network. */
export type QueryResult = "replied" | "silent" | "unknown";

/** A witness and what its queries have shown. */
export interface KnownWitness extends Witness {
  /** Number of missing replies in a row. */
  misses: number;
  /** The end of the interview, or the last query. */
  at: number;
  /** Whether it has replied to a query or a canary probe. */
  isProved: boolean;
}

/** The counters that show whether the network works. */
export interface Look {
  readonly at: number;
  /** Replies that only a target can have sent. */
  readonly replied: number;
  /** Packets that were sent or refused. */
  readonly begun: number;
  /** Packets of which it is known that the system did not refuse them. */
  readonly accepted: number;
  /** Packets that the system refused for lack of a network. */
  readonly refused: number;
}
