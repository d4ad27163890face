/**
 * The reply of a server in one protocol, decoded.
 *
 * @module
 */
import type { Sighting } from "../core/record.ts";
import type { Protocol, Statement } from "../protocols/protocol.ts";

/** The reply of one protocol, decoded. */
export interface ProtocolReply {
  readonly protocol: string;
  /** Columns, flags and facts from the reply. */
  readonly statement: Statement;
  /** The reply as raw bytes. */
  readonly raw?: Uint8Array;
}

/**
 * The reply that contains the status of a sighting; `undefined` for a sighting without a status.
 */
export function firstReplyOf(
  { protocol: name, status, raw }: Pick<Sighting, "protocol" | "status" | "raw">,
  protocols: readonly Protocol[],
): ProtocolReply | undefined {
  if (status === undefined) return undefined;
  const protocol = protocols.find((one) => one.name === name)!;
  return { protocol: name, statement: protocol.record(status), raw };
}

/** A reply of a probe with `wholeStatus` that was not decoded yet. */
export interface UndecodedReply {
  readonly protocol: string;
  /** The reply as raw bytes. */
  readonly raw: Uint8Array;
}

/** Decodes such a reply. */
export function decodeRawReply(
  { protocol: name, raw }: UndecodedReply,
  protocols: readonly Protocol[],
): ProtocolReply {
  const protocol = protocols.find((one) => one.name === name)!;
  const { status } = protocol.probe!.content!(raw);
  return { protocol: name, statement: protocol.record(status), raw };
}
