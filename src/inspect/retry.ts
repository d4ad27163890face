/**
 * Queries one server in one protocol, and repeats the exchange after a failure.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import type { Clock } from "../net/clock.ts";
import {
  openWithRetries,
  type Shortage,
  type ShortageRetryOptions,
} from "../net/file_descriptors.ts";
import type { Link } from "../net/socket.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Outcome } from "../core/record.ts";
import { converse, type ConverseOptions } from "./converse.ts";

/** Retries, clock and cancellation, shared by all servers. */
export interface RetryLimits {
  /** Maximum number of repetitions of an exchange, and of a handshake within an exchange. */
  readonly retries: number;
  /** The clock of timeouts and pauses. */
  readonly clock: Clock;
  /** Cancels the exchange, and the pauses between its repetitions. */
  readonly signal: AbortSignal;
  /** Returns 63 unpredictable bits, new for each call. */
  readonly nonce: () => bigint;
  /** Shared state of a shortage of descriptors. Default: none. */
  readonly shortage?: Shortage;
}

/** Options of a query to one server in one protocol. */
export interface RetryOptions extends Pick<ConverseOptions, "timeoutMs" | "forbids"> {
  /** The endpoint of the server. */
  readonly endpoint: Endpoint;
  /** Opens a link to the server. */
  readonly link: () => Link | Promise<Link>;
  /** Whether the socket of the link serves only this exchange. */
  readonly exclusive: boolean;
  /** The name that the user gave for the server. */
  readonly requestedAs?: string | null;
  /** Whether only the requests that a status needs are sent. */
  readonly statusOnly?: boolean;
  /** State from an earlier reply, such as a token, with which the first exchange may start. */
  readonly known?: unknown;
  /** Whether the query ends without a retry when the first request gets no reply. */
  readonly stopsWithoutFirstReply: boolean;
  /** Whether the last exchange may return an incomplete status. Default: yes. */
  readonly acceptsIncomplete?: boolean;
}

/** Repeats whole exchanges until one returns a status. */
export async function queryWithRetries<S>(
  protocol: Protocol<S>,
  { link, known, timeoutMs, forbids, stopsWithoutFirstReply, acceptsIncomplete = true, ...context }:
    RetryOptions,
  { retries, clock, signal, nonce, shortage }: RetryLimits,
): Promise<Outcome<S>> {
  const limits = { timeoutMs, resends: retries, clock, signal, forbids };
  for (let left = retries;; left--) {
    const final = left === 0;
    await using open = await linkUnlessShort(link, { clock, signal, shortage });
    if (open === undefined) return { kind: "noReply", replies: 0, why: "exhausted" };
    const exchange = protocol.exchange({
      ...context,
      nonce: nonce(),
      known: left === retries ? known : undefined,
      lastAttempt: final && acceptsIncomplete,
    });
    const outcome = await converse(exchange, open, limits);
    const isUnresponsive = outcome.kind === "noReply" && outcome.replies === 0;
    const over = outcome.kind === "replied" || outcome.kind === "cancelled" ||
      outcome.kind === "malformed" && outcome.foreign;
    if (final || over || isUnresponsive && stopsWithoutFirstReply) return outcome;
  }
}

/** Opens a link; `undefined` when no descriptor is free. */
async function linkUnlessShort(
  link: RetryOptions["link"],
  limits: ShortageRetryOptions,
): Promise<Link | undefined> {
  const open = await openWithRetries(link, limits);
  return open === "exhausted" ? undefined : open;
}

/** Whether an exchange failed because no descriptor was free, and not because of the server. */
export function isExhausted(outcome: Outcome<unknown>): boolean {
  return outcome.kind === "noReply" && outcome.why === "exhausted";
}
