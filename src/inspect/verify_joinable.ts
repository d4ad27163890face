/**
 * Verifies that a server that replied accepts connections, if the user requests it.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import { openWithRetries } from "../net/file_descriptors.ts";
import type { Link } from "../net/mod.ts";
import type { Protocol, Statement } from "../protocols/protocol.ts";
import { converse, type RetryLimits } from "./converse.ts";
import type { ProtocolReply } from "./protocol_reply.ts";

export interface Verification {
  readonly endpoint: Endpoint;
  /** Opens a link to the server on a socket that serves only this verification. */
  readonly link: () => Link | Promise<Link>;
  /** Timeout for each reply, milliseconds. */
  readonly timeoutMs: number;
}

export interface Verified {
  /** The reply, with the result in its statement. */
  readonly reply: ProtocolReply;
  /** Whether the verification ended early. */
  readonly isCutShort: boolean;
  /** Whether the verification ended because no descriptor was free. */
  readonly exhausted?: boolean;
}

/**
 * Verifies a server once in one protocol.
 *
 * @param reply The server's reply.
 * @param status The decoded status of the reply.
 */
export async function verifyServer(
  protocol: Protocol,
  reply: ProtocolReply,
  status: unknown,
  { endpoint, link, timeoutMs }: Verification,
  { retries, clock, signal, nonce, shortage }: RetryLimits,
): Promise<Verified> {
  const context = { endpoint, nonce: nonce(), exclusive: true, lastAttempt: true };
  const exchange = protocol.verify?.exchange(status, context);
  if (exchange === undefined) return { reply, isCutShort: false };
  const opened = await openWithRetries(link, { clock, signal, shortage });
  if (opened === "exhausted") return { reply, isCutShort: true, exhausted: !signal.aborted };
  await using open = opened;
  const outcome = await converse(exchange, open, {
    timeoutMs,
    resends: retries,
    clock,
    signal,
  });
  if (signal.aborted) return { reply, isCutShort: true }; // a cancelled exchange has no result
  const found: Statement = outcome.kind === "replied"
    ? outcome.status
    : { columns: {}, flags: ["verifyMalformed"], facts: {} };
  return { reply: { ...reply, statement: joined(reply.statement, found) }, isCutShort: false };
}

/** A statement, with the columns, flags and facts of another statement added. */
function joined(statement: Statement, found: Statement): Statement {
  return {
    columns: { ...statement.columns, ...found.columns },
    flags: [...statement.flags, ...found.flags],
    facts: { ...statement.facts, ...found.facts },
  };
}
