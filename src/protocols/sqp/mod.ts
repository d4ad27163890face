/**
 * Unity's Server Query Protocol: a challenge finds the server, and each query needs a new
 * challenge.
 *
 * @module
 */
import type { GeneralFlag } from "../../core/flags.ts";
import { Malformed, Truncated } from "../../core/bytes.ts";
import { NO_USUAL_PORTS } from "../usual_ports.ts";
import {
  type Exchange,
  type ExchangeContext,
  NoReply,
  type Protocol,
  request,
} from "../protocol.ts";
import { decodeReply, type SqpReply } from "./chunks.ts";
import {
  addPacket,
  CHUNKS,
  decodeSqpChallenge,
  decodeSqpPacket,
  encodeChallengeRequest,
  encodeQuery,
  hasReplyForm,
  type SqpPacket,
} from "./codec.ts";
import { type SqpFlag, sqpStatement } from "./columns.ts";

export * from "./chunks.ts";
export * from "./codec.ts";
export * from "./typed_values.ts";

/** A server's status: the chunks of all its replies. */
export interface SqpStatus extends SqpReply {
  /** Whether a chunk after the first was malformed. */
  readonly broken: boolean;
}

/** Maximum number of challenges for one query: each resent request may bring another challenge. */
const MAX_CHALLENGES = 3;

const SQP_FLAGS: Readonly<
  Record<Exclude<SqpFlag | SqpReply["flags"][number], GeneralFlag>, string>
> = {
  noServerInfo: "the SQP reply contains no ServerInfo",
};

/**
 * SQP. Replies repeat no part of the probe. A reply to the sweep is therefore unverified, and the
 * exchange verifies the server. The probe's five bytes make go-raknet ignore the sender for ten
 * seconds, so SQP is suppressed for endpoints that speak RakNet.
 */
export const sqpProtocol: Protocol<SqpStatus> = {
  name: "sqp",
  finds: "servers hosted by Unity (Multiplay), by SQP challenges",
  helpNote:
    "SQP is sent only if you name it and its ports, and only to endpoints without a reply to RakNet.",
  probeText: "SQP challenges of 5 bytes",
  transport: "udp",
  flags: SQP_FLAGS,
  ports: NO_USUAL_PORTS,
  onlyNamed: true,
  suppressedBy: "raknet",
  isReply: hasReplyForm,
  playerFacts: ["players"],
  probe: {
    template: encodeChallengeRequest(),
    macMask: 0,
    mayLackToken: true,
    // A challenge is valid for one query, from the port that requested it.
    read: (datagram) => decodeSqpChallenge(datagram) === undefined ? undefined : { mac: undefined },
  },
  /**
   * Requests ServerInfo, which every server has, then the other chunks one at a time. If several
   * chunks are requested and the server lacks some of them, its reply does not state which ones it
   * contains.
   */
  *exchange({ lastAttempt }: ExchangeContext): Exchange<SqpStatus> {
    let status: SqpStatus = { ...(yield* requestChunk(CHUNKS.info, lastAttempt)), broken: false };
    for (const chunk of [CHUNKS.rules, CHUNKS.players, CHUNKS.teams, CHUNKS.metrics]) {
      try {
        const reply = yield* requestChunk(chunk, true);
        if (!isEmpty(reply)) {
          status = { ...status, ...reply, flags: [...status.flags, ...reply.flags] };
        }
      } catch (error) {
        // a server that ignores the query for one chunk ignores queries for the others too
        if (error instanceof NoReply) break;
        if (!(error instanceof Malformed || error instanceof Truncated)) throw error;
        return { ...status, broken: true };
      }
    }
    return status;
  },
  record(status) {
    const statement = sqpStatement(status);
    return status.broken
      ? { ...statement, flags: [...statement.flags, "statusMalformed"] }
      : statement;
  },
};

/**
 * Whether a reply lacks the requested chunk. The other flags of the reply are then not anomalies.
 */
function isEmpty({ version: _, flags, ...chunks }: SqpReply): boolean {
  return Object.keys(chunks).length === 0 && !flags.includes("truncated");
}

/**
 * Requests a challenge, then a chunk with it. A resent request may bring a second challenge, and
 * the server then rejects the first one. The query is therefore repeated with the latest challenge.
 *
 * @param acceptPartial Whether an incomplete reply is returned when its other packets do not arrive.
 */
function* requestChunk(chunk: number, acceptPartial: boolean): Exchange<SqpReply> {
  let challenge = yield* request(encodeChallengeRequest(), decodeSqpChallenge, { resend: true });
  for (let shown = 1;; shown++) {
    const packets: SqpPacket[] = [];
    const accept = (datagram: Uint8Array) =>
      takePacket(packets, datagram, challenge) ?? newerChallenge(datagram, challenge, shown);
    try {
      const newest: true | number = yield* request(
        encodeQuery({ challenge, chunks: chunk }),
        accept,
        { resend: false },
      );
      if (newest === true) return decodeReply(packets, chunk);
      challenge = newest;
    } catch (error) {
      if (!(error instanceof NoReply && acceptPartial && packets.length > 0)) throw error;
      return decodeReply(packets, chunk);
    }
  }
}

/** Adds a packet to the reply; `true` once the reply is complete. */
function takePacket(
  packets: SqpPacket[],
  datagram: Uint8Array,
  challenge: number,
): true | undefined {
  const packet = decodeSqpPacket(datagram, challenge);
  return packet !== undefined && addPacket(packets, packet) ? true : undefined;
}

/**
 * Reads a challenge other than the one in use; `undefined` once {@linkcode MAX_CHALLENGES} were
 * used.
 */
function newerChallenge(datagram: Uint8Array, inUse: number, shown: number): number | undefined {
  if (shown === MAX_CHALLENGES) return undefined;
  const challenge = decodeSqpChallenge(datagram);
  return challenge === inUse ? undefined : challenge;
}
