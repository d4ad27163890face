/**
 * Asking a server that has answered whether it can be used, where the user wants to know.
 *
 * @module
 */
import type { Endpoint } from "../core/address.ts";
import { openWithRetries } from "../net/file_descriptors.ts";
import type { Link } from "../net/socket.ts";
import type { Protocol, Statement } from "../protocols/protocol.ts";
import type { RetryLimits } from "./retry.ts";
import { converse } from "./converse.ts";
import type { ProtocolReply } from "./merge.ts";

/** Who is asked, and how. */
export interface Verification {
  /** The server. */
  readonly endpoint: Endpoint;
  /** Opens a conversation with it, on a socket that serves nothing else. */
  readonly link: () => Link | Promise<Link>;
  /** How long to wait for an answer, milliseconds. */
  readonly timeoutMs: number;
}

/** What came of a verification. */
export interface Verified {
  /** The answer with what was found out in it. */
  readonly answer: ProtocolReply;
  /** Whether the verification was cut short. */
  readonly cut: boolean;
  /** Whether it was cut short because no descriptor could be had for it. */
  readonly exhausted?: boolean;
}

/**
 * Lets a protocol verify a server, once.
 *
 * @param answer What the server said.
 * @param status The same before it became a statement.
 */
export async function verifyServer(
  protocol: Protocol,
  answer: ProtocolReply,
  status: unknown,
  { endpoint, link, timeoutMs }: Verification,
  { retries, clock, signal, nonce, shortage }: RetryLimits,
): Promise<Verified> {
  const context = { endpoint, nonce: nonce(), exclusive: true, lastAttempt: true };
  const exchange = protocol.verify?.exchange(status, context);
  if (exchange === undefined) return { answer, cut: false };
  const opened = await openWithRetries(link, { clock, signal, shortage });
  if (opened === "exhausted") return { answer, cut: true, exhausted: !signal.aborted };
  await using open = opened;
  const outcome = await converse(exchange, open, {
    timeoutMs,
    resends: retries,
    clock,
    signal,
  });
  if (signal.aborted) return { answer, cut: true }; // silence proves nothing then
  const found: Statement = outcome.kind === "replied"
    ? outcome.status
    : { columns: {}, flags: ["verifyMalformed"], facts: {} };
  return { answer: { ...answer, statement: joined(answer.statement, found) }, cut: false };
}

/** A statement with the findings in it. */
function joined(statement: Statement, found: Statement): Statement {
  return {
    columns: { ...statement.columns, ...found.columns },
    flags: [...statement.flags, ...found.flags],
    facts: { ...statement.facts, ...found.facts },
  };
}
