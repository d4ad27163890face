/**
 * Asking one protocol of one server, as often as it takes.
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

/** What holds for all servers. */
export interface RetryLimits {
  /** How often an exchange, and in it a handshake, is repeated. */
  readonly retries: number;
  /** The clock. */
  readonly clock: Clock;
  /** Ends attempts early. */
  readonly signal: AbortSignal;
  /** 63 bits that nobody can guess, new with every call. */
  readonly nonce: () => bigint;
  /** What others know of a shortage of descriptors, for sockets of their own. Default: nothing. */
  readonly shortage?: Shortage;
}

/** How one protocol of one server is asked. */
export interface RetryOptions extends Pick<ConverseOptions, "timeoutMs" | "forbids"> {
  /** The server. */
  readonly endpoint: Endpoint;
  /** Opens a conversation with it. */
  readonly link: () => Link | Promise<Link>;
  /** Whether the link's socket serves nothing else. */
  readonly exclusive: boolean;
  /** The name under which it was asked for, where there is one. */
  readonly requestedAs?: string | null;
  /** Whether only what a status needs is asked. */
  readonly statusOnly?: boolean;
  /** What the first exchange may start from. */
  readonly known?: unknown;
  /** Whether a server that does not answer the first question is left alone. */
  readonly leavesMute: boolean;
  /** Whether the last exchange may settle for less than a full status. Default: yes. */
  readonly settles?: boolean;
}

/** Whole exchanges, until one is answered. */
export async function queryWithRetries<S>(
  protocol: Protocol<S>,
  { link, known, timeoutMs, forbids, leavesMute, settles = true, ...context }: RetryOptions,
  { retries, clock, signal, nonce, shortage }: RetryLimits,
): Promise<Outcome<S>> {
  const patience = { timeoutMs, resends: retries, clock, signal, forbids };
  for (let left = retries;; left--) {
    const final = left === 0;
    await using open = await linkUnlessShort(link, { clock, signal, shortage });
    if (open === undefined) return { kind: "noReply", replies: 0, why: "exhausted" };
    const exchange = protocol.exchange({
      ...context,
      nonce: nonce(),
      known: left === retries ? known : undefined,
      lastAttempt: final && settles,
    });
    const outcome = await converse(exchange, open, patience);
    const mute = outcome.kind === "noReply" && outcome.replies === 0;
    const over = outcome.kind === "replied" || outcome.kind === "cancelled" ||
      outcome.kind === "malformed" && outcome.foreign;
    if (final || over || mute && leavesMute) return outcome;
  }
}

/** A link; `undefined` where the machine stays short of descriptors for it. */
async function linkUnlessShort(
  link: RetryOptions["link"],
  patience: ShortageRetryOptions,
): Promise<Link | undefined> {
  const open = await openWithRetries(link, patience);
  return open === "exhausted" ? undefined : open;
}

/** Whether an exchange failed for lack of descriptors: that says nothing about the server. */
export function isExhausted(outcome: Outcome<unknown>): boolean {
  return outcome.kind === "noReply" && outcome.why === "exhausted";
}
