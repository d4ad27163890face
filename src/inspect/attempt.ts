/**
 * Asking one protocol of one server, as often as it takes.
 *
 * @module
 */
import type { Endpoint } from "../address.ts";
import type { Clock } from "../net/clock.ts";
import { openPatiently, type ShortagePatience } from "../net/descriptors.ts";
import type { Link } from "../net/socket.ts";
import type { Protocol } from "../protocols/protocol.ts";
import type { Outcome } from "../record.ts";
import { converse } from "./converse.ts";

/** What holds for all servers. */
export interface Patience {
  /** How often an exchange, and in it a handshake, is repeated. */
  readonly retries: number;
  /** The clock. */
  readonly clock: Clock;
  /** Ends attempts early. */
  readonly signal: AbortSignal;
  /** 63 bits that nobody can guess, new with every call. */
  readonly nonce: () => bigint;
}

/** A follow-up waits at least so long, milliseconds, and so many round trips. */
const LEAST_FOLLOW_UP_MS = 250;
const FOLLOW_UP_ROUND_TRIPS = 4;

/** How long to wait for a server whose round trip is known, milliseconds: silence costs little. */
export function followUpTimeout(latencyMs: number): number {
  return Math.max(LEAST_FOLLOW_UP_MS, FOLLOW_UP_ROUND_TRIPS * latencyMs);
}

/** So long passes between questions to a host that nobody asked for, milliseconds. */
export const GAP_MS = 1000;

/** What is left of that time when a question has stayed without an answer for its timeout. */
export function restOfGap(timeoutMs: number): number {
  return Math.max(0, GAP_MS - timeoutMs);
}

/** How one protocol of one server is asked. */
export interface Attempt {
  /** The server. */
  readonly endpoint: Endpoint;
  /** Opens a conversation with it. */
  readonly link: () => Link | Promise<Link>;
  /** Whether the link's socket serves nothing else. */
  readonly exclusive: boolean;
  /** The name under which it was asked for, where there is one. */
  readonly requestedAs?: string | null;
  /** Whether only what a status needs is asked. */
  readonly brief?: boolean;
  /** What the first exchange may start from. */
  readonly known?: unknown;
  /** How long to wait for an answer, milliseconds. */
  readonly timeoutMs: number;
  /** Whether a server that does not answer the first question is left alone. */
  readonly leavesMute: boolean;
  /** Whether the last exchange may settle for less than a full status. Default: yes. */
  readonly settles?: boolean;
}

/** Whole exchanges, until one is answered. */
export async function attempt<S>(
  protocol: Protocol<S>,
  { endpoint, link, exclusive, requestedAs, brief, known, timeoutMs, leavesMute, settles = true }:
    Attempt,
  { retries, clock, signal, nonce }: Patience,
): Promise<Outcome<S>> {
  const patience = { timeoutMs, resends: retries, clock, signal };
  for (let left = retries;; left--) {
    const final = left === 0;
    await using open = await linkUnlessShort(link, { clock, signal });
    if (open === undefined) return { kind: "silent", answers: 0, why: "exhausted" };
    const start = left === retries ? known : undefined;
    const exchange = protocol.exchange({
      endpoint,
      nonce: nonce(),
      requestedAs,
      brief,
      known: start,
      exclusive,
      final: final && settles,
    });
    const outcome = await converse(exchange, open, patience);
    const mute = outcome.kind === "silent" && outcome.answers === 0;
    const over = outcome.kind === "answered" || outcome.kind === "cancelled";
    if (final || over || mute && leavesMute) return outcome;
  }
}

/** A link; `undefined` where the machine stays short of descriptors for it. */
async function linkUnlessShort(
  link: Attempt["link"],
  patience: ShortagePatience,
): Promise<Link | undefined> {
  const open = await openPatiently(link, patience);
  return open === "exhausted" ? undefined : open;
}

/** Whether an exchange failed for want of descriptors: that says nothing about the server. */
export function isExhausted(outcome: Outcome<unknown>): boolean {
  return outcome.kind === "silent" && outcome.why === "exhausted";
}
