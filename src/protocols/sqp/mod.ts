/**
 * Unity's Server Query Protocol: a challenge finds the server, and each question takes a new one.
 *
 * @module
 */
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
import { sqpStatement } from "./columns.ts";

export * from "./chunks.ts";
export * from "./codec.ts";
export * from "./typed_values.ts";

/** What a server said: its chunks in one answer, and what was odd about asking for them. */
export interface SqpStatus extends SqpReply {
  /** Whether a chunk behind the first came broken. */
  readonly broken: boolean;
}

/** How many challenges one question may be asked with: each repeated request may bring another. */
const MOST_CHALLENGES = 3;

/**
 * SQP. Nothing of ours comes back from a server, so that an answer to the sweep proves little, and
 * the exchange is what tells. Its five bytes make go-raknet ignore the sender for ten seconds, so
 * that nobody who speaks RakNet is asked.
 */
export const sqpProtocol: Protocol<SqpStatus> = {
  name: "sqp",
  finds: "servers of Unity games, by SQP challenges",
  helpNote:
    "SQP is asked where you name it and its ports, and not where RakNet answers a ping before.",
  probeText: "SQP challenges of 5 bytes",
  transport: "udp",
  ports: NO_USUAL_PORTS,
  onlyNamed: true,
  suppressedBy: "raknet",
  isReply: hasReplyForm,
  probe: {
    template: encodeChallengeRequest(),
    macMask: 0,
    mayLackToken: true,
    read: (datagram) => decodeSqpChallenge(datagram) === undefined ? undefined : { mac: undefined },
    readContent: () => ({}), // a challenge counts for the port that asked for it, and for one question
  },
  /**
   * Asks for ServerInfo, which every server has, then for the others, one at a time: a server that
   * has less than was asked for does not say what it sends.
   */
  *exchange({ lastAttempt }: ExchangeContext): Exchange<SqpStatus> {
    let status: SqpStatus = { ...(yield* requestChunk(CHUNKS.info, lastAttempt)), broken: false };
    for (const chunk of [CHUNKS.rules, CHUNKS.players, CHUNKS.teams, CHUNKS.metrics]) {
      try {
        const answer = yield* requestChunk(chunk, true);
        if (!isEmpty(answer)) {
          status = { ...status, ...answer, flags: [...status.flags, ...answer.flags] };
        }
      } catch (error) {
        if (error instanceof NoReply) break; // who has no rules is often silent, on all the others too
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

/** Whether a server has not what was asked for: what follows such an answer is not odd there. */
function isEmpty({ version: _, flags, ...chunks }: SqpReply): boolean {
  return Object.keys(chunks).length === 0 && !flags.includes("truncated");
}

/**
 * A challenge, and the question that shows it. A request that was sent twice may bring a second
 * challenge, which replaces the first in a server: the latest one is shown then.
 *
 * @param settles Whether a part of the answer is enough.
 */
function* requestChunk(chunk: number, settles: boolean): Exchange<SqpReply> {
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
    } catch (silence) {
      if (!(silence instanceof NoReply && settles && packets.length > 0)) throw silence;
      return decodeReply(packets, chunk);
    }
  }
}

/** Takes a packet of the answer: `true` when the answer is whole. */
function takePacket(
  packets: SqpPacket[],
  datagram: Uint8Array,
  challenge: number,
): true | undefined {
  const packet = decodeSqpPacket(datagram, challenge);
  return packet !== undefined && addPacket(packets, packet) ? true : undefined;
}

/** A challenge other than the one in use, while more are accepted. */
function newerChallenge(datagram: Uint8Array, inUse: number, shown: number): number | undefined {
  if (shown === MOST_CHALLENGES) return undefined;
  const challenge = decodeSqpChallenge(datagram);
  return challenge === inUse ? undefined : challenge;
}
