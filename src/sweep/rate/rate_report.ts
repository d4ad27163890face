/**
 * What the search for a rate has come to.
 *
 * @module
 */
/** Why a rate was chosen. */
export type RateReason =
  /** It is still being looked for. */
  | "searching"
  /** Above it canaries were lost. */
  | "loss"
  /** Above it the system had no room, for what was sent or what came back. */
  | "room"
  /** The machine, or caps for hosts and networks, let no more leave. */
  | "sender"
  /** No more is allowed. */
  | "limit"
  /** Too few servers answered to tell. */
  | "unknown";

/** What a search has come to. */
export interface RateReport {
  /** Datagrams a second. */
  readonly rate: number;
  /** Why it is that. */
  readonly reason: RateReason;
  /** At which rate too much was lost last; `undefined`: at none. */
  readonly lossAt?: number;
  /** Which share was lost there, and which is lost at lower rates. */
  readonly lossThere?: number;
  /** The same at rates that are low enough. */
  readonly usualLoss?: number;
}
